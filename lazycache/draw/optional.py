"""Packages that only pictures need."""

from __future__ import annotations

import importlib
from typing import Any


def need(module: str) -> Any:
    """Import a module of the ``plot`` extra.

    Raises
    ------
    ImportError
        If its package is not installed, naming what to install.
    """
    package = module.partition(".")[0]
    try:
        importlib.import_module(package)
    except ModuleNotFoundError as error:
        if error.name != package:
            raise
        raise ImportError(f"this needs {package}: pip install lazycache[plot]", name=package) from error
    return importlib.import_module(module)
