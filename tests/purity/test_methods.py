"""Methods: the instance is an argument, by its class and state."""

import functools
from typing import Any

import pytest

from lazycache import Cache, compute, key, pure
from tests.conftest import Witness


class Model:
    """A model with state."""

    scale = 2

    def __init__(self, offset: Any) -> None:
        self.offset = offset

    @pure(version=1)
    def apply(self, x: Any) -> Any:
        return self.scale * x + self.offset

    @pure(version=1)
    @classmethod
    def of_class(cls, x: Any) -> Any:
        return cls.__name__, x

    @classmethod
    @pure(version=1)
    def of_class_too(cls, x: Any) -> Any:
        return cls.__name__, x

    @pure(version=1)
    @staticmethod
    def static(x: Any) -> Any:
        return x

    @staticmethod
    @pure(version=1)
    def static_too(x: Any) -> Any:
        return x

    @property
    @pure(version=1)
    def shifted(self) -> Any:
        return self.offset + 1

    @pure
    def by_code(self, x: Any) -> Any:
        return self.helper(x)

    def helper(self, x: Any) -> Any:
        return x + 1


class Other(Model):
    scale = 3

    def helper(self, x: Any) -> Any:
        return x + 2


class Callable_:
    def __init__(self, power: int) -> None:
        self.power = power

    def __call__(self, x: Any) -> Any:
        return x**self.power

    def method(self, x: Any) -> Any:
        return x + self.power


def test_the_state_of_the_instance_is_in_the_key() -> None:
    assert key(Model(1).apply(5)) == key(Model(1).apply(5)) != key(Model(2).apply(5))
    assert compute(Model(1).apply(5)) == 11


def test_an_instance_that_changed_is_another_argument() -> None:
    model = Model([1])
    before = key(model.apply(5))
    model.offset.append(2)
    assert key(model.apply(5)) != before


def test_a_change_after_the_call_does_not_reach_the_node(cache: Cache, witness: Witness) -> None:
    class Counter:
        def __init__(self) -> None:
            self.values = [1]

        @pure(version=1)
        def total(self) -> int:
            witness("total")
            self.values.append(100)
            return sum(self.values)

    counter = Counter()
    node = counter.total()
    key(node)
    counter.values.append(2)
    assert cache(node) == 101
    assert counter.values == [1, 2]
    assert cache(counter.total()) == 103
    assert witness.ran["total"] == 2


def test_equal_state_of_another_class_is_another_argument() -> None:
    assert key(Model(1).apply(5)) != key(Other(1).apply(5))
    assert compute(Other(1).apply(5)) == 16


def test_a_method_called_through_its_class_has_the_same_key() -> None:
    model = Model(1)
    assert key(Model.apply(model, 5)) == key(model.apply(5)) == key(model.apply(x=5))
    assert key(Model.by_code(model, 5)) == key(model.by_code(5))
    assert key(Model.by_code(Other(1), 5)) == key(Other(1).by_code(5))


def test_class_methods_in_either_order() -> None:
    for method in (Model.of_class, Model(1).of_class, Model.of_class_too, Model(1).of_class_too):
        assert compute(method(3)) == ("Model", 3)
    assert compute([Other.of_class(3), Other.of_class_too(3)]) == [("Other", 3)] * 2
    assert key(Model.of_class(3)) == key(Model(1).of_class(3)) != key(Other.of_class(3))


def test_static_methods_in_either_order() -> None:
    for method in (Model.static, Model(1).static, Model.static_too, Model(1).static_too):
        assert compute(method(3)) == 3
    assert key(Model.static(3)) == key(Model(2).static(3))


def test_a_property_over_a_pure_function() -> None:
    assert compute(Model(4).shifted) == 5


def test_bound_methods_have_the_names_of_pure_functions(cache: Cache) -> None:
    model = Model(1)
    assert model.apply.raw(5) == 11
    assert model.of_class.raw(3) == ("Model", 3)
    with cache:
        assert not model.apply.is_cached(5)
        cache(model.apply(5))
        assert model.apply.is_cached(5)
        assert not Model(2).apply.is_cached(5)
        assert model.apply.forget(5)
    assert model.apply.name.endswith("Model.apply")


def test_without_a_version_the_methods_that_a_subclass_changes_count() -> None:
    def make(step: int) -> type[Model]:
        if step == 1:

            class Sub(Model):
                def helper(self, x: Any) -> Any:
                    return x + 10

        else:

            class Sub(Model):  # type: ignore[no-redef]
                def helper(self, x: Any) -> Any:
                    return x + 20

        return Sub

    one, other = make(1), make(2)
    assert one.__qualname__ == other.__qualname__
    assert key(one(1).by_code(5)) == key(make(1)(1).by_code(5)) != key(other(1).by_code(5))
    assert compute([one(1).by_code(5), other(1).by_code(5), Model(1).by_code(5)]) == [15, 25, 6]


def test_a_callable_instance_counts_by_its_state() -> None:
    square, cube = pure(version=1)(Callable_(2)), pure(version=1)(Callable_(3))
    assert key(square(3)) == key(pure(version=1)(Callable_(2))(3)) != key(cube(3))
    assert compute([square(3), cube(3)]) == [9, 27]


def test_a_callable_instance_that_changes_is_another_one() -> None:
    power = Callable_(2)
    f = pure(power)
    before = key(f(3))
    power.power = 3
    assert key(f(3)) != before
    assert compute(f(3)) == 27


def test_a_bound_method_counts_by_the_state_of_its_instance() -> None:
    two, three = pure(version=1)(Callable_(2).method), pure(version=1)(Callable_(3).method)
    assert key(two(1)) != key(three(1))
    assert compute([two(1), three(1)]) == [3, 4]


class Curried:
    """Takes arguments one by one, as curry of toolz does, and copies the name of the function."""

    def __init__(self, func: Any, *args: Any) -> None:
        functools.update_wrapper(self, func)
        self.func, self.args = func, args

    def __call__(self, *args: Any) -> Any:
        return self.func(*self.args, *args)


def power(base: Any, exponent: Any) -> Any:
    return base**exponent


@pytest.mark.parametrize("version", [1, None])
def test_curried_functions_count_by_what_they_hold(version: Any) -> None:
    decorate = pure(version=version)
    two, three = decorate(Curried(power, 2)), decorate(Curried(power, 3))
    assert key(two(5)) != key(three(5))
    assert compute([two(5), three(5)]) == [32, 243]
