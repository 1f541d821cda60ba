"""`pure`: functions whose calls are expressions."""

from lazycache.purity.callee import BoundPure, PureFunction, Resolved
from lazycache.purity.decorator import pure

__all__ = ["BoundPure", "PureFunction", "Resolved", "pure"]
