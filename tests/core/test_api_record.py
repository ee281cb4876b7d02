"""Records behave like frozen, slotted, keyword-only dataclasses, but compile nothing until they are used."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from collections.abc import Mapping  # noqa: TC003 - read by dataclasses.fields
from typing import Any

import pytest

from gert_core.api.record import field, field_names, record, replace


@record
class Point:
    """Where something is."""

    x: int
    y: int = 2
    tags: Mapping[str, Any] = field(default_factory=dict)

    @property
    def sum(self) -> int:
        return self.x + self.y


@record(kw_only=False)
class Pair:
    first: int
    second: int = 7


@record(frozen=False, eq=False)
class Counter:
    count: int = 0
    seen: list[int] = field(default_factory=list)


@record
class Node:
    name: str
    parent: Any = None
    children: list[Any] = field(default_factory=list)


def test_fields_defaults_and_methods():
    point = Point(x=1)
    assert (point.x, point.y, point.tags, point.sum) == (1, 2, {}, 3)
    assert Point.__doc__ == "Where something is."
    assert not hasattr(point, "__dict__")
    assert field_names(point) == field_names(Point) == ("x", "y", "tags")


def test_a_factory_is_called_for_every_record():
    one, other = Counter(), Counter()
    one.seen.append(1)
    assert other.seen == []


def test_a_shared_mutable_default_is_refused():
    with pytest.raises(TypeError, match=r"Wrong\.names would share one default"):

        @record
        class Wrong:
            names: list[str] = []


@pytest.mark.parametrize(
    ("given", "message"),
    [({}, "missing 1 required keyword-only argument: 'x'"), ({"x": 1, "z": 1}, "unexpected keyword argument 'z'")],
)
def test_wrong_arguments_are_refused_by_name(given, message):
    with pytest.raises(TypeError, match=message):
        Point(**given)


def test_only_positional_records_take_positions():
    assert Pair(1, 2) == Pair(first=1, second=2)
    with pytest.raises(TypeError):
        Point(1)
    match Pair(3):
        case Pair(first, second):
            assert (first, second) == (3, 7)


def test_frozen_records_cannot_be_changed():
    point = Point(x=1)
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'x'"):
        point.x = 2
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'x'"):
        del point.x
    counter = Counter()
    counter.count += 1
    assert counter.count == 1


def test_equality_and_hash_go_by_value_unless_it_is_not_wanted():
    assert Pair(1) == Pair(1) != Pair(2)
    assert len({Pair(1), Pair(1), Pair(2)}) == 2
    assert Pair(1) != (1, 7)
    assert Counter() != Counter()


def test_a_tree_that_points_back_can_be_shown():
    root = Node(name="root")
    root.children.append(Node(name="leaf", parent=root))
    assert "name='leaf', parent=..." in repr(root)


def test_copies_and_pickles_are_equal():
    point = Point(x=1, tags={"a": [1]})
    for made in (copy.copy(point), copy.deepcopy(point), pickle.loads(pickle.dumps(point))):
        assert made == point
    assert copy.deepcopy(point).tags is not point.tags


def test_replace_changes_some_fields():
    assert replace(Point(x=1, y=5), x=3) == Point(x=3, y=5) == dataclasses.replace(Point(x=1, y=5), x=3)


def test_dataclasses_functions_work_on_records():
    assert dataclasses.is_dataclass(Point)
    assert dataclasses.asdict(Point(x=1)) == {"x": 1, "y": 2, "tags": {}}
    assert [(f.name, f.kw_only) for f in dataclasses.fields(Point)] == [("x", True), ("y", True), ("tags", True)]
    assert dataclasses.fields(Point)[2].default_factory is dict
    assert str(inspect.signature(Pair)) == "(first: 'int', second: 'int' = 7) -> None"


def test_nothing_is_compiled_before_the_first_use():
    @record
    class Fresh:
        x: int

    assert not inspect.isfunction(vars(Fresh)["__init__"])
    Fresh(x=1)
    assert inspect.isfunction(vars(Fresh)["__init__"])


def test_subclasses_use_the_same_methods():
    class Special(Point):
        __slots__ = ()

    assert Special(x=1).sum == 3
    assert Special(x=1) != Point(x=1)
