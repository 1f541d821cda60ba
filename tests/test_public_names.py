"""What users import is what is listed, and each of it is documented."""

import importlib.metadata
import inspect
import types

import pytest

import lazycache
import lazycache.array
import lazycache.draw


def test_the_listed_names_are_the_public_ones() -> None:
    public = {
        name
        for name, value in vars(lazycache).items()
        if not name.startswith("_") and not isinstance(value, types.ModuleType)
    }
    assert public == set(lazycache.__all__)
    assert list(lazycache.__all__) == sorted(lazycache.__all__)


def test_each_public_name_has_a_docstring() -> None:
    for module in (lazycache, lazycache.draw):
        for name in module.__all__:
            assert inspect.getdoc(getattr(module, name)), name


def test_each_public_method_of_a_cache_has_a_docstring() -> None:
    for name in dir(lazycache.Cache):
        if not name.startswith("_"):
            assert inspect.getdoc(getattr(lazycache.Cache, name)), name


def test_a_cache_offers_what_is_meant_for_users() -> None:
    offered = {name for name in dir(lazycache.Cache) if not name.startswith("_")}
    assert offered == {"clear", "close", "explain", "forget", "gc", "get", "open", "put", "stats"}


def test_the_version_is_that_of_the_distribution() -> None:
    assert lazycache.__version__ == importlib.metadata.version("lazycache")
    with pytest.raises(AttributeError, match="no attribute 'no_such_name'"):
        _ = lazycache.no_such_name  # type: ignore[attr-defined]


def test_arrays_offer_what_is_listed() -> None:
    lz = lazycache.array
    for module in (lz, lz.linalg, lz.fft, lz.random):
        offered = {name for name in dir(module) if not name.startswith("__")}
        assert offered == {name for name in module.__all__ if not name.startswith("__")}
        for name in offered:
            value = getattr(module, name)
            assert inspect.getdoc(value) or not callable(value), name


def test_the_package_called_storage_is_a_folder_only() -> None:
    import importlib.util

    spec = importlib.util.find_spec("storage")
    assert spec is None or spec.origin is None
