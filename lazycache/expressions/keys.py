"""Keys: the digests that name nodes.

The key of a leaf is the digest of its value; that of a call is a sha256 over
the identity of the function and, for each argument, its token: of a leaf the
token of its value, of a call ``K`` and its key (no encoding of a value starts
so), of a nest what the same nest of values would have. Tokens are
self-delimiting, so two different calls never share a preimage.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from hashlib import sha256
from typing import Any

import numpy as np

from lazycache.digests import Memo, container_token, token
from lazycache.digests.code import has_users_code
from lazycache.digests.registry import has_users_encoder
from lazycache.expressions.nests import NATIVES, find_nodes, is_nest
from lazycache.expressions.nodes import Node, argument_name
from lazycache_storage.digest import Digest, digest_of_token

PREFIX_CALL = b"lazycache call 1\0"

_WITHOUT_CODE = NATIVES | {np.ndarray, list, tuple, dict, set}

TokenOf = Callable[[Node], bytes]

# A sha256 has the right length, which the constructor of Digest would check again.
_new_digest = bytes.__new__
_FLAT: dict[type, bytes] = {list: b"l", tuple: b"t"}


def key(expression: Any) -> Digest:
    """Return the digest that names an expression.

    Equal keys mean: the same functions on equal inputs. Taking a key hashes
    the inputs that have not been hashed yet; from then on the expression keeps
    its own copy of those that could change.

    Parameters
    ----------
    expression : computed, lazy or LazyArray

    Raises
    ------
    UnhashableError
        If an input has no stable digest.
    TypeError
        If `expression` is an ordinary value.

    Examples
    --------
    >>> from lazycache import computed, key
    >>> key(computed(2) + 3) == key(2 + computed(3))
    True
    >>> key(computed(2) + 3) == key(computed(3) + 2)
    False
    """
    if not isinstance(expression, Node):
        raise TypeError(f"key() takes a lazy expression, not {type(expression).__name__}: wrap it in computed()")
    take_keys((expression,))
    if expression._function is None:
        if expression._key is not None:
            # An array that was computed after its key was taken keeps it.
            return expression._key  # type: ignore[no-any-return]
        return digest_of_token(expression._take_token(None, "value"))
    return expression._key  # type: ignore[no-any-return]


def take_keys(nodes: Iterable[Node], memo: Memo | None = None) -> None:
    """Fill in the keys of nodes and of every call below them.

    Parameters
    ----------
    nodes : iterable of Node
    memo : Memo, optional
        Shared between the calls of one pass, so that an object that several
        leaves hold is copied and hashed once.

    Raises
    ------
    UnhashableError
        If an input has no stable digest.
    UnboundVariableError
        If there is a Variable without data.
    """
    stack = list(nodes)
    while stack:
        node = stack[-1]
        if node._function is None:
            if node._token is None:
                memo = Memo() if memo is None else memo
                node._take_token(memo, "value")
            stack.pop()
            continue
        if node._key is not None:
            stack.pop()
            continue
        missing = False
        for dep in node._deps:
            if dep._function is None:
                if dep._token is None:
                    memo = Memo() if memo is None else memo
                    dep._take_token(memo, _path_to(node, dep))
            elif dep._key is None:
                stack.append(dep)
                missing = True
        if not missing:
            node._key = call_key(node, node_token)
            stack.pop()


def node_token(node: Node) -> bytes:
    """Return what stands for a node in the keys of calls; its key must have been taken."""
    if node._function is None:
        return node._token if node._token is not None else node._take_token(None, "value")
    return b"K" + node._key  # type: ignore[no-any-return]


def call_key(node: Node, token_of: TokenOf) -> Digest:
    """Return the key of a call whose dependencies have the tokens that `token_of` gives.

    Parameters
    ----------
    node : Node
        A call.
    token_of : callable
        Gives the token of each dependency: its own, or that of its recorded result.
    """
    # The function last: another thread that computes an array takes it away first.
    args, kwargs = node._args, node._kwargs
    function = node._function
    if function is None:
        return digest_of_token(node._take_token(None, "value"))
    parts = [_head(function.token, len(args))]
    for arg in args:
        if isinstance(arg, Node):
            # The commonest in fewer steps: a call whose key is what stands for it.
            below = None if arg._function is None or token_of is not node_token else arg._key
            parts.append(token_of(arg) if below is None else b"K" + below)
        elif type(arg) in NATIVES or not is_nest(arg):
            parts.append(token(arg))
        else:
            parts.append(nest_token(arg, token_of))
    if kwargs:
        for name in sorted(kwargs):
            parts.append(token(name))
            parts.append(nest_token(kwargs[name], token_of))
    if not function.is_pure:
        # What an operator or a method does is written in the class of its operand. That counts with the
        # operand, unless somebody said what stands for it.
        for dep in node._deps:
            if dep._function is None:
                kind = type(dep._value)
                if kind not in _WITHOUT_CODE and _counts_by_code(kind):
                    parts.append(token(kind))
    return _new_digest(Digest, sha256(b"".join(parts)).digest())


@lru_cache(maxsize=1024)
def _head(identity: bytes, count: int) -> bytes:
    """Return how the preimages of calls of a function with so many arguments begin."""
    return b"%b%d:%b%d:" % (PREFIX_CALL, len(identity), identity, count)


def _counts_by_code(kind: type) -> bool:
    return has_users_encoder(kind) and has_users_code(kind)


def known_key(node: Node, limit: int) -> Digest | None:
    """Return the key of a node if that needs no data to be hashed, else None.

    Parameters
    ----------
    node : Node
    limit : int
        How many calls without a key may be looked at.
    """
    stack: list[Node] = [node]
    seen: set[int] = set()
    while stack:
        part = stack.pop()
        if part._function is None:
            if part._token is None:
                return None
        elif part._key is None and id(part) not in seen:
            seen.add(id(part))
            if len(seen) > limit:
                return None
            stack.extend(part._deps)
    return key(node)


def nest_token(nest: Any, token_of: TokenOf) -> bytes:
    """Return what stands for an argument in the key of a call: a node, a nest that may hold some, or a value."""
    if isinstance(nest, Node):
        return token_of(nest)
    tag = _FLAT.get(type(nest))
    if tag is not None and all(isinstance(member, Node) or type(member) in NATIVES for member in nest):
        return container_token(tag, [token_of(part) if isinstance(part, Node) else token(part) for part in nest])
    memo = Memo()
    for node in find_nodes(nest):
        memo.add(node, token_of(node))
    return token(nest, memo=memo)


def _path_to(node: Node, dep: Node) -> str:
    """Say where among the arguments of a call a leaf sits, for messages."""
    for position, arg in enumerate(node._args):
        if arg is dep or (is_nest(arg) and any(found is dep for found in find_nodes(arg))):
            return argument_name(node._function, position)
    for name, arg in node._kwargs.items():
        if any(found is dep for found in find_nodes(arg)):
            return name
    return "value"
