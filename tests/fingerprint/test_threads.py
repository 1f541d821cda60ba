"""Fingerprints that several threads take at once."""

import gc
import threading
import time
from pathlib import Path

from lazycache.fingerprint import parsing


def test_threads_parse_while_garbage_is_collected() -> None:
    text = Path(threading.__file__).read_text()
    trees: list[object] = []

    def parse() -> None:
        trees.extend(parsing.parse(text) for _ in range(3))

    def give_way(phase: str, info: dict[str, int]) -> None:
        time.sleep(0)

    limits = gc.get_threshold()
    gc.set_threshold(100)
    gc.callbacks.append(give_way)
    try:
        threads = [threading.Thread(target=parse) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    finally:
        gc.callbacks.remove(give_way)
        gc.set_threshold(*limits)
    assert len(trees) == 12
