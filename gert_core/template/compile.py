"""Compile expressions to closures and raw values to templates; every distinct text is compiled once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from gert_core.api.results import Undecided
from gert_core.template.composed import limit
from gert_core.template.data import (
    MAX_RESULT,
    Symbol,
    Variables,
    measure,
    to_text,
    too_large,
    truth,
)
from gert_core.template.errors import TemplateError, UndefinedVariable
from gert_core.template.evaluate import evaluator
from gert_core.template.expression import parse_expression
from gert_core.template.references import Reference, references_of
from gert_core.template.scan import split
from gert_core.template.tree import Const, Path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from gert_core.template.scan import Expression
    from gert_core.template.tree import Node

_CACHED: Final = 8192
_SPELLED: Final = {"true": "true", "yes": "true", "on": "true", "false": "false", "no": "false", "off": "false"}


class CompiledExpression:
    """One expression: its tree, its text and, once it was evaluated, its closure; validation needs none."""

    __slots__ = ("_run", "offset", "source", "text", "tree")

    def __init__(self, part: Expression) -> None:
        self.text = part.text
        self.source = part.source
        self.offset = part.offset + (part.source.index(part.text, 2) if part.text else 2)
        try:
            self.tree: Node = _tree(part.text)
        except TemplateError as error:
            raise TemplateError(
                error.message, hint=error.hint, offset=self.offset + error.offset, rule=error.rule
            ) from None
        self._run: Callable[[Variables], object] | None = None

    def evaluate(self, variables: Variables) -> object:
        """Return the value; errors name the expression and, for a variable, the most similar defined name."""
        run = self._run
        if run is None:
            run = evaluator(self.tree)
            self._run = run = run if isinstance(self.tree, Path) else _measured(run)
        try:
            value = run(variables)
        except UndefinedVariable as error:
            error.complete(variables.names())
            raise
        except TemplateError as error:
            if error.source is None:
                error.source = self.source
                error.message += f" in `{_short(self.source)}`"
            raise
        except ArithmeticError as error:  # no function lets one through; if one did, the run would have no end
            failed = TemplateError(f"the arithmetic failed ({type(error).__name__}) in `{_short(self.source)}`")
            failed.source = self.source
            raise failed from None
        if type(value) is str and len(value) > MAX_RESULT:
            raise too_large()
        return value

    def references(self) -> tuple[Reference, ...]:
        """Return every variable the expression reads."""
        return references_of(self.tree, source=self.text, offset=self.offset)


class Template(ABC):
    """A raw value of a document, ready to be rendered any number of times by any thread."""

    __slots__ = ()
    static: bool = False

    @abstractmethod
    def render(self, variables: Variables) -> Any:
        """Return the value with every expression evaluated."""

    @abstractmethod
    def render_partial(self, variables: Variables) -> Any:
        """Return the value; expressions that are undecided remain as their source text."""

    def references(self) -> tuple[Reference, ...]:
        """Return every variable the value reads, with its place inside the value."""
        return ()


class Static(Template):
    """A value without expressions; rendering returns the value itself."""

    __slots__ = ("value",)
    static = True

    def __init__(self, value: object) -> None:
        self.value = value

    def render(self, variables: Variables) -> object:
        """Return the value."""
        return self.value

    render_partial = render


class Single(Template):
    """Exactly one expression: the raw typed value."""

    __slots__ = ("expression",)

    def __init__(self, expression: CompiledExpression) -> None:
        self.expression = expression

    def render(self, variables: Variables) -> object:
        """Return the value."""
        return self.expression.evaluate(variables)

    def render_partial(self, variables: Variables) -> object:
        """Return the value, or a symbol when it is known only in a real run."""
        try:
            return self.expression.evaluate(variables)
        except Undecided:
            return Symbol(self.expression.source)

    def references(self) -> tuple[Reference, ...]:
        """Return the references of the expression."""
        return self.expression.references()


class TextTemplate(Template):
    """Text with expressions in it."""

    __slots__ = ("parts",)

    def __init__(self, parts: tuple[str | CompiledExpression, ...]) -> None:
        self.parts = parts

    def render(self, variables: Variables) -> str:
        """Return the text."""
        return _joined(p if isinstance(p, str) else to_text(p.evaluate(variables)) for p in self.parts)

    def render_partial(self, variables: Variables) -> str:
        """Return the text, or a symbol when some of it is undecided."""
        decided = True
        out = []
        for part in self.parts:
            try:
                out.append(part if isinstance(part, str) else to_text(part.evaluate(variables)))
            except Undecided:
                decided = False
                out.append(part.source)  # type: ignore[union-attr] # a literal part is always decided
        return _joined(out) if decided else Symbol(_joined(out))

    def references(self) -> tuple[Reference, ...]:
        """Return the references of all expressions."""
        return tuple(r for part in self.parts if isinstance(part, CompiledExpression) for r in part.references())


def _counted(parts: Sequence[Template]) -> tuple[int, list[object]]:
    """Return how many parts are rendered, and the constant ones."""
    constant = [part.value for part in parts if isinstance(part, Static)]
    return len(parts) - len(constant), constant


class Listing(Template):
    """A list with templates in it."""

    __slots__ = ("items", "limited")

    def __init__(self, items: tuple[Template, ...]) -> None:
        self.items = items
        self.limited: Callable[[list[object]], list[object]] = limit(*_counted(items))

    def render(self, variables: Variables) -> list[object]:
        """Return a new list."""
        return self.limited([item.render(variables) for item in self.items])

    def render_partial(self, variables: Variables) -> list[object]:
        """Return a new list, partly rendered."""
        return self.limited([item.render_partial(variables) for item in self.items])

    def references(self) -> tuple[Reference, ...]:
        """Return the references of all items."""
        return tuple(r.below(n) for n, item in enumerate(self.items) for r in item.references())


class Mapped(Template):
    """A map with templates in its values; keys are never templates."""

    __slots__ = ("limited", "pairs")

    def __init__(self, pairs: tuple[tuple[str, Template], ...]) -> None:
        self.pairs = pairs
        self.limited: Callable[[dict[str, object]], dict[str, object]] = limit(*_counted([one for _, one in pairs]))

    def render(self, variables: Variables) -> dict[str, object]:
        """Return a new map."""
        return self.limited({key: value.render(variables) for key, value in self.pairs})

    def render_partial(self, variables: Variables) -> dict[str, object]:
        """Return a new map, partly rendered."""
        return self.limited({key: value.render_partial(variables) for key, value in self.pairs})

    def references(self) -> tuple[Reference, ...]:
        """Return the references of all values."""
        return tuple(r.below(key) for key, value in self.pairs for r in value.references())


class Condition:
    """A `when`, `condition` or `until`: a boolean, ``default``, or one expression."""

    __slots__ = ("always", "expression", "is_default")

    def __init__(
        self, *, always: bool | None = None, is_default: bool = False, expression: CompiledExpression | None = None
    ) -> None:
        self.always = always
        self.is_default = is_default
        self.expression = expression

    def test(self, variables: Variables) -> bool:
        """Return whether it is true; raise ``Undecided`` when that is known only in a real run."""
        if self.expression is None:
            return bool(self.always)
        return truth(self.expression.evaluate(variables))

    def references(self) -> tuple[Reference, ...]:
        """Return every variable it reads."""
        return self.expression.references() if self.expression else ()


def compile_value(raw: object) -> Template:
    """Compile a raw value; raise ``TemplateError`` when an expression in it is invalid."""
    if isinstance(raw, str):
        return _text(str(raw)) if "{" in raw else Static(raw)
    if isinstance(raw, dict):
        pairs = tuple((key, compile_value(value)) for key, value in raw.items())
        return Static(raw) if all(value.static for _, value in pairs) else Mapped(pairs)
    if isinstance(raw, (list, tuple)):
        items = tuple(compile_value(item) for item in raw)
        return Static(raw) if all(item.static for item in items) else Listing(items)
    return Static(raw)


def compile_condition(raw: object) -> Condition:
    """Compile a condition; raise ``TemplateError`` with the rule ``condition-not-expression`` when it is not one."""
    if isinstance(raw, bool):
        return Condition(always=raw)
    if raw == "default":
        return Condition(always=True, is_default=True)
    template = _text(raw.strip()) if isinstance(raw, str) else None
    if not isinstance(template, Single):
        raise TemplateError(
            "a condition must be true, false, default or exactly one {{ }} expression",
            hint=_condition_hint(raw),
            rule="condition-not-expression",
        )
    tree = template.expression.tree
    return Condition(always=truth(tree.value) if isinstance(tree, Const) else None, expression=template.expression)


@lru_cache(maxsize=_CACHED)
def _text(raw: str) -> Template:
    parts: list[str | CompiledExpression] = []
    static = True
    for part in split(raw):
        if isinstance(part, str):
            parts.append(part)
        else:
            parts.append(CompiledExpression(part))
            static = False
    if static:
        return Static(raw)
    first = parts[0]
    return Single(first) if len(parts) == 1 and not isinstance(first, str) else TextTemplate(tuple(parts))


@lru_cache(maxsize=_CACHED)
def _tree(text: str) -> Node:
    return parse_expression(text)


def _measured(run: Callable[[Variables], object]) -> Callable[[Variables], object]:
    def checked(variables: Variables) -> object:
        value = run(variables)
        # A list or map literal of the expression may contain the same data many times.
        if isinstance(value, (list, dict)):
            measure(value)
        return value

    return checked


def _joined(parts: Iterable[str]) -> str:
    out = []
    size = 0
    for part in parts:
        size += len(part)
        if size > MAX_RESULT:
            raise too_large()
        out.append(part)
    return "".join(out)


def _short(source: str) -> str:
    return source if len(source) <= 120 else source[:117] + "..."


def _condition_hint(raw: object) -> str:
    if isinstance(raw, str) and "{{" not in raw:
        word = raw.strip().lower()
        if word in _SPELLED:
            return f"write {_SPELLED[word]} without quotes"
        inner = _short(raw.strip().strip("${}").strip())
        from gert_core.template.quoting import yaml_text

        return "write it as " + yaml_text(f"{{{{ {inner} }}}}")
    return "put the whole condition into one {{ }}"


__all__ = [
    "Condition",
    "Listing",
    "Mapped",
    "Single",
    "Static",
    "Template",
    "TextTemplate",
    "compile_condition",
    "compile_value",
]
