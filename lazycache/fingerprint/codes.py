"""Code objects as bytes in which line numbers do not count.

Two uses: to tell whether a text is the code that runs, and to stand for a
function that has no text. The bytes hold for one Python version only.
"""

import dis
import importlib.util
import itertools
from collections.abc import Iterable, Iterator
from inspect import CO_NESTED, CO_VARARGS
from types import CodeType

from .names import Chain, Import, Names
from .natives import encode_constant, part, text

_GLOBAL_READS = frozenset({"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"})
_GLOBAL_WRITES = frozenset({"STORE_GLOBAL", "DELETE_GLOBAL"})
_VARIABLE_READS = frozenset(
    {
        "LOAD_DEREF", "LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_FAST_LOAD_FAST", "LOAD_GLOBAL", "LOAD_NAME",
        "STORE_FAST_LOAD_FAST",
    }
)  # fmt: skip
# What stands between an import and the last of the names that it binds.
_BINDING = frozenset(
    {
        "EXTENDED_ARG", "IMPORT_FROM", "POP_TOP", "STORE_DEREF", "STORE_FAST", "STORE_FAST_LOAD_FAST", "STORE_GLOBAL",
        "STORE_NAME", "SWAP",
    }
)  # fmt: skip
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

    What is taken from ``self`` is not told apart: all of its class counts.
    """
    chains: set[Chain] = {(name,) for name in code.co_freevars}
    rebound: set[str] = set()
    imports: set[Import] = set()
    for part_of_code in nested_codes(code):
        instructions = list(dis.get_instructions(part_of_code))
        chains.update(_chains(instructions, _GLOBAL_READS))
        rebound.update(str(item.argval) for item in instructions if item.opname in _GLOBAL_WRITES)
        imports.update(_imports(part_of_code, instructions))
    own: tuple[Chain, ...] = ((),) if code.co_argcount or code.co_flags & CO_VARARGS else ()
    ordered = sorted(imports, key=lambda item: (item.module, item.level, item.chains))
    return Names(tuple(sorted(chains)), frozenset(rebound), own, tuple(ordered))


def _chains(instructions: Iterable[dis.Instruction], reads: frozenset[str]) -> Iterator[Chain]:
    """Go through the names that are read, each with the attributes that are taken from it at once."""
    chain: Chain = ()
    for instruction in instructions:
        if chain and instruction.opname in _MEMBER_READS:
            chain = (*chain, str(instruction.argval))
            continue
        if chain:
            yield chain
        chain = ()
        if instruction.opname in reads:
            # Where one instruction reads two variables, an attribute is that of the last.
            names = instruction.argval if isinstance(instruction.argval, tuple) else (instruction.argval,)
            yield from ((str(name),) for name in names[:-1])
            chain = (str(names[-1]),)


def _imports(code: CodeType, instructions: list[dis.Instruction]) -> Iterator[Import]:
    """Go through the modules that a code object imports, with what is taken from the names that it binds them to."""
    taken: set[Chain] = set()
    for index, instruction in enumerate(instructions):
        if instruction.opname != "IMPORT_NAME":
            continue
        if not taken:
            readers = nested_codes(code)
            taken.update(chain for inner in readers for chain in _chains(dis.get_instructions(inner), _VARIABLE_READS))
        level, listed = instructions[index - 2].argval, instructions[index - 1].argval
        module = str(instruction.argval)
        following = list(itertools.takewhile(lambda item: item.opname in _BINDING, instructions[index + 1 :]))
        if not listed and following[0].opname != "IMPORT_FROM":
            # Without a name for the inner module, the outermost one is bound.
            module = module.partition(".")[0]
        members = [(str(item.argval),) for item in following if item.opname == "IMPORT_FROM"]
        stored = [item.argval for item in following if item.opname.startswith("STORE_")]
        variables = [str(name[0] if isinstance(name, tuple) else name) for name in stored]
        chains = {
            prefix + chain[1:]
            for prefix, variable in zip(members if listed else [()], variables, strict=False)
            for chain in taken | {(variable,)}
            if chain[0] == variable
        }
        yield Import(module, level, tuple(sorted(chains)))
