"""torch: tensors by dtype, device and elements; whose storage they share does not count."""

from __future__ import annotations

import copy
from importlib import import_module
from typing import Any

from lazycache.digests.names import qualified_name
from lazycache.digests.objects import Attributes
from lazycache.digests.registry import Parts, Refusal, copiers, expanders, families, no_label, standing_for

# Untyped, and not everywhere installed.
torch: Any = import_module("torch")


def register() -> None:
    """Put the types of torch into the registry."""
    families[torch.Tensor] = _expand_tensor
    expanders[torch.dtype] = standing_for("torch.dtype", str)
    expanders[torch.device] = standing_for("torch.device", str)
    families[torch.UntypedStorage] = families[torch.TypedStorage] = _expand_storage
    copiers[torch.Tensor] = _copy


def _expand_tensor(value: Any) -> Parts:
    head: tuple[Any, ...] = (qualified_name(type(value)), str(value.dtype), str(value.device), value.requires_grad)
    if vars(value):
        head += (Attributes(vars(value)),)
    if value.layout is torch.sparse_coo:
        coalesced = value.detach().coalesce()
        return b"R", (*head, tuple(value.shape), coalesced.indices(), coalesced.values()), no_label, True
    if value.layout is not torch.strided or value.is_quantized:
        raise Refusal(type(value).__name__, "only dense and COO tensors have a digest; convert it, or pass its parts")
    plain = value.detach().cpu().resolve_conj().resolve_neg()
    if plain.dtype is torch.bfloat16:
        # numpy has no such numbers; the dtype is in the digest already.
        plain = plain.view(torch.int16)
    return b"R", (*head, plain.numpy()), no_label, True


def _expand_storage(value: Any) -> Parts:
    typed = isinstance(value, torch.TypedStorage)
    memory = value.untyped() if typed else value
    elements = torch.empty(0, dtype=torch.uint8).set_(memory.cpu()).numpy()
    kind = qualified_name(type(value))
    return b"R", (kind, str(value.dtype) if typed else None, str(memory.device), elements), no_label, True


def _copy(value: Any) -> Any:
    if value.is_leaf and (type(value) is not torch.Tensor or vars(value)):
        return copy.deepcopy(value)
    # A deep copy is refused for tensors that were computed with gradients, and takes the whole memory below a view.
    return value.detach().clone().requires_grad_(value.requires_grad)
