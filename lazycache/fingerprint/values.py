"""What a value that code refers to counts as.

The rules are tried in order; the first that knows the value gives its bytes.
"""

import collections
import contextvars
import functools
import operator
import sys
import threading
import types
from collections.abc import Callable
from typing import Any

from lazycache.errors import UnhashableError

from .classes import encode_class
from .functions import encode_function
from .instances import encode_beyond, encode_member, encode_state, watch_instance
from .natives import encode_scalar, in_order, part, text
from .owners import find_member, is_own_class, is_own_module_name, module_name, qualified_name
from .walk import ADVICE, At, Walk

_BUILT_IN_FUNCTIONS = (
    types.BuiltinFunctionType,
    types.WrapperDescriptorType,
    types.MethodWrapperType,
    types.MethodDescriptorType,
    types.ClassMethodDescriptorType,
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
)
_SYNCHRONISERS = (
    type(threading.Lock()), type(threading.RLock()), threading.Condition, threading.Event, threading.Semaphore,
)  # fmt: skip
_GETTERS = (operator.itemgetter, operator.attrgetter, operator.methodcaller)
_LOGGING_PACKAGES = frozenset({"loguru", "structlog"})
_TYPING_MODULES = frozenset({"typing", "typing_extensions"})


def encode(walk: Walk, value: Any, at: At) -> bytes:
    """Return the bytes of any value, or raise FingerprintError that says where it was met."""
    scalar = encode_scalar(value)
    if scalar is not None:
        return scalar
    for rule in _RULES:
        found = rule(walk, value, at)
        if found is not None:
            return found
    return _encode_opaque(walk, value, at)


def _function(walk: Walk, value: Any, at: At) -> bytes | None:
    return encode_function(walk, value, at) if isinstance(value, types.FunctionType) else None


def _class(walk: Walk, value: Any, at: At) -> bytes | None:
    # list[int] passes for an instance of type, but it is none.
    return encode_class(walk, value, at) if issubclass(type(value), type) else None


def _pure(walk: Walk, value: Any, at: At) -> bytes | None:
    """Another pure function: with a version it is its identity, without one it is its code."""
    if hasattr(type(value), "__getattr__") or getattr(value, "is_pure", None) is not True:
        return None
    if getattr(value, "version", ""):
        return part(b"pure", value.token)
    options = dict(getattr(value, "fingerprint_options", {}))
    code = options.get("code", "deep")
    if code == "none":
        return part(b"pure", text(b"s", value.name))
    inner = At(at.where, "held", at.ignore | frozenset(options.get("ignore", ())), at.deep and code == "deep")
    depends = (walk.dependency(entry, inner) for entry in options.get("depends", ()))
    return part(b"pure", walk.encode(value.__wrapped__, inner), *depends)


def _by_name(walk: Walk, value: Any, at: At) -> bytes | None:
    """Modules, loggers, locks and typing constructs hold nothing that a result depends on."""
    if isinstance(value, types.ModuleType):
        return text(b"module", module_name(value.__name__))
    package = type(value).__module__.partition(".")[0]
    if package in _LOGGING_PACKAGES or _is_logger(value):
        return text(b"logger", str(getattr(value, "name", "")))
    if isinstance(value, contextvars.ContextVar):
        return part(b"variable", *_variable(walk, value, at))
    if isinstance(value, _SYNCHRONISERS) or type(value) is object:
        return text(b"type", qualified_name(type(value)))
    if package in _TYPING_MODULES or isinstance(value, types.GenericAlias | types.UnionType):
        words = repr(value)
        return text(b"hint", words if " at 0x" not in words else qualified_name(type(value)))
    return None


def _variable(walk: Walk, value: contextvars.ContextVar[Any], at: At) -> list[bytes]:
    """What a variable is set to belongs to the run; its default is a constant of the code."""
    try:
        default = contextvars.Context().run(value.get)
    except LookupError:
        return [value.name.encode()]
    return [value.name.encode(), walk.encode(default, at.to(f"the default of {at.where}", "foreign"))]


