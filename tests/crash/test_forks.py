"""Processes that fork in the middle of what their threads do with a cache: no child waits for ever."""

import os
from pathlib import Path

from tests.storage.processes import finish, start

FORKS = """
import faulthandler, random, threading
import diskcache, filelock
from lazycache import Cache, pure
from tests.crash.test_faults import is_mended, is_right, kinds, part, whole

path, forks, seconds = sys.argv[1], int(sys.argv[2]), float(sys.argv[3])
faulthandler.dump_traceback_later(seconds, exit=True)
ended, wrong = threading.Event(), []

@pure(version=1)
def forks_itself(n):
    child = os.fork()
    if child == 0:
        status = 1
        try:
            assert part(n)[1] == n + 1
            status = 0
        finally:
            os._exit(status)
    return os.waitpid(child, 0)[1]

def ask(cache, dice):
    n = dice.randrange(30)
    assert is_right(cache(whole(n)), n)
    if dice.random() < 0.3:
        cache.forget(whole(n))
    if dice.random() < 0.05:
        cache.gc(max_size=10**6)

def work(seed):
    dice = random.Random(seed)
    try:
        while not ended.is_set():
            # Anew now and then, so that some are just being opened.
            cache = Cache(path)
            for _ in range(5):
                ask(cache, dice)
    except BaseException as error:
        wrong.append(repr(error))
        raise

shared = Cache(path)
threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
for thread in threads:
    thread.start()
for number in range(forks):
    child = os.fork()
    if child == 0:
        status = 1
        try:
            for _ in range(3):
                ask(shared, random.Random(number))
            status = 0
        finally:
            os._exit(status)
    # The parent goes on with the same cache meanwhile.
    ask(shared, random.Random(-number))
    assert os.waitpid(child, 0)[1] == 0
    assert shared(forks_itself(number)) == 0
ended.set()
for thread in threads:
    thread.join()
assert not wrong, wrong
shared.close()
assert os.listdir(path + "/locks") == []
say("right")
"""


def test_forks_in_the_midst_of_threads_that_compute(tmp_path: Path) -> None:
    forks = 300 if os.environ.get("LAZYCACHE_STRESS") == "long" else 15
    seconds = 100 + 2 * forks
    process = start(FORKS, tmp_path / "store", forks, seconds)
    assert finish(process, seconds=seconds + 20).strip() == "right"


IMPORTS = """
import faulthandler, threading
from lazycache import Cache, pure

path = sys.argv[1]
faulthandler.dump_traceback_later(60, exit=True)
imports, forks = threading.Event(), threading.Event()

class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "lazycache.caching.run":
            imports.set()
            assert forks.wait(60)

@pure(version=1)
def double(n):
    return 2 * n

cache = Cache(path)
sys.meta_path.insert(0, Finder)
thread = threading.Thread(target=lambda: cache(double(1)))
thread.start()
assert imports.wait(60)
# Asked before those of the library.
os.register_at_fork(before=forks.set)
child = os.fork()
if child == 0:
    status = 1
    try:
        assert cache(double(2)) == 4
        status = 0
    finally:
        os._exit(status)
assert os.waitpid(child, 0)[1] == 0
thread.join()
say("right")
"""


def test_a_fork_while_a_thread_makes_its_first_call(tmp_path: Path) -> None:
    assert finish(start(IMPORTS, tmp_path / "store"), seconds=80).strip() == "right"
