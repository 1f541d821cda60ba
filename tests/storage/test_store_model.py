"""The store against a dict: whatever is put, forgotten, collected and reopened, in any order."""

import gc
import os
import shutil
import tempfile
from collections import Counter
from typing import Any

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from lazycache_storage import fsio
from lazycache_storage.check import check
from lazycache_storage.digest import Digest
from lazycache_storage.gc import GcLimits, plan_gc, run_gc
from lazycache_storage.gc.totals import take_totals
from lazycache_storage.handles import open_result
from lazycache_storage.objects.chunked import Chunking
from lazycache_storage.store import Store
from tests.storage.shelf import facts

KEYS = st.integers(0, 7)
PARTS = st.lists(st.integers(0, 4), min_size=1, max_size=3)


class Killed(BaseException):
    """Stands for the end of the process."""


def key_of(number: int) -> Digest:
    """Return the key of a number."""
    return Digest(bytes([number]) * 32)


def part(number: int) -> Any:
    """Return one of a few arrays; all but the first are objects of their own."""
    return np.arange(float(10 if number == 0 else 3000 + number))


class StoreMachine(RuleBasedStateMachine):
    """Does the same to a store and to a dict."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.mkdtemp()
        self.store = Store(f"{self.folder}/store")
        self.model: dict[int, list[int]] = {}
        self.held: list[tuple[Any, int]] = []
        self.killed = False
        self.has_shared_records = False

    def teardown(self) -> None:
        """Find nothing wrong, but for what killed processes may leave behind."""
        self.held.clear()
        gc.collect()
        self.collect()
        findings = [finding for finding in check(self.store) if not (self.killed and finding.kind == "leftover")]
        assert findings == []
        self.store.close()
        shutil.rmtree(self.folder)

    @rule(numbers=st.lists(KEYS, min_size=1, max_size=2, unique=True), parts=PARTS, replace=st.booleans())
    def put(self, numbers: list[int], parts: list[int], replace: bool) -> None:
        """Store a value under one or two keys."""
        self._put(numbers, parts, replace)
        self.has_shared_records |= len(numbers) > 1
        winner = parts if replace or numbers[0] not in self.model else self.model[numbers[0]]
        for number in numbers:
            if replace or number not in self.model:
                self.model[number] = winner

    def _put(self, numbers: list[int], parts: list[int], replace: bool) -> None:
        value = part(parts[0]) if len(parts) == 1 else [part(number) for number in parts]
        chunking = Chunking((1000,)) if parts[0] == 4 else None
        fields = {"function": "lab.f"}
        self.store.put([key_of(number) for number in numbers], value, fields, replace=replace, chunking=chunking)

    @rule(number=KEYS)
    def forget(self, number: int) -> None:
        """Remove one."""
        assert self.store.forget(key_of(number)) == (number in self.model)
        self.model.pop(number, None)

    @rule()
    def collect(self) -> None:
        """Remove what nobody needs."""
        run_gc(self.store, plan_gc(self.store, GcLimits(orphans=True)))

    @rule()
    def clear(self) -> None:
        """Remove everything."""
        run_gc(self.store, plan_gc(self.store, GcLimits(everything=True)))
        self.model.clear()

    @rule()
    def reopen(self) -> None:
        """Go on as another process would."""
        self.store.close()
        self.store = Store(f"{self.folder}/store")

    @rule(number=KEYS, parts=PARTS, steps=st.integers(0, 12), replace=st.booleans())
    def killed_put(self, number: int, parts: list[int], steps: int, replace: bool) -> None:
        """Die at some step of putting, before the record is there or after."""
        self._killed(steps, lambda: self._put([number], parts, replace))
        self._take_what_is_there(number, parts)

    @rule(number=KEYS, steps=st.integers(0, 6))
    def killed_forget(self, number: int, steps: int) -> None:
        """Die at some step of removing."""
        self._killed(steps, lambda: self.store.forget(key_of(number)))
        self._take_what_is_there(number, None)

    @rule(steps=st.integers(0, 10))
    def killed_collect(self, steps: int) -> None:
        """Die at some step of a collection."""
        self._killed(steps, self.collect)

    def _killed(self, steps: int, action: Any) -> None:
        """Do `action` in a child that ends without a word at one of its steps."""
        self.store.close()
        child = os.fork()
        if not child:
            left = steps

            def step(name: str) -> None:
                nonlocal left
                left -= 1
                if left < 0:
                    os._exit(9)

            fsio.step = step
            try:
                action()
            finally:
                os._exit(0)
        self.killed = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9 or self.killed
        self.store = Store(f"{self.folder}/store")

    def _take_what_is_there(self, number: int, parts: list[int] | None) -> None:
        """Learn whether the child got as far as the record; there is no third."""
        record = self.store.find(key_of(number))
        if record is None:
            assert number not in self.model or parts is None
            self.model.pop(number, None)
            return
        loaded = self.store.load(record, key_of(number))
        found = [len(array) for array in (loaded if isinstance(loaded, list) else [loaded])]
        for candidate in (self.model.get(number), parts):
            if candidate is not None and found == [len(part(one)) for one in candidate]:
                self.model[number] = candidate
                return
        raise AssertionError(f"{found} is neither what was there nor what was put")

    @precondition(lambda self: any(len(parts) == 1 for parts in self.model.values()))
    @rule(data=st.data())
    def hold(self, data: Any) -> None:
        """Open an array in place and keep it open."""
        number = data.draw(st.sampled_from([number for number, parts in self.model.items() if len(parts) == 1]))
        record = self.store.find(key_of(number))
        assert record is not None
        self.held.append((open_result(self.store, record), self.model[number][0]))

    @rule()
    def let_go(self) -> None:
        """Close what is open, if it is still what it was."""
        for handle, number in self.held:
            assert np.array_equal(np.asarray(handle[...]), part(number))
        self.held.clear()

    @invariant()
    def holds_what_the_model_holds(self) -> None:
        """Compare keys, values and what the index says of sharing."""
        assert sorted(key[0] for key in self.store.keys()) == sorted(self.model)  # noqa: SIM118
        for number, parts in self.model.items():
            record = self.store.find(key_of(number))
            assert record is not None
            loaded = self.store.load(record, key_of(number))
            arrays = loaded if len(parts) > 1 else [loaded]
            assert [facts(array) for array in arrays] == [facts(part(one)) for one in parts]

    @invariant()
    def counts_are_right(self) -> None:
        """Compare the number of objects that records need with the model."""
        needed = {(one, parts[0] == 4) for parts in self.model.values() for one in parts if one}
        totals = take_totals(self.store)
        assert (totals.keys, totals.objects) == (len(self.model), len(needed))
        if not self.has_shared_records:
            held = Counter((one, parts[0] == 4) for parts in self.model.values() for one in set(parts) if one)
            saved = sum((count - 1) * part(one).nbytes for (one, is_cut), count in held.items() if not is_cut)
            assert totals.nbytes_saved >= saved
            assert (totals.nbytes_saved > 0) == any(count > 1 for count in held.values())


TestStore = StoreMachine.TestCase
TestStore.settings = settings(
    max_examples=15, stateful_step_count=15, deadline=None, suppress_health_check=list(HealthCheck)
)
