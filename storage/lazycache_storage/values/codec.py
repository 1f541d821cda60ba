"""Values to bytes and references to objects, and back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from lazycache_storage.errors import NotStorableError, UntrustedPickleError
from lazycache_storage.record import ObjectRef, PayloadKind

if TYPE_CHECKING:
    from lazycache_storage.objects.objects import Sink
    from lazycache_storage.values.plain_decoder import Load

# What a small result does not need is imported where it is needed: a first hit is to be quick.

_SCALARS = frozenset({type(None), bool, int, float})
_SHORT = 1000
# A form that is not a native value is a list: MessagePack's fixarray, array 16 and array 32.
_LIST_HEADS = frozenset({*range(0x90, 0xA0), 0xDC, 0xDD})
_unpack_scalar = msgspec.msgpack.Decoder(None | bool | int | float | str).decode
_pack = msgspec.msgpack.Encoder().encode


def encode(value: Any, sink: Sink, *, allow_pickle: bool = True) -> tuple[PayloadKind, bytes, tuple[ObjectRef, ...]]:
    """Return how a value is encoded, its bytes, and the objects that these refer to.

    Parameters
    ----------
    value : object
    sink : Sink
        Gets the large arrays; `sink.written` are the objects to put in place.
    allow_pickle : bool
        Whether what is no plain data may be written.

    Raises
    ------
    NotStorableError
        If it cannot be written in any form that is allowed.
    OSError
        If an array cannot be written.
    """
    kind = type(value)
    if kind in _SCALARS or (kind is str and len(value) < _SHORT and value.isascii()):
        try:
            return "plain", _pack(value), ()
        except OverflowError:
            from lazycache_storage.values.plain_encoder import integer_form

            return "plain", _pack(integer_form(value)), ()
    from lazycache_storage.objects.arrays import SUBCLASS_NAMES
    from lazycache_storage.values.plain import NotPlain
    from lazycache_storage.values.plain_encoder import encode_object, encode_plain

    try:
        if kind in SUBCLASS_NAMES and sink.cuts(value):
            return "plain", encode_object(value, sink), sink.refs
        return "plain", encode_plain(value, sink), sink.refs
    except (NotPlain, RecursionError) as error:
        if not allow_pickle:
            reason = "it is no plain data, and pickles are not allowed (allow_pickle=False)"
            raise NotStorableError(type_name=kind.__qualname__, reason=reason) from error
        from lazycache_storage.values.pickles import encode_pickle

        # pickle needs less of the stack than the forms do.
        return "pickle", encode_pickle(value, sink), sink.refs


def decode(kind: PayloadKind, payload: bytes, load: Load, *, allow_pickle: bool = True, where: str = "payload") -> Any:
    """Return the value: arrays read-only, everything else new.

    Parameters
    ----------
    kind : {"plain", "pickle"}
    payload : bytes
    load : callable
        Gives the array of a position among the references, read-only.
    allow_pickle : bool
        Whether the bytes may be trusted to run code.
    where : str
        For the messages of errors.

    Raises
    ------
    CorruptEntryError
        If the bytes are not what `encode` made.
    UntrustedPickleError
        If the value is a pickle and `allow_pickle` is false.
    """
    if kind == "plain":
        if payload and payload[0] not in _LIST_HEADS:
            try:
                return _unpack_scalar(payload)
            except msgspec.MsgspecError:
                # What is wrong with it is told below.
                pass
        from lazycache_storage.values.plain_decoder import decode_plain

        return decode_plain(payload, load, where)
    if not allow_pickle:
        raise UntrustedPickleError(path=where, reason="pickles are not allowed here (allow_pickle=False)")
    from lazycache_storage.values.pickles import decode_pickle

    return _sealed(decode_pickle(payload, load, where))


def _sealed(value: Any) -> Any:
    """Make a result that is an array read-only, where its dtype has sent it to pickle."""
    import numpy as np

    if type(value) not in (np.ndarray, np.recarray) or value.dtype.hasobject or not value.flags.writeable:
        return value
    from lazycache_storage.objects.arrays import sealed

    return sealed(value).view(type(value))
