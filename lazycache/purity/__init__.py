"""`pure`: functions whose calls are expressions."""

from lazycache.purity.bound import BoundPure
from lazycache.purity.callee import PureFunction, Resolved
from lazycache.purity.decorator import pure

__all__ = ["BoundPure", "PureFunction", "Resolved", "pure"]
