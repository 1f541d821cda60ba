"""Value -> Digest: canonical encodings, and the registries of types.

Equal values of one type have equal digests, in every process, Python version
and platform, whatever is shared inside them. What has no stable digest raises
`UnhashableError`.
"""

from lazycache.digests import arrays, libraries, stdlib  # noqa: F401  each registers types
from lazycache.digests.code import register_code
from lazycache.digests.immutable import is_immutable
from lazycache.digests.names import is_installed
from lazycache.digests.owned import known_token, remember
from lazycache.digests.registry import register_immutable, register_type
from lazycache.digests.snapshots import own, snapshot
from lazycache.digests.walk import Memo, container_token, digest, token

__all__ = [
    "Memo",
    "container_token",
    "digest",
    "is_immutable",
    "is_installed",
    "known_token",
    "own",
    "register_code",
    "register_immutable",
    "register_type",
    "remember",
    "snapshot",
    "token",
]
