"""Closures that evaluate a tree: built once, nothing is looked up by name afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gert_core.template.data import Variables, truth
from gert_core.template.errors import UndefinedVariable
from gert_core.template.functions import descend, key_of
from gert_core.template.tree import (
    AllOf,
    AnyOf,
    Call,
    Choice,
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

    Run = Callable[[Variables], Any]


def evaluator(node: Any) -> Run:
    """A function from variables to the value of the tree."""
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
        case Items(items=items):
            runs = tuple(map(evaluator, items))
            return lambda variables: [run(variables) for run in runs]
        case Pairs(pairs=pairs):
            both = tuple((evaluator(key), evaluator(value)) for key, value in pairs)
            return lambda variables: {key_of(key(variables)): value(variables) for key, value in both}
    raise TypeError(f"not a node: {node!r}")


def _call(call: Callable[..., Any], args: tuple[Run, ...]) -> Run:
    match args:
        case (one,):
            return lambda variables: call(one(variables))
        case (one, two):
            return lambda variables: call(one(variables), two(variables))
    return lambda variables: call(*[arg(variables) for arg in args])


def _until(args: tuple[Run, ...], *, stop: bool) -> Run:
    def run(variables: Variables) -> Any:
        value = None
        for arg in args:
            value = arg(variables)
            if truth(value) is stop:
                break
        return value

    return run


def _default(node: Default) -> Run:
    wanted, fallback = evaluator(node.value), evaluator(node.fallback)
    empty = evaluator(node.empty) if node.empty is not None else None

    def run(variables: Variables) -> Any:
        try:
            value = wanted(variables)
        except UndefinedVariable:
            return fallback(variables)
        if value is None or (empty is not None and truth(empty(variables)) and not truth(value)):
            return fallback(variables)
        return value

    return run


def _defined(wanted: Run) -> Run:
    def run(variables: Variables) -> bool:
        try:
            wanted(variables)
        except UndefinedVariable:
            return False
        return True

    return run


__all__ = ["evaluator"]
