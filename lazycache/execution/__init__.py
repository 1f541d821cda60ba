"""Evaluation, here or in workers: `compute`, and what a parallel evaluation is made of."""

from lazycache.execution.computing import compute

__all__ = ["compute"]