def _is_logger(value: Any) -> bool:
    # Not imported here: whoever has a logger did that.
    logging: Any = sys.modules.get("logging")
    return logging is not None and isinstance(value, logging.Logger | logging.LoggerAdapter)


def _node(_walk: Walk, value: Any, _at: At) -> bytes | None:
    """A lazy expression never changes, and its key says what it is."""
    nodes: Any = sys.modules.get("lazycache.expressions.nodes")
    if nodes is None or not isinstance(value, nodes.Node):
        return None
    from lazycache.expressions.keys import key

    return part(b"node", key(value))


def _built_in(walk: Walk, value: Any, at: At) -> bytes | None:
    if not isinstance(value, _BUILT_IN_FUNCTIONS):
        return None
    bound = getattr(value, "__self__", None)
    name = text(b"builtin", f"{getattr(value, '__module__', None) or ''}.{value.__qualname__}")
    if bound is None or isinstance(bound, types.ModuleType | type):
        return name
    return part(b"bound", name, walk.encode(bound, at))


def _wrapper(walk: Walk, value: Any, at: At) -> bytes | None:
    """What stands around a function: bound methods, partials, descriptors, caches."""
    if isinstance(value, types.MethodType) or _is_bound_pure(value):
        held = value.__self__
        owner = held if isinstance(held, type) else type(held)
        called = value.__func__
        method = encode_function(walk, called, at, owner) if isinstance(called, types.FunctionType) else None
        return part(b"method", method or walk.encode(called, at), walk.encode(held, at.to(at.where, _held(at))))
    if isinstance(value, functools.partial | functools.partialmethod):
        held_at = at.to(f"what {at.where} binds", _held(at))
        walk.watch.container(value, lambda held: [held.func, *held.args, *held.keywords, *held.keywords.values()])
        bound = [walk.encode(argument, held_at) for argument in value.args]
        named = [text(b"s", name) + walk.encode(item, held_at) for name, item in sorted(value.keywords.items())]
        kind = text(b"type", type(value).__qualname__)
        return part(b"partial", kind, walk.encode(value.func, at), part(b"args", *bound), part(b"named", *named))
    if isinstance(value, staticmethod | classmethod):
        return part(type(value).__name__.encode(), walk.encode(value.__func__, at))
    if isinstance(value, property | types.DynamicClassAttribute):
        return part(b"property", *(walk.encode(item, at) for item in (value.fget, value.fset, value.fdel)))
    if isinstance(value, functools.cached_property):
        return part(b"cached_property", walk.encode(value.func, at))
    if isinstance(value, functools.singledispatchmethod):
        return part(b"dispatch", walk.encode(value.dispatcher, at))
    return None


def _is_bound_pure(value: Any) -> bool:
    kind = type(value)
    return kind.__module__.partition(".")[0] == "lazycache" and hasattr(kind, "__func__") and hasattr(kind, "__self__")


def _held(at: At) -> Any:
    return "held" if at.policy == "global" else at.policy


def _container(walk: Walk, value: Any, at: At) -> bytes | None:
    kind = type(value)
    if kind in (tuple, list, set, frozenset, collections.deque):
        return walk.inside(value, at, lambda: _members(walk, value, at))
    if kind in (dict, collections.OrderedDict, collections.defaultdict, collections.Counter, types.MappingProxyType):
        return walk.inside(value, at, lambda: _items(walk, value, at))
    if isinstance(value, tuple) and hasattr(kind, "_fields"):
        watch_instance(walk, value)
        return part(b"named", walk.encode(kind, at), _members(walk, value, at), *encode_beyond(walk, value, [], at))
    return None


def _members(walk: Walk, value: Any, at: At) -> bytes:
    if not isinstance(value, tuple | frozenset):
        walk.watch.container(value)
    name = type(value).__name__ if type(value) in (list, set, frozenset, collections.deque) else "tuple"
    if not isinstance(value, set | frozenset):
        parts = [walk.encode(item, at.to(f"{at.where}[{index}]")) for index, item in enumerate(value)]
        bound = getattr(value, "maxlen", None) if type(value) is collections.deque else None
        return part(name.encode(), *parts, *([] if bound is None else [text(b"bound", str(bound))]))
    scalars = [encode_scalar(item) for item in value]
    if None not in scalars:
        return part(name.encode(), *in_order(scalar for scalar in scalars if scalar is not None))
    inside = at.to(f"a member of {at.where}")
    return part(name.encode(), *(walk.encode(item, inside) for item in walk.in_order(value, inside)))


