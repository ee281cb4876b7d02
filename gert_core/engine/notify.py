"""Find who is to be told of a run, for ``run_start``: rules of its runbook, its project and further files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from gert_core.api import GertError
from gert_core.documents import yaml
from gert_core.documents.notify import rules_of
from gert_core.documents.project_file import FILE_NAME
from gert_core.secrets.environ import provider_variables

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gert_core.documents.notify import NotifyRule
    from gert_core.documents.tree import Runbook
    from gert_core.engine.request import Request


def recorded_rules(request: Request, runbook: Runbook) -> list[dict[str, Any]]:
    """Return the rules that a notifier takes, without what they say: where each stands, and a digest of it.

    A rule whose field no notifier takes has no effect, which validation warns about.
    """
    takers = {key: notifier for notifier in request.registry.notifiers().values() for key in notifier.keys}
    found: list[dict[str, Any]] = []
    for document, rule in _rules(request, runbook):
        notifier = takers.get(rule.key)
        if notifier is None:
            continue
        entry: dict[str, Any] = {
            "on": list(rule.on),
            "notifier": notifier.name,
            "source": f"{document}#{rule.place}",
            "sha256": rule.digest(notifier.options),
        }
        if rule.remind is not None:
            entry["remind"] = rule.remind
        found.append(entry)
    return found


def told_variables(request: Request) -> frozenset[str]:
    """Return the variables that files with rules name, those of a recorded run included: no tool gets them."""
    files = set(request.notify)
    if request.resume is not None:
        recorded = request.resume.run.state.facts.get("notify") or ()
        files |= {Path(str(rule["source"]).rpartition("#")[0]) for rule in recorded}
    found: set[str] = set()
    for file in files:
        try:
            found |= provider_variables(yaml.load(file).value)
        except GertError:  # a file that is gone tells nothing; the run does not depend on it
            continue
    return frozenset(found)


def _rules(request: Request, runbook: Runbook) -> Iterator[tuple[Path, NotifyRule]]:
    on_outcome = {"meta": {"on_outcome": runbook.model.meta.on_outcome}}
    for rule in rules_of(on_outcome):
        yield request.runbook.absolute(), rule
    project = request.project
    if project is not None and project.model.notify and project.document is not None:
        for rule in rules_of(project.document.value):
            yield (project.root / FILE_NAME).absolute(), rule
    for file in request.notify:
        from gert_core.documents.notify import NotifyFile
        from gert_core.documents.standalone import load_strictly, read_strictly

        document = read_strictly(file, what="file with notifications")
        load_strictly(file, NotifyFile, what="file with notifications", document=document)
        for rule in rules_of(document.value):
            yield file.absolute(), rule


__all__ = ["recorded_rules"]
