"""Read lists of steps into a tree: common fields by one model, the rest by the model of the step's type."""

from __future__ import annotations

import re
from collections import Counter
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace
from pydantic import ValidationError

from gert_core.api.diagnostics import Diagnostic, Severity
from gert_core.api.errors import PluginError
from gert_core.api.steps import Flow
from gert_core.documents.model_errors import MAX_ERRORS, diagnose, model_errors, path_text, renamed, to_diagnostics
from gert_core.documents.model_hints import suggest_field
from gert_core.documents.places import has_field, places_of
from gert_core.documents.runbook import StepFields
from gert_core.documents.tree import BlockNode, StepNode
from gert_core.plugin.lazy import load_target

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Mapping

    from gert_core.api import Block, StepType
    from gert_core.documents.model_errors import ModelError
    from gert_core.documents.tree import Path
    from gert_core.documents.type_functions import TypeFunctions
    from gert_core.documents.yaml import Document
    from gert_core.kit.models import StepModel

_COMMON: Final = frozenset(field.alias or name for name, field in StepFields.model_fields.items())
_TYPE_NAME: Final = r"[a-z][a-z0-9_-]*"
_AS_THEY_ARE: Final[Mapping[str, str]] = MappingProxyType({})


class _ImportedType:
    """A step type with its lazy parts imported, once per document."""

    __slots__ = ("fields", "model", "type", "validate")

    def __init__(self, step_type: StepType) -> None:
        self.type = step_type
        self.model: type[StepModel] = load_target(step_type.model)
        self.validate: Callable[[object], StepModel] = self.model.model_validate
        self.fields = frozenset(field.alias or name for name, field in self.model.model_fields.items())


