"""Load the policy sources: packs, the project, ``--policy`` and the runbook; an invalid one stops the run."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct
from msgspec.structs import replace

from gert_core.api import ErrorKind, PluginError, ProjectError, Severity
from gert_core.governance.people import GROUP, NO_PEOPLE
from gert_core.governance.policies import policies_of
from gert_core.governance.rules import Rule
from gert_core.values import canonical, duration

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from gert_core.api import PolicyPack
    from gert_core.documents.project import Project
    from gert_core.documents.tree import Included, Runbook
    from gert_core.documents.yaml import Document
    from gert_core.governance.people import People
    from gert_core.governance.policies import Policies
    from gert_core.plugin.registry import Registry

_HINT: Final = "runs are refused while a policy is invalid; correct it or remove it"
_PACK_HINT: Final = "runs are refused while a policy is invalid; update or block the plugin that ships it"


_GOVERNANCE: Final = ("meta", "governance")
_PEOPLE: Final = frozenset({"people", "groups", "bridges", "personal_keys"})

FLOOR: Final = "floor"
"""The kind of the machine's own policies."""
PACK: Final = "pack"
"""The kind of the policies that plugins bring."""


class Source(Struct, frozen=True, kw_only=True):
    """One policy source: ``name`` is for traces, ``title`` for sentences, ``document`` for the digest.

    An ``answer`` is a pack that a plugin gives as data, which may depend on the time; the digest covers documents only.
    """

    name: str
    title: str
    kind: str
    rules: tuple[Rule, ...]
    document: Mapping[str, Any]
    approval_timeout: float | None = None
    require_signed: bool = False
    path: Path | None = None
    base: tuple[str, ...] = ()
    """Where in the file the policy is."""
    answer: bool = False
    included: bool = False
    """Whether it comes with a runbook that is included by another one."""

    @property
    def digest(self) -> str:
        """The digest of the document."""
        return f"sha256:{hashlib.sha256(canonical(self.document)).hexdigest()}"

    @classmethod
    def parse(
        cls,
        document: Mapping[str, Any],
        *,
        kind: str,
        name: str,
        title: str,
        path: Path | None = None,
        base: tuple[str, ...] = (),
        answer: bool = False,
    ) -> Source:
        """Compile a policy given as data; raise ``ProjectError`` with the source's title."""
        try:
            rules = tuple(Rule.parse(n, raw) for n, raw in enumerate(document.get("rules") or (), start=1))
            timeout = document.get("approval_timeout")
            seconds = timeout if timeout is None else _seconds(timeout)
        except (ValueError, TypeError, AttributeError) as error:
            raise ProjectError(
                f"{title} is invalid: {error}",
                kind=ErrorKind.POLICY,
                file=str(path) if path else None,
                hint=_HINT,
            ) from error
        signed = document.get("require_signed_approvals") or document.get("require_verified_approval")
        return cls(
            name=name,
            title=title,
            kind=kind,
            rules=rules,
            document=document,
            approval_timeout=seconds,
            require_signed=bool(signed),
            path=path,
            base=base,
            answer=answer,
        )


def load_governed(
    file: Path, *, registry: Registry, project: Project | None, files: Sequence[Path], so: str
) -> tuple[Runbook, Policies]:
    """Return a runbook and every policy that applies to it; ``so`` says what an invalid one keeps from being known."""
    from gert_core.documents.load import complete_runbook, load_runbook

    book = complete_runbook(load_runbook(file, registry=registry, project=project), so=so)
    return book, load_policies(registry=registry, project=project, files=files, runbook=book)


