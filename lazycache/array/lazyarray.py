"""LazyArray: an array that has not been computed, whose shape and dtype are known."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lazycache.array import backends, elementwise, manipulation, node
from lazycache.array.drawn import Drawn
from lazycache.array.evaluating import compute, compute_constants, settle, settle_one
from lazycache.array.functions import Unbound
from lazycache.array.history import History
from lazycache.array.infer import Shape
from lazycache.array.infer.broadcasting import size_of
from lazycache.array.methods import Methods, Operators
from lazycache.array.node import PLACEHOLDER, ArrayNode
from lazycache.blocks import whole
from lazycache.expressions import pickling
from lazycache.expressions.nodes import Node
from lazycache.graph import ascend, descend

if TYPE_CHECKING:
    from lazycache.codegen import Function


def _apply_ufunc(self: LazyArray, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
    from lazycache.array.ufuncs import apply_ufunc

    del self
    return apply_ufunc(ufunc, method, inputs, kwargs)


class _OfType:
    """A method that is found in the class, where numpy looks, and is None on instances.

    Masked arrays look there, and with None leave ``masked + x`` to `x`.
    """

    def __init__(self, method: Callable[..., Any]) -> None:
        self._method = method

    def __get__(self, instance: object, owner: type) -> Callable[..., Any] | None:
        return self._method if instance is None else None


class LazyArray(Operators, Methods, History, Drawn, ArrayNode):
    """An array that has not been computed: a function, its arguments, and what is known of the result.

    Parameters
    ----------
    backend : str or None
        The library of the array, e.g. ``"numpy"``; None if it is found out when computing.
    fn : callable or None
        What computes the array; None for an array whose data are given later.
    args : tuple
        Positional arguments of `fn`. Lazy arrays in tuples, lists, dict values and slices are found.
    kwargs : dict or None
        Keyword arguments of `fn`.
    shape : tuple
        The shape of what `fn` returns; a size that depends on values is None.
    deps : tuple, optional
        The lazy arrays in `args` and `kwargs`; found if not given.
    dtype : dtype, optional
        The dtype of what `fn` returns; None if it is not known.

    Examples
    --------
    >>> import numpy as np
    >>> import lazycache.array as lz
    >>> x = lz.array(np.arange(6.0).reshape(2, 3))
    >>> y = (x - x.mean(axis=1, keepdims=True)) @ x.T
    >>> y.shape, y.dtype
    ((2, 2), dtype('float64'))
    >>> y.compute()
    array([[2., 2.],
           [2., 2.]])
    """

    __slots__ = ()

    __array_priority__ = 1e6

    def __new__(
        cls,
        backend: str | None,
        fn: Callable[..., Any] | None,
        args: Sequence[Any],
        kwargs: dict[str, Any] | None,
        shape: Sequence[int | None],
        deps: Sequence[Node] | None = None,
        dtype: Any = None,
    ) -> LazyArray:
        """Return a new node."""
        if fn is None:
            return node.from_shape(tuple(shape), backend, dtype)
        return node.make_call(backend, fn, args, kwargs, shape, deps, dtype)

    @staticmethod
    def from_data(data: Any) -> LazyArray:
        """Return a lazy array whose data are there; see `lazycache.array.array`."""
        return node.from_data(data)

    @staticmethod
    def from_shape(shape: Any, backend: str | None = "numpy", dtype: Any = None) -> LazyArray:
        """Return a lazy array without data: a place for some; see `lazycache.array.Variable`."""
        return node.from_shape(shape, backend, dtype)

    # -- what it is ---------------------------------------------------------------

    @property
    def fn(self) -> Callable[..., Any] | None:
        """The function that computes this array; None for an input or what has been computed."""
        function = self._function
        if function is None or type(function) is Unbound:
            return None
        if self._backend is None and not getattr(function, "operator", None):
            return function  # type: ignore[no-any-return]
        return function.resolve(self._backend) if hasattr(function, "resolve") else function.call  # type: ignore[no-any-return]

    @property
    def fn_name(self) -> str:
        """The name of the function that computes this array; ``"None"`` for an input."""
        function = self._function
        return "None" if function is None or type(function) is Unbound else str(function.name)

    @property
    def args(self) -> tuple[Any, ...]:
        """The positional arguments."""
        return self._args

    @property
    def kwargs(self) -> dict[str, Any]:
        """The keyword arguments."""
        return dict(self._kwargs)

    @property
    def shape(self) -> Shape:
        """The sizes of the axes; a size that depends on values is None."""
        return self._shape

    @property
    def dtype(self) -> Any:
        """The dtype, as the backend has it; None if it is not known."""
        return backends.backend_dtype(self._dtype, self._backend)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self._shape)

    @property
    def size(self) -> int | None:
        """The number of elements; None if it depends on values."""
        return size_of(self._shape)

    @property
    def itemsize(self) -> int | None:
        """The bytes of one element; None if the dtype is not known."""
        return None if self._dtype is None else self._dtype.itemsize

    @property
    def nbytes(self) -> int | None:
        """The bytes of all elements; None if that is not known."""
        size = self.size
        return None if size is None or self._dtype is None else size * self._dtype.itemsize

    @property
    def backend(self) -> str | None:
        """The library of the array."""
        return self._backend

    @property
    def device(self) -> str:
        """Where the array will be: the backend knows, so ``"cpu"`` stands for its default."""
        return "cpu"

    @property
    def deps(self) -> tuple[Node, ...]:
        """The nodes that this array is computed from, each once."""
        return self._deps

    @property
    def depth(self) -> int:
        """The greatest distance to an input."""
        return self._depth

    @property
    def data(self) -> Any:
        """The value, if it is there; `PLACEHOLDER` if not."""
        return self._value if self._function is None else PLACEHOLDER

    # -- views --------------------------------------------------------------------

    @property
    def T(self) -> LazyArray:
        """The array with its axes reversed."""
        return manipulation.transpose(self)

    @property
    def mT(self) -> LazyArray:
        """The array with its last two axes exchanged."""
        return manipulation.matrix_transpose(self)

    @property
    def H(self) -> LazyArray:
        """The conjugate of the array with its axes reversed."""
        turned = manipulation.transpose(self)
        return turned if self._dtype is not None and self._dtype.kind != "c" else elementwise.conj(turned)

    @property
    def real(self) -> LazyArray:
        """The real part."""
        return elementwise.real(self)

    @property
    def imag(self) -> LazyArray:
        """The imaginary part."""
        return elementwise.imag(self)

    # -- computing ----------------------------------------------------------------

    def compute(self) -> Any:
        """Compute the value, keep it, and let go of function, arguments and dependencies.

        The same holds for each lazy array that this one depends on, so that
        another expression of them computes nothing twice. Nothing is looked up
        in a cache: that is what `lazycache.cache` does.

        Returns
        -------
        array

        Examples
        --------
        >>> import lazycache.array as lz
        >>> x = lz.arange(4)
        >>> total = (x * x).sum()
        >>> total.compute(), total.depth, x.data
        (np.int64(14), 0, array([0, 1, 2, 3]))
        """
        if self._function is not None:
            settle([self])
        return whole(self._value)

    def _materialize(self) -> Any:
        """Compute what the arguments need, each by its own `_materialize`, and then this node.

        It recurses: `compute` does not.
        """
        if self._function is not None:
            for dep in self._deps:
                if isinstance(dep, LazyArray):
                    dep._materialize()
            foreign = [dep for dep in self._deps if not isinstance(dep, LazyArray)]
            values = dict(zip(map(id, foreign), compute(foreign), strict=True)) if foreign else {}
            settle_one(self, values)
        return whole(self._value)

    def get_function(self, variables: Any, fold_constants: bool = True) -> Function:
        """Return a compiled function of the data of `variables` that gives this array.

        Parameters
        ----------
        variables : LazyArray, or sequence or nest of them
            Inputs whose data change between calls.
        fold_constants : bool
            Compute beforehand what does not depend on them.

        Examples
        --------
        >>> import numpy as np
        >>> import lazycache.array as lz
        >>> x = lz.Variable((3,))
        >>> f = (lz.sqrt(x) + 1).get_function([x])
        >>> f([np.array([1.0, 4.0, 9.0])])
        array([2., 3., 4.])
        """
        from lazycache.codegen import Function

        return Function(variables, self, fold_constants=fold_constants)

    def compute_constants(self, variables: Any) -> None:
        """Compute in place what does not depend on `variables`; see `lazycache.array.compute_constants`."""
        compute_constants(self, variables)

    def get_source(self, params: dict[str, Any] | None = None) -> str:
        """Return the source code of the computation; see `lazycache.array.get_source`."""
        from lazycache.codegen import get_source

        return get_source(self, params)

    def ascend(self) -> Iterator[Node]:
        """Generate each node once, inputs first."""
        return ascend(self)

    def descend(self) -> Iterator[Node]:
        """Generate each node once, from this one down."""
        return descend(self)

    def to(
        self,
        fn: Callable[..., Any],
        args: Sequence[Any] | None = None,
        kwargs: dict[str, Any] | None = None,
        backend: str | None = None,
        shape: Sequence[int | None] | None = None,
        deps: Sequence[Node] | None = None,
        dtype: Any = None,
    ) -> LazyArray:
        """Return the result of any function as a new LazyArray.

        Parameters
        ----------
        fn : callable
            What computes it. Its identity in keys is that of its code.
        args : sequence, optional
            Positional arguments, with lazy arrays anywhere in them; by default this array.
        kwargs : dict, optional
            Keyword arguments.
        backend : str, optional
            By default that of this array.
        shape : tuple, optional
            Of the result; by default that of this array.
        deps : sequence of LazyArray, optional
            The lazy arrays in the arguments; they are found in any case.
        dtype : dtype, optional
            Of the result. It is never taken over, as `fn` may change it.

        Examples
        --------
        >>> import numpy as np
        >>> import lazycache.array as lz
        >>> def moving_mean(x, width):
        ...     return np.convolve(x, np.full(width, 1 / width), mode="valid")
        >>> x = lz.arange(6.0)
        >>> x.to(moving_mean, (x, 2), shape=(5,), dtype="f8").max().compute()
        np.float64(4.5)
        """
        return node.make_call(
            self._backend if backend is None else backend,
            fn,
            (self,) if args is None else args,
            kwargs,
            self._shape if shape is None else shape,
            deps,
            dtype,
        )

    # -- protocols ----------------------------------------------------------------

    __array_ufunc__ = _OfType(_apply_ufunc)

    def __array_function__(self, func: Callable[..., Any], types: Any, args: Any, kwargs: Any) -> Any:
        from lazycache.array.numpy_functions import apply_function

        return apply_function(func, args, kwargs)

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        import lazycache.array as namespace

        if api_version is not None and api_version not in ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12"):
            raise ValueError(f"the version {api_version!r} of the array API standard is not supported")
        return namespace

    def to_device(self, device: Any, /, *, stream: Any = None) -> LazyArray:
        """Return the array itself on its device."""
        if device != "cpu" or stream is not None:
            raise ValueError(f"unsupported device {device!r}")
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return pickling.reduce_node(self)

    def __repr__(self) -> str:
        dtype = "" if self._dtype is None else f", dtype={self._dtype}"
        return f"<LazyArray(fn={self.fn_name}, shape={self._shape}{dtype}, backend={self._backend!r})>"


def Variable(shape: Any, backend: str | None = None, dtype: Any = None) -> LazyArray:
    """Return a lazy array from a shape only: a place for data that are given later.

    Parameters
    ----------
    shape : int or tuple
    backend : str, optional
    dtype : dtype, optional

    Examples
    --------
    >>> import lazycache.array as lz
    >>> x = lz.Variable((2, 3), dtype="f4")
    >>> (x * 2).sum(axis=0)
    <LazyArray(fn=sum, shape=(3,), dtype=float32, backend=None)>
    """
    return node.from_shape(shape, backend, dtype)
