"""Build closures that evaluate a tree; functions are looked up once, when they are built."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gert_core.template.data import Variables, measure, truth
from gert_core.template.errors import UndefinedVariable
from gert_core.template.functions import descend, key_of
from gert_core.template.tree import (
    AllOf,
    AnyOf,
    Call,
    Choice,
    ComparisonChain,
    Const,
    Default,
    Defined,
    Items,
    Lookup,
    Pairs,
    Path,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from gert_core.template.tree import Node

    Run = Callable[[Variables], object]


def evaluator(node: Node) -> Run:
    """Return a function from variables to the value of the tree."""
    match node:
        case Const(value=value):
            return lambda _: value
        case Path(segments=segments):
            return lambda variables: variables.resolve(segments)
        case Call(function=function, args=args):
            return _call(function.call, tuple(map(evaluator, args)))
        case Lookup(base=base, keys=keys):
            return _call(descend, (evaluator(base), *map(evaluator, keys)))
        case AllOf(args=args):
            return _until(tuple(map(evaluator, args)), stop=False)
        case AnyOf(args=args):
            return _until(tuple(map(evaluator, args)), stop=True)
        case Default():
            return _default(node)
        case Defined(value=value):
            return _defined(evaluator(value))
        case Choice(test=test, then=then, other=other):
            asked, one, two = evaluator(test), evaluator(then), evaluator(other)
            return lambda variables: one(variables) if truth(asked(variables)) else two(variables)
        case ComparisonChain(parts=parts, functions=functions):
            return _chain(tuple(map(evaluator, parts)), tuple(function.call for function in functions))
        case Items(items=items):
            return _items(tuple(map(evaluator, items)))
        case Pairs(pairs=pairs):
            return _pairs(tuple((evaluator(key), evaluator(value)) for key, value in pairs))
    raise TypeError(f"not a node: {node!r}")


def _call(call: Callable[..., object], args: tuple[Run, ...]) -> Run:
    match args:
        case (one,):
            return lambda variables: call(one(variables))
        case (one, two):
            return lambda variables: call(one(variables), two(variables))
    return lambda variables: call(*[arg(variables) for arg in args])


def _until(args: tuple[Run, ...], *, stop: bool) -> Run:
    def value_of(variables: Variables) -> object:
        value = None
        for arg in args:
            value = arg(variables)
            if truth(value) is stop:
                break
        return value

    return value_of


def _chain(parts: tuple[Run, ...], calls: tuple[Callable[..., object], ...]) -> Run:
    def value_of(variables: Variables) -> bool:
        left = parts[0](variables)
        for call, part in zip(calls, parts[1:], strict=True):
            right = part(variables)
            if not call(left, right):
                return False
            left = right
        return True

    return value_of


def _items(runs: tuple[Run, ...]) -> Run:
    def value_of(variables: Variables) -> list[object]:
        out: list[object] = []
        size = 0
        for part in runs:
            out.append(part(variables))
            size = measure(out[-1], size)
        return out

    return value_of


def _pairs(runs: tuple[tuple[Run, Run], ...]) -> Run:
    def value_of(variables: Variables) -> dict[str, object]:
        out: dict[str, object] = {}
        size = 0
        for key, part in runs:
            value = part(variables)
            size = measure(value, size)
            out[key_of(key(variables))] = value
        return out

    return value_of


def _default(node: Default) -> Run:
    wanted, fallback = evaluator(node.value), evaluator(node.fallback)
    empty = evaluator(node.empty) if node.empty is not None else None

    def value_of(variables: Variables) -> object:
        try:
            value = wanted(variables)
        except UndefinedVariable:
            return fallback(variables)
        if value is None or (empty is not None and truth(empty(variables)) and not truth(value)):
            return fallback(variables)
        return value

    return value_of


def _defined(wanted: Run) -> Run:
    def value_of(variables: Variables) -> bool:
        try:
            wanted(variables)
        except UndefinedVariable:
            return False
        return True

    return value_of


__all__ = ["evaluator"]
