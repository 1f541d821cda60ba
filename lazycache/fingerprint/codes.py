"""Code objects as bytes in which line numbers do not count.

Two uses: to tell whether a text is the code that runs, and to stand for a
function that has no text. The bytes hold for one Python version only.
"""

import dis
import importlib.util
from collections.abc import Iterator
from inspect import CO_NESTED
from types import CodeType

from .names import Chain, Names
from .natives import encode_constant, part, text

_GLOBAL_READS = frozenset({"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"})
_GLOBAL_WRITES = frozenset({"STORE_GLOBAL", "DELETE_GLOBAL"})
_MEMBER_READS = frozenset({"LOAD_ATTR", "LOAD_METHOD"})


def encode_code(code: CodeType) -> bytes:
    """Return the bytes of all that a code object does.

    Examples
    --------
    >>> one = compile("x = 1", "one.py", "exec")
    >>> encode_code(one) == encode_code(compile("\\n\\nx = 1  # moved", "two.py", "exec"))
    True
    """
    counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags & ~CO_NESTED)
    variables = (code.co_name, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    return part(
        b"C",
        encode_constant(counts),
        encode_constant(variables),
        part(b"b", code.co_code),
        part(b"b", code.co_exceptiontable),
        *(encode_code(item) if isinstance(item, CodeType) else encode_constant(item) for item in code.co_consts),
    )


def encode_untexted(code: CodeType) -> bytes:
    """Return the bytes that stand for code without a text; the Python version is part of them."""
    return part(b"code", text(b"v", importlib.util.MAGIC_NUMBER.hex()), encode_code(code))


def nested_codes(code: CodeType, *, inside: bool = False) -> Iterator[CodeType]:
    """Go through a code object, unless only those inside it are wanted, and those in it, the outermost first."""
    level = [code]
    if not inside:
        yield code
    while level:
        level = [item for outer in level for item in outer.co_consts if isinstance(item, CodeType)]
        yield from level


def names_in_code(code: CodeType) -> Names:
    """Return what code without a text refers to.

    Imports in the body are not found, nor what is taken from ``self``.
    """
    chains: set[Chain] = {(name,) for name in code.co_freevars}
    rebound: set[str] = set()
    for part_of_code in nested_codes(code):
        chain: Chain = ()
        for instruction in dis.get_instructions(part_of_code):
            if chain and instruction.opname in _MEMBER_READS:
                chain = (*chain, str(instruction.argval))
                continue
            if chain:
                chains.add(chain)
            chain = (str(instruction.argval),) if instruction.opname in _GLOBAL_READS else ()
            if instruction.opname in _GLOBAL_WRITES:
                rebound.add(str(instruction.argval))
    return Names(tuple(sorted(chains)), frozenset(rebound))