def load_policies(
    *,
    registry: Registry | None,
    project: Project | None,
    files: Sequence[Path],
    runbook: Runbook | None,
    floor: bool = True,
) -> Policies:
    """Load every source of this run; raise ``ProjectError`` or ``PluginError`` when one is invalid.

    Without a runbook these are the sources that apply to all of them. Without ``floor`` the machine's policies are left
    out, for replays, which are the same on every machine.
    """
    from gert_core.documents.floor import floor_policies

    machine = floor_policies() if floor else ()
    sources = [_file(path, kind=FLOOR, name=str(path)) for path in machine]
    plugins: tuple[str, ...] = ()
    if registry is not None:
        plugins = registry.policy_plugins()
        sources += _packs(registry, project)
    if project is not None:
        for entry in project.model.policies:
            sources.append(_file(project.root / entry, kind="project", name=str(entry)))
    sources += [_file(path, kind="file", name=_spelled(path)) for path in files]
    governance = runbook.model.meta.governance if runbook is not None else None
    if runbook is not None and governance is not None:
        sources.append(
            Source.parse(
                _as_written(governance),
                kind="runbook",
                name="runbook",
                title="the runbook's own governance",
                path=runbook.document.path,
                base=_GOVERNANCE,
            )
        )
    people = people_of(sources, registry)
    # Only a run has all sources: others (`--policy`, the machine's) may declare what these name.
    complete = floor and runbook is not None
    if complete:
        _check_groups(sources, people)
        check_demands(runbook, people)
    found = policies_of(sources, digest=_digest(sources), plugins=plugins, people=people)
    found.complete = complete
    return found


def included_sources(included: Included, project: Project | None) -> tuple[Source, ...]:
    """Load what an included runbook adds: the policies of its project, if that is not the run's, and its governance."""
    sources = []
    own = included.project
    if own is not None and own is not project and (project is None or own.root.resolve() != project.root.resolve()):
        for entry in own.model.policies:
            source = _file(own.root / entry, kind="project", name=f"{included.name}:{entry}")
            sources.append(replace(source, included=True))
    runbook = included.runbook
    if runbook.model.meta.governance is not None:
        sources.append(
            Source.parse(
                _as_written(runbook.model.meta.governance),
                kind="runbook",
                name=included.name,
                title=f"the governance of {included.name}",
                path=runbook.document.path,
                base=_GOVERNANCE,
            )
        )
    return tuple(sources)


def added_policies(policies: Policies, added: Sequence[Source], registry: Registry | None) -> Policies:
    """Return policies with further sources, which can only make decisions stricter."""
    if not added:
        return policies
    sources = (*policies.sources, *added)
    people = people_of(sources, registry)
    if policies.complete:
        _check_groups(sources, people)
    found = policies_of(sources, digest=_digest(sources), plugins=policies.plugins, people=people)
    found.complete = policies.complete
    if policies.scheduling is not None:
        found.scheduling = (*policies.scheduling, *added)
    return found


def people_of(sources: Sequence[Source], registry: Registry | None = None) -> People:
    """Combine the people of all sources; raise ``ProjectError`` when they contradict each other.

    With a registry every key must be one that its signature scheme can use.
    """
    declared = [(source.title, source.document) for source in sources if not _PEOPLE.isdisjoint(source.document)]
    if not declared:
        return NO_PEOPLE
    from gert_core.governance.authority import check_authority
    from gert_core.governance.people import PeopleError, check_keys, parse_people

    try:
        check_authority(sources)
        people = parse_people(declared)
        if registry is not None:
            check_keys(people, registry.signature_scheme)
    except PeopleError as error:
        from gert_core.governance.places import refusal

        raise refusal(f"the people of the policies are invalid: {error}", sources, error.where) from None
    return people


def _check_groups(sources: Sequence[Source], people: People) -> None:
    if any(name.startswith(GROUP) for source in sources for rule in source.rules for name in rule.approvers):
        from gert_core.governance.places import check_groups

        check_groups(sources, people)


def check_demands(runbook: Runbook | None, people: People) -> None:
    """Refuse a runbook with a step that demands the approval of a group that no policy declares."""
    if runbook is not None and any(step.type.gate is not None for step in runbook.by_id.values()):
        from gert_core.governance.places import check_gates

        check_gates(runbook, people)