class StepReader:
    """Builder of the tree of one document, with the findings collected on the way.

    A step whose only error is an unknown field is still built; other invalid steps are left out and make the tree
    incomplete.
    """

    def __init__(
        self,
        document: Document,
        types: Mapping[str, StepType],
        *,
        functions: TypeFunctions,
        origin: Callable[[str], str] | None = None,
    ) -> None:
        self.document = document
        self._functions = functions
        self.diagnostics: list[Diagnostic] = []
        self.by_id: dict[str, StepNode] = {}
        self.complete = True
        self.includes: list[StepNode] = []
        """The steps of types that include other runbooks."""
        self._types = types
        self._origin = origin
        self._imported_types: dict[str, _ImportedType] = {}
        self._claims = [(t.name, t.claims.split(".")) for t in types.values() if t.claims]
        self._claiming = frozenset(field[0] for _, field in self._claims)
        self._unnamed: Counter[str] = Counter()
        self._scope: str | None = None
        """The scope that steps around the one that is read share with it."""

    def read(
        self, raw: list[object], path: Path, *, block: Block | None = None, owner: StepNode | None = None
    ) -> BlockNode:
        """Read one list of steps, with everything below it."""
        steps: list[StepNode] = []
        node = BlockNode(block=block, steps=steps, path=path, owner=owner)
        for index, item in enumerate(raw):
            step = self._step(item, (*path, index)) if len(self.diagnostics) < MAX_ERRORS * 10 else None
            if step is None:
                self.complete = False
                continue
            step.within = node
            step.index = len(steps)
            steps.append(step)
        return node

    def _step(self, raw: object, path: Path) -> StepNode | None:
        if not isinstance(raw, dict):
            self._report(
                path,
                "wrong-type",
                "a step is a map of fields, with at least `type`",
                phase=1,
                hint="put a space after the colon: `type: ...`" if isinstance(raw, str) and ":" in raw else None,
            )
            return None
        common: dict[str, object] = {key: value for key, value in raw.items() if key in _COMMON}
        own: dict[str, object] = {key: value for key, value in raw.items() if key not in common}
        kind = self._kind(common.get("type"), path)
        if kind is not None and kind.type.owns:
            own.update({key: common.pop(key) for key in kind.type.owns if key in common})
        may_be_claimed = kind is not None and not self._claiming.isdisjoint(raw)
        claimant = self._claimant(raw, path) if may_be_claimed else None
        claimed = kind is not None and claimant is not None and claimant != kind.type.name
        if claimed and claimant is not None:
            kind = self._imported(claimant)
            own = self._claim(kind, own, path)
        fields = self._fields(common, own, path, kind)
        body = self._body(kind, own, path, raw) if kind is not None else None
        if fields is None or body is None or kind is None:
            return None
        if self._scope is not None and fields.scope is None and kind.type.flow is Flow.LEAF:
            fields = fields.model_copy(update={"scope": self._scope})
        name = fields.id
        step = StepNode(
            id=name or self._number(kind.type.name),
            named=name is not None,
            type=kind.type,
            fields=fields,
            body=body,
            raw=raw,  # type: ignore[arg-type]
            path=path,
            claimed=claimed,
        )
        self._register(step)
        if kind.type.requires_contract and fields.contract is None:
            self._report(
                path,
                "extension-contract",
                f"a step of type `{kind.type.name}` must declare its `contract`",
                hint="declare at least which `effects` it has and what it `writes`",
            )
        if kind.type.blocks is not None:
            self._blocks(step)
        if kind.type.includes is not None:
            self.includes.append(step)
        return step

    def _kind(self, name: object, path: Path) -> _ImportedType | None:
        if not isinstance(name, str):
            return None  # missing or of a wrong type: reported by the model of the common fields
        if name in self._types:
            return self._imported(name)
        from gert_core.documents.foreign import foreign_type  # only mistakes need it

        owners = self._owners(name)
        foreign = foreign_type(name, self._types.values(), common=_COMMON, owners=owners)
        near = self._suggest(name, self._types)
        install = self._origin(name) if self._origin is not None and re.fullmatch(_TYPE_NAME, name) else None
        self._report(
            (*path, "type"),
            "unknown-step-type",
            f"there is no step type {name!r}; installed are {', '.join(sorted(self._types)) or 'none'}",
            phase=1,
            hint=foreign or (f"{near} {install[0].upper()}{install[1:]}" if near and install else near or install),
        )
        return None

    def _imported(self, name: str) -> _ImportedType:
        found = self._imported_types.get(name)
        if found is None:
            try:
                found = self._imported_types[name] = _ImportedType(self._types[name])
            except PluginError as exc:
                hint = f"`gert plugins why step:{name}` names its plugin: reinstall that, or block it with -p"
                raise PluginError(f"step type {name!r} cannot be used: {exc.message}", hint=hint) from exc
        return found

    def _fields_of(self, name: str) -> frozenset[str]:
        try:
            return self._imported(name).fields
        except PluginError:
            return frozenset()  # only needed for a better message; using the type reports the error

    def _claimant(self, raw: dict[str, object], path: Path) -> str | None:
        """Return the step type that a field of the step belongs to whatever its ``type``; two of them are an error."""
        found = [(name, field) for name, field in self._claims if has_field(raw, field)]
        if len(found) > 1:
            fields = " and ".join(f"`{'.'.join(field)}`" for _, field in found)
            self._report(
                path,
                "unknown-field",
                f"{fields} make this step one of several types: {', '.join(name for name, _ in found)}",
                phase=1,
                hint="keep one of these fields",
            )
        return found[0][0] if found else None

    def _claim(self, kind: _ImportedType, own: dict[str, object], path: Path) -> dict[str, object]:
        """Return the fields of a step that another type takes over; other fields have no effect and are reported."""
        unused = ", ".join(f"`{key}`" for key in own if key not in kind.fields)
        ignored = f"; without effect: {unused}" if unused else ""
        self._report(
            (*path, "type"),
            "not-acted-on",
            f"this step is a `{kind.type.name}` by its fields, whatever its `type`{ignored}",
            severity=Severity.WARNING,
            hint=f"write `type: {kind.type.name}`",
        )
        return {key: value for key, value in own.items() if key in kind.fields}

    def _fields(
        self, common: dict[str, object], own: Mapping[str, object], path: Path, kind: _ImportedType | None
    ) -> StepFields | None:
        try:
            return StepFields.model_validate(common)
        except ValidationError as error:
            found = model_errors(error, common)
        type_path = path_text((*path, "type"))
        theirs = kind.fields if kind is not None else ()
        for diagnostic in to_diagnostics(self.document, found, base=path, model=StepFields, extra_fields=theirs):
            untyped = diagnostic.rule == "missing-field" and diagnostic.path == type_path
            guess = untyped and not (diagnostic.hint or "").startswith("rename")
            self.diagnostics.append(replace(diagnostic, hint=self._guess(own)) if guess else diagnostic)
        return None

    def _guess(self, own: Mapping[str, object]) -> str | None:
        """Return which type a step without one has by its own fields."""
        from gert_core.documents.foreign import guessed_type  # only mistakes need it

        if len(self.diagnostics) >= MAX_ERRORS:
            return None  # importing is slow, and a document with this many errors gains nothing from it
        return guessed_type(own, {name: self._fields_of(name) | set(t.also_called) for name, t in self._types.items()})

    def _body(
        self,
        kind: _ImportedType,
        own: dict[str, object],
        path: Path,
        raw: Mapping[str, object],
        written: Mapping[str, str] = _AS_THEY_ARE,
    ) -> StepModel | None:
        """Return the step's own fields; ``written`` are those that the document calls otherwise."""
        try:
            model: StepModel = self._functions.validate(kind.type, kind.validate, own, path)
            return model
        except ValidationError as error:
            found = model_errors(error, own)
        unknown = [item for item in found if _is_unknown(item)]
        rest = [item for item in found if not _is_unknown(item)]
        told = [self._unknown_field(kind, item, path, raw) for item in unknown[:MAX_ERRORS]]
        self.diagnostics += told
        names = [renamed(one) for one in told]
        right = {
            str(item.path[0]): name if name in kind.fields else None for item, name in zip(unknown, names, strict=False)
        }
        rest = [item for item in rest if item.type != "missing" or item.path[0] not in right.values()]
        self.diagnostics += to_diagnostics(
            self.document,
            rest,
            base=path,
            model=kind.model,
            extra_fields=_COMMON,
            also_called=kind.type.also_called,
            written=written,
        )
        if rest or len(unknown) > MAX_ERRORS:
            return None
        # Checks of the whole model only run once the unknown fields are gone, or are called what they are meant to be.
        meant = {right.get(key, key): value for key, value in own.items()}
        called = dict(written) | {name: key for key, name in right.items() if name is not None}
        return self._body(kind, {key: value for key, value in meant.items() if key is not None}, path, raw, called)

    def _unknown_field(
        self, kind: _ImportedType, item: ModelError, path: Path, raw: Mapping[str, object]
    ) -> Diagnostic:
        from gert_core.documents.foreign import elsewhere, foreign_field, in_map  # only mistakes need it

        name = str(item.path[0])
        message = f"`{name}` is not a field of a step of type `{kind.type.name}`"
        owners = self._owners(name)
        hint = foreign_field(name, raw, kind.type, self._types.values(), fields=kind.fields, owners=owners)
        hint = hint or self._suggest(name, kind.fields | _COMMON, written=raw)
        if owners and not kind.type.also_called.get(name):
            message += f"; it belongs to {' and '.join(f'`{owner}`' for owner in owners)}"
            fields = {owner: self._fields_of(owner) for owner in owners}
            maps = (in_map(name, raw[name], self._types[owner].also_called) for owner in owners)
            hint = hint or elsewhere(name, kind.fields, fields, written=next(filter(None, maps), name))
        elif hint is None:
            hint = "known fields: " + ", ".join(sorted(kind.fields | _COMMON))
        return diagnose(
            self.document, (*path, name), rule="unknown-field", message=message, phase=1, hint=hint, key=True
        )

    def _owners(self, name: str) -> list[str]:
        """Return the types that have a field of this name."""
        return [other for other in sorted(self._types) if name in self._fields_of(other)]

    def _suggest(self, name: str, known: Iterable[str], *, written: Container[str] = ()) -> str | None:
        # Comparing names is slow, and a document with this many errors gains nothing from it.
        return suggest_field(name, known, written=written) if len(self.diagnostics) < MAX_ERRORS else None

    def _number(self, type_name: str) -> str:
        self._unnamed[type_name] += 1
        return f"_{type_name}_{self._unnamed[type_name]}"

    def _register(self, step: StepNode) -> None:
        other = self.by_id.setdefault(step.id, step)
        if other is step:
            return
        line, _ = self.document.locate((*other.path, "id"))
        self._report(
            (*step.path, "id") if step.named else step.path,
            "duplicate-step-id",
            f"the id `{step.id}` is already taken by the step in line {line}",
            hint="give one of them another id",
        )

    def _blocks(self, step: StepNode) -> None:
        found = self._functions.blocks(step)
        around = self._scope
        if step.type.shares_scope:
            self._scope = step.fields.scope or around
        for block, below in zip(found, places_of(step.raw, found), strict=True):
            step.blocks.append(self.read(list(block.steps), step.path + below, block=block, owner=step))
        self._scope = around

    def _report(
        self,
        path: Path,
        rule: str,
        message: str,
        *,
        phase: int = 2,
        severity: Severity = Severity.ERROR,
        hint: str | None = None,
    ) -> None:
        self.diagnostics.append(
            diagnose(self.document, path, rule=rule, message=message, phase=phase, severity=severity, hint=hint)
        )


def _is_unknown(item: ModelError) -> bool:
    return item.type == "extra_forbidden" and len(item.path) == 1


__all__ = ["StepReader"]
