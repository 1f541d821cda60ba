"""Every exception and warning of lazycache; the engine's are re-exported.

::

    LazyCacheError                  (the root, from the engine)
    ├── UnhashableError             (also TypeError)
    ├── NotComputedError            (also TypeError)
    ├── MisplacedNodeError          (also TypeError)
    ├── UnboundVariableError        (also TypeError)
    ├── PurityError                 (also TypeError)
    │   └── FingerprintError
    ├── NotShippableError           (also TypeError)
    ├── InputChangedError           (also RuntimeError)
    ├── CycleError                  (also RecursionError)
    ├── ExhaustedError              (also RuntimeError)
    ├── SettingError                (also ValueError)
    ├── StoreError … NotOpenableError   (see lazycache_storage.errors)

    LazyCacheWarning                (UserWarning)
    ├── CacheFaultWarning
    ├── NotStoredWarning
    └── IdentityWarning
"""

from lazycache_storage.errors import (
    CorruptEntryError,
    LazyCacheError,
    LockTimeoutError,
    NotOpenableError,
    NotStorableError,
    ReadOnlyStoreError,
    StoreError,
    UnknownFormatError,
    UntrustedArrayError,
    UntrustedPickleError,
)

__all__ = [
    "CacheFaultWarning",
    "CorruptEntryError",
    "CycleError",
    "ExhaustedError",
    "FingerprintError",
    "IdentityWarning",
    "InputChangedError",
    "LazyCacheError",
    "LazyCacheWarning",
    "LockTimeoutError",
    "MisplacedNodeError",
    "NotComputedError",
    "NotOpenableError",
    "NotShippableError",
    "NotStorableError",
    "NotStoredWarning",
    "PurityError",
    "ReadOnlyStoreError",
    "SettingError",
    "StoreError",
    "UnboundVariableError",
    "UnhashableError",
    "UnknownFormatError",
    "UntrustedArrayError",
    "UntrustedPickleError",
]


class UnhashableError(LazyCacheError, TypeError):
    """A value has no digest that would be the same tomorrow.

    Attributes
    ----------
    path : str
        Where in the value the offender sits, e.g. ``argument cfg['log']``.
    type_name : str
        Its type.
    advice : str
        What to do instead.
    """

    path: str
    type_name: str
    advice: str

    template = "{path} is a {type_name}, which has no stable digest: {advice}"


class NotComputedError(LazyCacheError, TypeError):
    """Something needs the value of an expression that has not been computed.

    Attributes
    ----------
    operation : str
        What was tried, e.g. ``bool()``.
    """

    operation: str

    template = "{operation} needs a value, and this is a lazy expression: use compute(e) or cache(e) first"


class MisplacedNodeError(LazyCacheError, TypeError):
    """An expression sits where it cannot be found when the call is evaluated.

    Attributes
    ----------
    path : str
        Where, e.g. ``argument frames``.
    container : str
        The type that holds it.
    """

    path: str
    container: str

    template = (
        "{path} is a {container} that holds a lazy expression; expressions are found in tuples, lists, dict values "
        "and slices: put it in one of these, or compute it first"
    )


class UnboundVariableError(LazyCacheError, TypeError):
    """An expression has a Variable without data, so it cannot be evaluated.

    Attributes
    ----------
    variable : str
    """

    variable: str

    template = (
        "the {variable} has no data: make a function of it, with get_function([variable]), or have it among the inputs "
        "of the Function, and call that on data"
    )


class PurityError(LazyCacheError, TypeError):
    """A function cannot be made pure in the way that was asked.

    Attributes
    ----------
    function : str
    reason : str
    """

    function: str
    reason: str

    template = "@pure on {function}: {reason}"


class FingerprintError(PurityError):
    """The code of a function cannot be told apart from other code.

    Attributes
    ----------
    function : str
    reason : str
    """

    template = "the code of {function} has no fingerprint: {reason}"


class NotShippableError(LazyCacheError, TypeError):
    """A call cannot be sent to another process, or its result cannot come back.

    Attributes
    ----------
    what : str
        Which part of it.
    reason : str
    """

    what: str
    reason: str

    template = (
        "{what} cannot be pickled, and so not be sent to another process ({reason}); "
        "executor=ThreadPoolExecutor() sends nothing"
    )


class InputChangedError(LazyCacheError, RuntimeError):
    """A file changed after the expression was built; nothing was stored.

    Attributes
    ----------
    path : str
    function : str
    """

    path: str
    function: str

    template = "{path}, read by {function}, changed after the expression was built: build the expression again"


class CycleError(LazyCacheError, RecursionError):
    """A pure function asked for the result that it is computing.

    Attributes
    ----------
    cycle : tuple of str
        The calls, from the first to its repetition.
    """

    cycle: tuple[str, ...]

    template = "a pure call waits for its own result: {chain}"


class ExhaustedError(LazyCacheError, RuntimeError):
    """Blocks were asked for again that came from an iterator.

    Attributes
    ----------
    blocks : str
    """

    blocks: str

    template = "{blocks} came from an iterator, which can be used once; give a function that returns one"


class SettingError(LazyCacheError, ValueError):
    """A setting has a value that means nothing.

    Attributes
    ----------
    setting, value, expected : str
    """

    setting: str
    value: str
    expected: str

    template = "{setting} is {value!r}, expected {expected}"


class LazyCacheWarning(UserWarning):
    """Root of every warning that lazycache gives."""


class CacheFaultWarning(LazyCacheWarning):
    """The cache failed in some way; the result was computed without it."""


class NotStoredWarning(LazyCacheWarning):
    """A result was returned but could not be kept."""


class IdentityWarning(LazyCacheWarning):
    """Two functions claim one name and version, or a text is not the code that runs."""
