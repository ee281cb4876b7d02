"""Parse the Jinja form: Jinja2 parses the expression, gert evaluates it.

Jinja2's sandboxed environment parses; its compiler, optimizer and runtime are never used. Its syntax tree is
translated, node by node from a closed list, into the tree of the kernel form. So there is no access to Python
attributes or methods, nothing is folded while compiling, and limits and analysis are the same for both syntaxes.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from gert_core.template.choices import CHOICES, apply_to_each, select_by_field, select_items, select_with_field
from gert_core.template.errors import TemplateError
from gert_core.template.filters import FILTERS, TESTS
from gert_core.template.functions import FUNCTIONS, SPECIAL, whole_text
from gert_core.template.operators import OPERATORS
from gert_core.template.parse import MAX_DEPTH, NO_CLOCK, call
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
    Pairs,
    Path,
    lookup,
    path_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from gert_core.template.arguments import Function
    from gert_core.template.tree import Node

_BINARY: Final = {"Add": "+", "Sub": "-", "Mul": "*", "Div": "/", "FloorDiv": "//", "Mod": "%", "Pow": "**"}
_UNARY: Final = {"Neg": "neg", "Pos": "pos"}
_COMPARISONS: Final = {
    "eq": FUNCTIONS["eq"],
    "ne": FUNCTIONS["ne"],
    "lt": FUNCTIONS["lt"],
    "lteq": FUNCTIONS["le"],
    "gt": FUNCTIONS["gt"],
    "gteq": FUNCTIONS["ge"],
    "in": OPERATORS["in"],
    "notin": OPERATORS["not in"],
}
_OPENING: Final = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'|[(\[{]|[)\]}]', re.DOTALL)

_WORD: Final = re.compile(r"(?<![\w.'\"])[^\W\d]\w*")
_POSITION: Final = re.compile(r" at \d+$")
"""Jinja2 counts from the braces it was given, which does not help the author."""
_UNKNOWN_ESCAPE: Final = re.compile(r"(?:[^\\]|\\[\\'\"abfnrtvxuU\n])*+(\\.)", re.DOTALL)


def parse_jinja(text: str, *, kernel_error: TemplateError) -> Node:
    """Return the tree of a Jinja-form expression; the hint for invalid text comes from the kernel form."""
    from jinja2 import TemplateSyntaxError

    _check_brackets_and_escapes(text)
    try:
        body = _environment().parse("{{ " + text + " }}").body
    except TemplateSyntaxError as error:
        raise TemplateError(
            f"invalid expression: {_POSITION.sub('', error.message or '')}",
            offset=kernel_error.offset,
            hint=kernel_error.hint,
        ) from None
    except (RecursionError, ValueError, OverflowError):
        raise _too_deep() from None
    output = body[0] if len(body) == 1 else None
    nodes: Any = getattr(output, "nodes", ())
    if type(output).__name__ != "Output" or len(nodes) != 1:
        raise TemplateError("invalid expression", offset=kernel_error.offset, hint=kernel_error.hint)
    return _Translator(text).node(nodes[0], 1)


@lru_cache(maxsize=1)
def _environment() -> Any:
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    return ImmutableSandboxedEnvironment(autoescape=False)


class _Translator:
    def __init__(self, text: str) -> None:
        self._text = text
        self._places: dict[str, int] | None = None
        """The first position of each word; Jinja2 keeps lines only."""

    def node(self, node: Any, depth: int) -> Node:
        if depth > MAX_DEPTH:
            raise _too_deep()
        kind = type(node).__name__
        deeper = depth + 1
        if kind in _BINARY:
            return Call(OPERATORS[_BINARY[kind]], (self.node(node.left, deeper), self.node(node.right, deeper)))
        if kind in _UNARY:
            value = self.node(node.node, deeper)
            if kind == "Neg" and isinstance(value, Const):
                number = value.value
                if isinstance(number, (int, float)) and not isinstance(number, bool):
                    return Const(-number)
            return Call(OPERATORS[_UNARY[kind]], (value,))
        method: Callable[[Any, int], Node] | None = getattr(self, f"_{kind.lower()}", None)
        if method is None:
            raise TemplateError(f"`{kind}` is not allowed in a template")
        return method(node, deeper)

    def _nodes(self, nodes: Sequence[Any], depth: int) -> tuple[Node, ...]:
        return tuple(self.node(node, depth) for node in nodes)

    def _const(self, node: Any, depth: int) -> Node:
        if isinstance(node.value, str):
            return Const(whole_text(node.value))
        if node.value is not None and not isinstance(node.value, (int, float)):
            raise TemplateError("the literal is not supported")
        if isinstance(node.value, float) and node.value in (float("inf"), float("-inf")):
            raise TemplateError("the number is too large")
        if isinstance(node.value, int) and node.value.bit_length() > 4096:
            raise TemplateError("the number is too large")
        return Const(node.value)

    def _name(self, node: Any, depth: int) -> Node:
        if self._places is None:
            self._places = {}
            for found in _WORD.finditer(self._text):
                self._places.setdefault(found[0], found.start())
        return path_of(node.name, (), self._places.get(node.name, 0))

    def _getattr(self, node: Any, depth: int) -> Node:
        return lookup(self.node(node.node, depth), (Const(node.attr),))

    def _getitem(self, node: Any, depth: int) -> Node:
        base = self.node(node.node, depth)
        if type(node.arg).__name__ == "Slice":
            bounds = (node.arg.start, node.arg.stop, node.arg.step)
            parts = tuple(Const(None) if bound is None else self.node(bound, depth) for bound in bounds)
            return Call(OPERATORS["slice"], (base, *parts))
        return lookup(base, (self.node(node.arg, depth),))

    def _compare(self, node: Any, depth: int) -> Node:
        parts = (self.node(node.expr, depth), *self._nodes([operand.expr for operand in node.ops], depth))
        functions = tuple(_COMPARISONS[operand.op] for operand in node.ops)
        return Call(functions[0], parts) if len(functions) == 1 else ComparisonChain(parts, functions)

    def _and(self, node: Any, depth: int) -> Node:
        return AllOf(self._chain(node, depth))

    def _or(self, node: Any, depth: int) -> Node:
        return AnyOf(self._chain(node, depth))

    def _chain(self, node: Any, depth: int) -> tuple[Node, ...]:
        """Return the parts of `a and b and c`, which is one level, however long."""
        kind = type(node)
        found: list[Node] = []
        while isinstance(node, kind):
            found.append(node.right)
            node = node.left
        return self._nodes([node, *reversed(found)], depth)

    def _not(self, node: Any, depth: int) -> Node:
        if type(node.node).__name__ == "Test":
            return Call(FUNCTIONS["not"], (self._test(node.node, depth + 1, negated=True),))
        return Call(FUNCTIONS["not"], (self.node(node.node, depth),))

    def _concat(self, node: Any, depth: int) -> Node:
        return Call(OPERATORS["~"], self._nodes(node.nodes, depth))

    def _condexpr(self, node: Any, depth: int) -> Node:
        other = Const(None) if node.expr2 is None else self.node(node.expr2, depth)
        return Choice(self.node(node.test, depth), self.node(node.expr1, depth), other)

    def _list(self, node: Any, depth: int) -> Node:
        return Items(self._nodes(node.items, depth))

    _tuple = _list

    def _dict(self, node: Any, depth: int) -> Node:
        return Pairs(tuple((self.node(p.key, depth), self.node(p.value, depth)) for p in node.items))

    def _call(self, node: Any, depth: int) -> Node:
        name = getattr(node.node, "name", None) if type(node.node).__name__ == "Name" else None
        if name not in FUNCTIONS and name not in SPECIAL:
            what = f"`{name}`" if name else "a method"
            method = getattr(node.node, "attr", None)
            hint = f"use the filter `| {method}`" if method in FILTERS else "only gert's own functions can be called"
            hint = NO_CLOCK if name == "now" else hint
            raise TemplateError(f"{what} cannot be called in a template", hint=hint)
        if node.kwargs or node.dyn_args or node.dyn_kwargs:
            raise TemplateError(f"`{name}` takes no keyword arguments")
        return call(name, self._nodes(node.args, depth), direct=True)

    def _filter(self, node: Any, depth: int) -> Node:
        value = self.node(node.node, depth)
        if node.dyn_args or node.dyn_kwargs:
            raise TemplateError("`*` and `**` arguments are not allowed in a template")
        if node.name in ("default", "d"):
            args = self._arguments(node, ("default_value", "boolean"), depth, most=2)
            return Default(value, args[0] if args else Const(""), args[1] if len(args) > 1 else None)
        if node.name in ("and", "or", "index"):
            return call(node.name, (*self._nodes(node.args, depth), value))
        if node.name in CHOICES or (node.name == "map" and node.args):
            return self._by_name(node, value, depth)
        found = FILTERS.get(node.name)
        if found is None:
            known = (*FILTERS, *CHOICES, "default", "index")
            raise TemplateError(f"there is no filter `{node.name}`", hint=_near(node.name, known))
        function = found.function
        args = self._arguments(node, found.names, depth, most=None if function.most is None else function.most - 1)
        if 1 + len(args) < function.least:
            raise TemplateError(f"the filter `{node.name}` needs {function.least - 1} arguments")
        return Call(function, (value, *args))

    def _by_name(self, node: Any, value: Node, depth: int) -> Node:
        """Translate a filter that is given a test or another filter by its name."""
        if node.kwargs:
            raise TemplateError(f"the filter `{node.name}` takes no argument `{node.kwargs[0].key}` here")
        args = self._nodes(node.args, depth)
        if node.name == "map":
            word = _word(args[0])
            found = FILTERS.get(word or "")
            if found is None or word == "map":
                hint = f'write `map(attribute="{word}")` for a field' if word else "write its name in quotes"
                raise TemplateError("`map` needs a field, or the name of a filter", hint=hint)
            self._check_count(f"the filter `{word}`", found.function, len(args))
            return Call(apply_to_each(found.function), (value, *args[1:]))
        of_field = node.name.endswith("attr")
        if of_field and not args:
            raise TemplateError(f"`{node.name}` needs a field", hint=f'write `{node.name}("field", "eq", value)`')
        field, asked = (args[:1], args[1:]) if of_field else ((), args)
        word = _word(asked[0]) if asked else None
        if of_field and word in ("defined", "undefined") and len(asked) == 1:
            return Call(select_with_field(node.name, present=word == "defined"), (value, *field))
        test = TESTS.get(_ALIASES.get(word or "", word or ""))
        if asked and test is None:
            hint = (_near(word, TESTS) if word else None) or f"the tests are {', '.join(TESTS)}"
            raise TemplateError(f'`{node.name}` needs the name of a test, such as "eq"', hint=hint)
        if test is not None:
            self._check_count(f"the test `{word}`", test, len(asked))
        made = select_by_field(node.name, test) if of_field else select_items(node.name, test)
        return Call(made, (value, *field, *asked[1:]))

    def _check_count(self, what: str, function: Function, given: int) -> None:
        """Raise when a function that is called by name gets too few or too many arguments, its subject counted."""
        if given < function.least or (function.most is not None and given > function.most):
            raise TemplateError(f"{what} takes {function.least - 1} arguments, not {given - 1}")

    def _arguments(self, node: Any, names: tuple[str, ...], depth: int, *, most: int | None) -> tuple[Node, ...]:
        args = list(self._nodes(node.args, depth))
        for pair in node.kwargs:
            if pair.key not in names or names.index(pair.key) < len(args):
                raise TemplateError(f"the filter `{node.name}` takes no argument `{pair.key}`")
            while len(args) < names.index(pair.key):
                args.append(Const(_MISSING.get((node.name, names[len(args)]))))
            args.append(self.node(pair.value, depth))
        if most is not None and len(args) > most:
            raise TemplateError(f"the filter `{node.name}` takes up to {most} arguments, not {len(args)}")
        return tuple(args)

    def _test(self, node: Any, depth: int, *, negated: bool = False) -> Node:
        value = self.node(node.node, depth)
        if node.name in ("defined", "undefined"):
            return Defined(value) if node.name == "defined" else Call(FUNCTIONS["not"], (Defined(value),))
        found = TESTS.get(_ALIASES.get(node.name, node.name))
        if found is None:
            hint = _of_status(node.name, value, negated=negated) or _near(node.name, TESTS)
            raise TemplateError(f"there is no test `{node.name}`", hint=hint)
        args = (value, *self._nodes(node.args or (), depth))
        if len(args) != found.least or node.kwargs:
            raise TemplateError(f"the test `{node.name}` takes {found.least - 1} arguments")
        return Call(found, args)


_ALIASES: Final = {"==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge", "equalto": "eq"}
_STATUSES: Final = {
    **dict.fromkeys(("failed", "failure"), "failed"),
    **dict.fromkeys(("success", "succeeded", "successful"), "success"),
    "skipped": "skipped",
}
"""What other tools test a step for, and the status that a step has here."""
_MISSING: Final = {
    ("indent", "width"): 4,
    ("join", "d"): "",
    ("sort", "reverse"): False,
    ("default", "default_value"): "",
}


def _word(node: Node) -> str | None:
    """Return a literal text: names of tests and filters are never computed."""
    return node.value if isinstance(node, Const) and isinstance(node.value, str) else None


def _check_brackets_and_escapes(text: str) -> None:
    """Check brackets and escapes before Jinja2's parser, which recurses for the first and accepts unknown ones."""
    depth = 0
    for found in _OPENING.finditer(text):
        mark = found[0]
        unknown = _UNKNOWN_ESCAPE.match(mark) if mark[0] in "\"'" else None
        if unknown:
            raise TemplateError(
                f"`{unknown[1]}` is not a valid escape sequence",
                offset=found.start() + unknown.start(1),
                hint="double the backslash",
            )
        depth += mark in ("(", "[", "{")
        depth -= mark in (")", "]", "}")
        if depth > MAX_DEPTH:
            raise _too_deep()


def _too_deep() -> TemplateError:
    return TemplateError(f"the expression is nested deeper than {MAX_DEPTH} levels")


def _of_status(name: str, value: Node, *, negated: bool) -> str | None:
    """Return what is written in place of a test of how a step came out."""
    if name == "changed":
        return "a step has no such status: compare an output that tells"
    if name not in _STATUSES or not isinstance(value, Path):
        return None
    path = ".".join(value.segments).removesuffix(".status")
    return f'write `{path}.status {"!=" if negated else "=="} "{_STATUSES[name]}"`'


def _near(name: str, table: Iterable[str]) -> str | None:
    from gert_core.kit.nearest import nearest  # only mistakes need it

    near = nearest(name, table)
    return f"did you mean `{near}`?" if near else None


__all__ = ["parse_jinja"]