def recorded_answers(recorded: object) -> list[Source]:
    """Return the packs that plugins gave as data when a run started, from the ``policies`` of its ``run_start``."""
    entries = [one for one in recorded if isinstance(one, dict)] if isinstance(recorded, list) else []
    return [
        Source.parse(one["answer"], kind="pack", name=str(one.get("name")), title=_title(one.get("name")), answer=True)
        for one in entries
        if isinstance(one.get("answer"), dict)
    ]


def _packs(registry: Registry, project: Project | None) -> list[Source]:
    sources = []
    for pack, plugin in registry.policies(project):
        name = f"{plugin.name}:{pack.name}" if pack.name != plugin.name else pack.name
        title = _title(name)
        if (pack.file is None) == (pack.document is None):
            raise PluginError(
                f"plugin {plugin.name!r} gives the policy pack {pack.name!r} with neither or both of "
                "`file` and `document`",
                hint=f"update {plugin.distribution}, or block it with `-p no:{plugin.name}`",
            )
        if pack.file is not None:
            sources.append(_file(pack.file, kind="pack", name=name, title=title))
        else:
            sources.append(Source.parse(_given(pack, name), kind="pack", name=name, title=title, answer=True))
    return sources


def _spelled(path: Path) -> str:
    """Return the path of a policy as it is shown: the same in a resumed run, which knows absolute paths only."""
    absolute, here = path.absolute(), path.cwd()
    return str(absolute.relative_to(here) if absolute.is_relative_to(here) else absolute)


def _title(name: object) -> str:
    return f"the policy pack {name!r}"


def _file(path: Path, *, kind: str, name: str, title: str | None = None) -> Source:
    from gert_core.documents.standalone import read_strictly

    title = title or f"the policy {name}"
    document = read_strictly(path, what="policy")
    return Source.parse(_validated(document, what="policy"), kind=kind, name=name, title=title, path=path)


def _given(pack: PolicyPack, name: str) -> dict[str, object]:
    """Validate a pack's document given as data like the one in a file; without `meta` the pack's name is used."""
    from gert_core.documents import yaml

    try:
        data = json.dumps({"meta": {"name": pack.name}, **(pack.document or {})}, allow_nan=False).encode()
    except (TypeError, ValueError) as error:
        raise ProjectError(f"{_title(name)} is invalid: {error}", kind=ErrorKind.POLICY, hint=_PACK_HINT) from error
    return _validated(yaml.loads(data, name=repr(name)), what="policy pack", hint=_PACK_HINT)


def _validated(document: Document, *, what: str, hint: str = _HINT) -> dict[str, object]:
    """Return a policy as it was written; raise ``ProjectError`` for everything that ``gert validate`` refuses."""
    from gert_core.documents.standalone import refuse
    from gert_core.validation.other import check_policy

    policy, found = check_policy(document)
    errors = [one for one in found if one.severity is Severity.ERROR]
    try:
        refuse(document, errors, what=what)
    except ProjectError as error:
        raise ProjectError(
            error.message,
            kind=ErrorKind.POLICY,
            file=error.file,
            line=error.line,
            column=error.column,
            hint=f"{error.hint}; {hint}" if error.hint else hint,
            diagnostics=errors,
        ) from None
    return _as_written(policy)


def _as_written(model: Any) -> dict[str, object]:
    """Return the document as it was written: field names of the YAML, without defaults."""
    return dict(model.model_dump(mode="json", by_alias=True, exclude_unset=True, exclude_none=True))


def _seconds(value: object) -> float:
    """Return the seconds of a duration that is a number (as the model gives it) or text."""
    return float(value) if isinstance(value, (int, float)) else duration(str(value))


def _digest(sources: Sequence[Source]) -> str:
    """Return the digest of all documents; it covers names of packs but no paths, so it is the same in any directory."""
    documents = [source for source in sources if not source.answer]
    facts = [{"kind": s.kind, "name": s.name if s.kind == "pack" else "", "document": s.document} for s in documents]
    return "sha256:" + hashlib.sha256(canonical(facts)).hexdigest()


__all__ = [
    "FLOOR",
    "Source",
    "added_policies",
    "check_demands",
    "included_sources",
    "load_governed",
    "load_policies",
    "people_of",
    "recorded_answers",
]
