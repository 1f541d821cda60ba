"""Values at the limits of what MessagePack and one system call can take."""

import os
from pathlib import Path

import pytest

from tests.storage.shelf import Shelf

FREE = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(os.environ.get("LAZYCACHE_STRESS") != "long", reason="takes minutes on a slow disk")
@pytest.mark.skipif(FREE < 10 << 30, reason="needs 10 GB of memory")
@pytest.mark.parametrize(("kind", "size"), [(bytes, 2**31 + 1), (bytearray, 2**32 + 1), (str, 2**31 + 1)])
def test_strings_and_bytes_of_gigabytes(tmp_path: Path, kind: type, size: int) -> None:
    value = "x" * size if kind is str else kind(size)
    shelf = Shelf(tmp_path)
    encoded = shelf.encode({"value": value})
    assert len(encoded[1]) < 100
    back = shelf.decode(encoded)["value"]
    assert type(back) is kind
    assert back == value
