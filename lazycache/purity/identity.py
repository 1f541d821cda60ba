"""What makes a pure function the function it is, as a token in keys."""

from __future__ import annotations

import copy
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple

from lazycache import digests
from lazycache.errors import FingerprintError
from lazycache.purity.closures import closure_token, own_code_digest
from lazycache.purity.naming import name_of, source_file_of

if TYPE_CHECKING:
    from lazycache.fingerprint import Fingerprint
    from lazycache.fingerprint.parts import CodePart


class Identity:
    """Name and version, or, without a version, name and code.

    A name is not enough where two functions can have the same one: lambdas,
    nested functions, functions of a notebook. These carry their code and what
    their closures held when they were decorated, even with a version; ``name=``
    takes the code out, but not the closure.

    Parameters
    ----------
    function : callable
        With the arguments of a partial taken off.
    name : str or None
        What the user calls it.
    version : object
        None when there is none.
    depends, ignore, code
        See `lazycache.fingerprint.fingerprint`.
    bound : tuple
        The arguments of the partial.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        name: str | None,
        version: Any,
        depends: tuple[Any, ...],
        ignore: tuple[str, ...],
        code: str,
        bound: tuple[Any, ...],
    ) -> None:
        names = name_of(function)
        self.name = name or names.shown
        self.version_text = "" if version is None else str(version) or repr(version)
        self._function = function
        self._unique = names.unique if name is None else (name,)
        self._version = version
        self.options: dict[str, Any] = {"depends": depends, "ignore": ignore, "code": code}
        self._bound = bound
        self._carries_code = not names.is_complete and name is None
        self._closure = closure_token(function) if version is not None else b""
        # One attribute, so that threads never see a token with another's fingerprint.
        self._taken: tuple[bytes, Fingerprint | None] | None = None
        self._own_code: tuple[CodeType, bytes] | None = None

    @property
    def source_file(self) -> str:
        """The real path of the file with the code, or an empty text."""
        return source_file_of(self._function)

    def token(self) -> bytes:
        """Return the token; a code that changed since the last time counts.

        Raises
        ------
        FingerprintError
            If there is no version, and the code refers to what has no digest.
        """
        return self._take()[0]

    def mismatch(self) -> str | None:
        """Say why results may not be stored, if the text is not the code that runs."""
        fingerprint = self._take()[1]
        return None if fingerprint is None else fingerprint.mismatch

    def code_digest(self) -> bytes:
        """Return the digest of the function's own code."""
        function = self._function
        if not isinstance(function, FunctionType) or hasattr(function, "__wrapped__"):
            return own_code_digest(function)
        known = self._own_code
        # Each result that is stored asks for it, and a function gets other code only as another object.
        if known is None or known[0] is not function.__code__:
            self._own_code = known = function.__code__, own_code_digest(function)
        return known[1]

    def _take(self) -> tuple[bytes, Fingerprint | None]:
        taken = self._taken
        if taken is not None and (taken[1] is None or taken[1].is_current()):
            return taken
        fingerprint: Fingerprint | None = None
        own_code = b""
        if self._version is None:
            fingerprint = self._find_fingerprint()
        else:
            own_code = self.code_digest() if self._carries_code else b""
            if self.options["depends"]:
                fingerprint = self._find_fingerprint(code="none")
        parts = (
            "lazycache pure function 1",
            self._unique,
            self._version,
            self._bound,
            self._closure,
            own_code,
            b"" if fingerprint is None else bytes(fingerprint.digest),
        )
        token = digests.token(parts, path=f"the identity of {self.name}")
        self._taken = taken = (token, fingerprint)
        return taken

    def _find_fingerprint(self, **changed: Any) -> Fingerprint:
        from lazycache.fingerprint import fingerprint

        return fingerprint(self._function, **{**self.options, **changed})

    @property
    def is_name_and_version(self) -> bool:
        """Whether name and version are all that counts."""
        is_more = self._bound or self._closure or self._carries_code or self.options["depends"]
        return self._version is not None and not is_more

    def code_parts(self) -> tuple[CodePart, ...]:
        """Return what the code consists of, as far as it counts."""
        from lazycache.fingerprint.parts import HELD_BY_CLOSURE, IN_DEPENDS, code_parts

        if self._version is None or self._carries_code:
            return code_parts(self._function, **self.options)
        parts = code_parts(self._function, **{**self.options, "code": "self"})
        return tuple([part for part in parts if part.name.startswith(HELD_BY_CLOSURE) or IN_DEPENDS in part.name])

    def with_class(self, cls: type) -> Identity:
        """Return the identity of the same method for instances of another class, whose code counts too."""
        other = copy.copy(self)
        other.options = {**self.options, "depends": (*self.options["depends"], cls)}
        other._taken = None
        return other

    def frozen(self) -> FrozenIdentity:
        """Return what this identity is now, for another process, where the text may not be at hand."""
        try:
            taken: tuple[bytes, str | None] | FingerprintError = (self.token(), self.mismatch())
        except FingerprintError as error:
            taken = error
        facts = self.code_digest(), self.options, self.is_name_and_version
        return FrozenIdentity(self.name, self.version_text, self.source_file, taken, *facts)


class FrozenIdentity(NamedTuple):
    """An identity as it was taken where the function was defined."""

    name: str
    version_text: str
    source_file: str
    taken: tuple[bytes, str | None] | FingerprintError
    code: bytes
    options: dict[str, Any]
    is_name_and_version: bool

    def _known(self) -> tuple[bytes, str | None]:
        if isinstance(self.taken, FingerprintError):
            raise self.taken
        return self.taken

    def token(self) -> bytes:
        """Return the token; see `Identity.token`."""
        return self._known()[0]

    def mismatch(self) -> str | None:
        """Say why results may not be stored."""
        return self._known()[1]

    def code_digest(self) -> bytes:
        """Return the digest of the function's own code."""
        return self.code

    def code_parts(self) -> tuple[CodePart, ...]:
        """Return nothing: only the process that defined the function knows."""
        return ()

    def with_class(self, cls: type) -> FrozenIdentity:
        """Return the identity of the same method for instances of another class, whose code counts too."""
        from lazycache.fingerprint import class_token

        token, mismatch = self._known()
        return self._replace(taken=(digests.token((token, class_token(cls))), mismatch))

    def frozen(self) -> FrozenIdentity:
        """Return the identity itself."""
        return self