def _items(walk: Walk, value: Any, at: At) -> bytes:
    walk.watch.container(value, lambda held: [*held.keys(), *held.values(), getattr(held, "default_factory", None)])
    parts = []
    for key, item in value.items():
        parts.append(walk.encode(key, at.to(f"a key of {at.where}")))
        parts.append(walk.encode(item, at.to(f"{at.where}[{key!r}]")))
    factory = getattr(value, "default_factory", None)
    return part(type(value).__name__.encode(), walk.encode(factory, at), *parts)


def _callable(walk: Walk, value: Any, at: At) -> bytes | None:
    """A callable instance is its class and its state; a wrapper of an installed package what it wraps."""
    if not callable(value):
        return None
    if is_own_class(type(value)):
        return walk.unit(value, lambda: encode_state(walk, value, at, at.to(at.where, _held(at))))
    if type(value) in _GETTERS:
        return part(b"getter", walk.encode(value.__reduce__(), at))
    home = getattr(value, "__module__", None)
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
    if isinstance(name, str) and isinstance(home, str) and not is_own_module_name(home):
        module = sys.modules.get(home)
        if module is not None and find_member(module, name) is value:
            return text(b"installed", f"{home}.{name}")
    if type(value).__name__ == "cython_function_or_method":
        return text(b"builtin", qualified_name(value))
    wrapped = getattr(value, "__wrapped__", None)
    if wrapped is None and type(value).__name__ == "vectorize":
        wrapped = (value.pyfunc, value.otypes, value.signature, value.excluded)
    if wrapped is None and type(value).__name__ == "curry":
        wrapped = getattr(value, "_partial", None)
    if wrapped is not None:
        return part(b"wrapper", text(b"s", qualified_name(type(value))), walk.encode(wrapped, at))
    return None


def _installed_instance(_walk: Walk, value: Any, _at: At) -> bytes | None:
    """An object that an installed package offers under a name, such as a ufunc or a distribution."""
    if is_own_class(type(value)):
        return None
    package = type(value).__module__.partition(".")[0]
    homes = [
        (name.count("."), name, attribute)
        for name, module in list(sys.modules.items())
        if name.partition(".")[0] == package and isinstance(module, types.ModuleType)
        for attribute, member in list(vars(module).items())
        if member is value
    ]
    if not homes:
        return None
    _, name, attribute = min(homes)
    return text(b"installed", f"{name}.{attribute}")


_RULES: tuple[Callable[[Walk, Any, At], bytes | None], ...] = (
    _function,
    _class,
    _container,
    _pure,
    _node,
    _by_name,
    _built_in,
    _wrapper,
    encode_member,
    _callable,
    _installed_instance,
)


def _encode_opaque(walk: Walk, value: Any, at: At) -> bytes:
    kind = type(value)
    if at.policy == "foreign":
        return text(b"type", qualified_name(kind))
    if value is walk.undigested:
        raise walk.error(f"it is a {kind.__qualname__}, whose code is not to be seen; give the function a version=")
    from lazycache import digests
    from lazycache.digests.code import classes_by_name

    if at.policy == "global" and not digests.is_immutable(value):
        raise walk.error(f"it uses {at.where}, which can change (type {kind.__qualname__}); {ADVICE}")

    def take(held: Any) -> bytes:
        try:
            with classes_by_name():
                return digests.token(held, path=at.where)
        except UnhashableError as error:
            raise walk.error(f"it holds {error}; {ADVICE}") from error

    token = take(value)
    if not digests.is_immutable(value):
        walk.watch.opaque(value, take, token)
    parts = [part(b"class", walk.encode(kind, at))] if is_own_class(kind) else []
    return part(b"value", token, *parts)
