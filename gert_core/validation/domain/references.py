"""Check the references of templates: every variable must be defined on some path before it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from gert_core.api import Severity
from gert_core.template import TemplateError, compile_condition, compile_value
from gert_core.validation.domain.bare_words import bare_word_hint
from gert_core.validation.domain.compared import check_compared, compared_words
from gert_core.validation.domain.concurrent import within_disorder
from gert_core.validation.domain.doubts import Doubts
from gert_core.validation.domain.environment import SCOPE
from gert_core.validation.domain.expressions import offset_of
from gert_core.validation.domain.looped import OF_LOOPS, outputs_on
from gert_core.validation.domain.names import check_input_shadowed
from gert_core.validation.domain.patterns import pattern_errors
from gert_core.validation.domain.positions import ancestors, may_precede
from gert_core.validation.domain.scalars import calls_of, scalar_uses
from gert_core.validation.domain.shapes import MissingMember, Shape, declared_shape, follow
from gert_core.validation.domain.unresolved import UnresolvedReferences

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from gert_core.documents.tree import Path, StepNode
    from gert_core.template import Reference
    from gert_core.validation.domain.compared import ComparedWord
    from gert_core.validation.domain.context import Context
    from gert_core.validation.domain.environment import Entry, Environment
    from gert_core.validation.domain.expressions import TemplateText
    from gert_core.validation.domain.facts import FactTable
    from gert_core.validation.domain.scalars import ScalarUse
    from gert_core.validation.domain.tested import Excluded

RETRY: Final = "retry_count"
ATTEMPTS: Final = "attempts"
_OF_LOOPS: Final = dict.fromkeys(OF_LOOPS, declared_shape("list"))
_OWN: Final = {
    "status": declared_shape("string"),
    RETRY: declared_shape("int"),
    ATTEMPTS: declared_shape("int"),
    **_OF_LOOPS,
}
OF_STEPS: Final = tuple(_OWN)
"""What the core knows of every step, beside its outputs."""
_RUN: Final = Shape(
    "object", fields={name: declared_shape("string") for name in ("id", "actor", "mode", "runbook", "started")}
)
_CLOSING: Final = Shape("object", fields={**(_RUN.fields or {}), "status": declared_shape("string")})


class CheckedTemplate:
    """A template text, compiled once: its references, or its error."""

    __slots__ = ("compared", "error", "patterns", "references", "scalars", "template", "tests")

    def __init__(self, text: object, *, condition: bool) -> None:
        self.template: Any = None
        self.references: Sequence[Reference] = ()
        self.scalars: Sequence[ScalarUse] = ()
        self.compared: Sequence[ComparedWord] = ()
        self.patterns: Sequence[TemplateError] = ()
        self.error: TemplateError | None = None
        self.tests: tuple[Excluded, Excluded] | None = None
        """What it excludes as a condition, where it is true and where it is false; found when it is first asked for."""
        try:
            self.template = compile_condition(text) if condition else compile_value(text)
            self.references = self.template.references()
            if calls := calls_of(self.template):
                self.scalars = scalar_uses(calls)
                self.compared = compared_words(text, calls)
                self.patterns = pattern_errors(calls)
        except TemplateError as error:
            self.error = error


class References:
    """The check of a runbook's templates, step by step, against the environment at that point."""

    __slots__ = (
        "_around",
        "_inputs",
        "_inside",
        "_step",
        "closing",
        "ctx",
        "doubts",
        "env",
        "facts",
        "item",
        "jumps",
        "members",
        "note",
        "unresolved",
    )

    def __init__(self, ctx: Context, env: Environment, facts: FactTable) -> None:
        self.ctx = ctx
        self.env = env
        self.facts = facts
        self.unresolved = UnresolvedReferences(ctx, env, facts)
        self.note: Callable[[StepNode | None, TemplateText, Sequence[Reference]], None] | None = None
        """Is told what each text of a step, or of the constants, reads, if somebody wants to know."""
        self.jumps = ctx.flow.jumps
        self.members: dict[str, Mapping[str, Entry]] = {}
        """Of loops over blocks, by id: what is readable of one item."""
        self._inputs = set(ctx.runbook.model.meta.inputs)
        """The inputs that no output was seen to hide."""
        self.closing = False
        """Whether the cleanup of the run is checked, where the run has a status."""
        self.item: str | None = None
        """The step of the loop whose ``until`` is checked: what is read by its id is one item."""
        self._step: StepNode | None = None
        self._inside: Sequence[Path] = ()
        self._around: dict[Path, int] | None = None
        self.doubts = Doubts(self)

    def compiled(self, text: object, *, condition: bool = False) -> CheckedTemplate:
        """Return the compiled form of a text, from the cache."""
        key = (condition, text)
        found: CheckedTemplate | None = self.ctx.texts.get(key)
        if found is None:
            found = self.ctx.texts[key] = CheckedTemplate(text, condition=condition)
        return found

    def enter(self, step: StepNode | None, *, inside: Sequence[Path] = ()) -> None:
        """Make ``step`` the one whose templates are checked next; they see the rounds of the loops ``inside`` it."""
        self._step = step
        self._inside = inside
        self._around = None

    def check(self, texts: Sequence[TemplateText]) -> None:
        """Check texts of the current step."""
        names, hidden = self.env.names, self.env.hidden
        for text in texts:
            if type(text.value) is bool:
                continue
            compiled = self.compiled(text.value, condition=text.condition)
            if compiled.error is not None:
                self._syntax(text, compiled.error)
                continue
            if self.note is not None:
                self.note(self._step, text, compiled.references)
            for reference in compiled.references:
                path = reference.path
                entry = names.get(path[0])
                if hidden and path[0] in hidden:
                    self._hidden(text, reference)
                if path[0] in self._inputs and entry is not None and entry.origin is not None:
                    self._replaced(text, path[0], entry)
                if (
                    entry is not None
                    and entry.holds
                    and not self.jumps
                    and (not self.members or path[0] not in self.members)
                    and type(found := follow(entry.shape, path, 1)) is Shape
                    and not found.lacks
                    and not found.optional
                ):
                    continue
                self._check_reference(text, reference)
            if compiled.scalars:
                self._scalars(text, compiled.scalars)
            if compiled.compared:
                check_compared(self, text, compiled.compared)
            for wrong in compiled.patterns:
                self._syntax(text, wrong)

    def find(self, path: Sequence[str]) -> Shape | MissingMember | None:
        """Return the shape at a path, the missing member, or None when the variable itself is not defined."""
        names = self.env.names
        head = path[0]
        if head == SCOPE and head not in names:
            return self._scope(path)
        if head == "run" and head not in names:
            return follow(_CLOSING if self.closing else _RUN, path, 1)
        start = 1
        if head == "step" and head not in names and len(path) > 1:
            head, start = path[1], 2
            if head not in self.ctx.runbook.by_id:
                return None
            if (own := self._own(head, path[2:], loops=True)) is not None:
                return own
            if len(path) == 3 and head in names and (kind := self._field(head, path[2])) is not None:
                return kind
        entry = names.get(head)
        found: Shape | MissingMember | None = None
        if entry is not None and self._reached(entry):
            found = follow(entry.shape, path, start)
            if type(found) is Shape:
                return found
        return self._own(head, path[start:]) or found

    def kind(self, path: tuple[str, ...]) -> str | None:
        """Return the type of the value at a path, None when it is unknown."""
        found = self.find(path)
        return found.kind if isinstance(found, Shape) else None

    def _reached(self, entry: Any) -> bool:
        if not self.jumps or entry.origin is None or self._step is None:
            return True
        return may_precede(self.ctx.flow, entry.steps(), self.around())

    def around(self) -> dict[Path, int]:
        """Return the lists around the current step."""
        if self._around is None:
            self._around = ancestors(self._step) if self._step is not None else {}
        return self._around

    def _scope(self, path: Sequence[str]) -> Shape | MissingMember | None:
        segments = [part for segment in path[1:] for part in segment.split("/")]
        found = self.env.scope(segments)
        if found is None or not self._reached(found[0]):
            return None
        return follow(found[0].shape, segments, found[1])

    def _own(self, name: str, rest: Sequence[str], *, loops: bool = False) -> Shape | None:
        """Return the shape of something about a step itself: its status and retry count, and ``loops``' own lists."""
        if len(rest) != 1 or rest[0] not in _OWN:
            return None
        step = self.ctx.runbook.by_id.get(name)
        if step is None or step.within is None or self._step is None:
            return None
        if rest[0] == RETRY:
            return _OWN[RETRY] if step.fields.for_each is None and self._entered(step) else None
        if rest[0] == ATTEMPTS and step.fields.for_each is not None:
            return None
        if rest[0] in _OF_LOOPS and not (loops and step.fields.for_each is not None):
            return None
        # A step has a status from the start, but one inside a loop is readable only inside that loop.
        return _OWN[rest[0]] if set(step.loops_around()) <= {*self._step.loops_around(), *self._inside} else None

    def _field(self, name: str, field: str) -> Shape | None:
        """Return the shape of a field of a step's type, which an output of the same name does not hide here."""
        step = self.ctx.runbook.by_id[name]
        kind = None if step.fields.for_each is not None else step.type.fields.get(field)
        return None if kind is None else declared_shape(kind)

    def _entered(self, step: StepNode) -> bool:
        """Return whether the list that a step is in may have been entered."""
        assert step.within is not None  # noqa: S101 - asked by the caller
        return step.within.path in self.around() or step.within.steps[0].id in self.env.names

    def _check_reference(self, text: TemplateText, reference: Reference) -> None:
        if reference.guarded:
            return
        path = reference.path
        found = self.find(path)
        if found is None and self.jumps:
            found = self.unresolved.after_jump(
                path, self.around(), lambda step: self.doubts.succeeded(step, text, path=path)
            )
        if isinstance(found, Shape):
            if self._step is not None:
                self._doubt(self._step, text, reference, found)
            return
        explanation = self.unresolved.explain(reference.path, found, self._step, self.around())
        if explanation is None:
            return
        rule, message, hint = explanation
        self.ctx.add(
            rule,
            message,
            path=text.path,
            hint=hint,
            offset=offset_of(text.value, path=reference.path, offset=reference.offset),
        )

    def _doubt(self, step: StepNode, text: TemplateText, reference: Reference, found: Shape) -> None:
        """Warn if what a reference of the step leads to may be missing."""
        path = reference.path
        if within_disorder(step):
            return
        entries = outputs_on(path, self.env, self.ctx.runbook.by_id, self.members, item=self.item)
        if entries and self.doubts.check(entries, step, text, reference=reference, kind=found.kind):
            return
        if found.optional:
            self.doubts.check_optional(text, reference=reference, kind=found.kind)
        elif found.lacks and (known := self.env.names.get(path[1] if path[0] == "step" else path[0])) is not None:
            self.doubts.check_outcome(known, text, reference=reference, shape=found)

    def _hidden(self, text: TemplateText, reference: Reference) -> None:
        """Warn about a name that is read after a loop, where a step inside the loop sets it without exporting it."""
        name, setter = reference.path[0], self.env.hidden[reference.path[0]]
        outer = self.env.names.get(name)
        if outer is None or any(setter.path == step.path for step in outer.steps()):
            return
        replaceable = any(True for _ in outer.steps())
        self.ctx.add(
            "shadowed-by-loop",
            f"`.{name}` is the value from before the loop: `{setter.id}` inside it sets `{name}` for its round only",
            path=text.path,
            severity=Severity.WARNING,
            hint=f"add `export: [{name}]` to `{setter.id}`" if replaceable else f"rename the output of `{setter.id}`",
            offset=offset_of(text.value, path=reference.path, offset=reference.offset),
        )

    def _replaced(self, text: TemplateText, name: str, entry: Entry) -> None:
        """Warn about the step whose output is read in place of an input; once for each input."""
        setter = next((step for step in entry.steps() if step is not self._step), None)
        if setter is not None and name != setter.id and name not in setter.fields.exports:
            self._inputs.discard(name)
            check_input_shadowed(self.ctx, setter, name, read=text.path)

    def _scalars(self, text: TemplateText, uses: Sequence[ScalarUse]) -> None:
        """Report lists and maps where a single value is needed."""
        for use in uses:
            found = self.find(use.path)
            if isinstance(found, Shape) and found.kind in ("list", "object"):
                shown = "." + ".".join(use.path)
                hint = f"take one item of it: `index {shown} 0`"
                if found.kind == "object":
                    hint = f"take one member of it: `{shown}.{next(iter(found.fields or ()), 'name')}`"
                self.ctx.add(
                    "unresolved-variable",
                    f"`{shown}` is of type {found.kind}, and `{use.function}` needs a single value",
                    path=text.path,
                    offset=offset_of(text.value, path=use.path, offset=use.offset),
                    hint=hint,
                )

    def _syntax(self, text: TemplateText, error: TemplateError) -> None:
        rule = getattr(error, "rule", None) or "template-syntax"
        hint = bare_word_hint(text.value, self.env) if rule == "condition-not-expression" else None
        self.ctx.add(rule, error.message, path=text.path, hint=hint or error.hint, offset=error.offset)


__all__ = ["OF_STEPS", "CheckedTemplate", "References"]
