"""Names of types and of other globals, the same in every process and Python version."""

from __future__ import annotations

import sys
from functools import lru_cache
from typing import Any

# A spawned worker imports the script under another name; Python 3.13 moved pathlib into a package.
_MODULE_NAMES = {"__mp_main__": "__main__", "pathlib._local": "pathlib", "pathlib._abc": "pathlib"}
_USERS_MODULES = frozenset({"__main__", "__mp_main__"})
_OWN_PACKAGES = frozenset({"lazycache", "lazycache_storage"})


def module_name(module: str) -> str:
    """Return the name of a module as it goes into digests."""
    return _MODULE_NAMES.get(module, module)


def qualified_name(named: Any) -> str:
    """Return ``module.qualname`` of a class or function, as it goes into digests.

    Examples
    --------
    >>> from pathlib import PosixPath
    >>> qualified_name(PosixPath)
    'pathlib.PosixPath'
    """
    module = named.__module__
    return f"{_MODULE_NAMES.get(module, module)}.{named.__qualname__}"


def find_global(module: str, qualname: str) -> Any:
    """Return the object with this name in a module that is loaded, or None."""
    found: Any = sys.modules.get(module)
    for part in qualname.split("."):
        found = getattr(found, part, None)
    return found


def is_installed(module: str) -> bool:
    """Return whether a module belongs to Python or to an installed package, not to the user.

    Examples
    --------
    >>> is_installed("json"), is_installed("numpy"), is_installed("__main__")
    (True, True, False)
    """
    top = module.partition(".")[0]
    if top in _USERS_MODULES:
        # In a notebook, and under ``python -m``, its file is that of an installed package.
        return False
    if top in sys.stdlib_module_names or top in _OWN_PACKAGES:
        return True
    loaded = sys.modules.get(module) or sys.modules.get(top)
    origin = getattr(getattr(loaded, "__spec__", None), "origin", None)
    return isinstance(origin, str) and (origin in ("built-in", "frozen") or _is_in_packages(origin))


@lru_cache(maxsize=4096)
def _is_in_packages(file: str) -> bool:
    import sysconfig

    folders = (sysconfig.get_path("purelib"), sysconfig.get_path("platlib"))
    return file.startswith(folders) or "/site-packages/" in file or "/dist-packages/" in file
