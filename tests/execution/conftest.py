"""Executors of each kind."""

from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from typing import Any

import pytest


@pytest.fixture(params=["n_jobs", "threads", "spawned"])
def workers(request: pytest.FixtureRequest) -> Iterator[dict[str, Any]]:
    """Return the arguments that ask for two workers."""
    if request.param == "n_jobs":
        yield {"n_jobs": 2}
        return
    make: Callable[[], Any] = {
        "threads": lambda: ThreadPoolExecutor(2),
        "spawned": lambda: ProcessPoolExecutor(2, mp_context=get_context("spawn")),
    }[request.param]
    with make() as executor:
        yield {"executor": executor}
