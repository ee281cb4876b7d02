"""Keep the artifacts of a step that succeeded: files copied into the run, and values, each in a ``run_summary``."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from gert_core.api import ErrorKind, EventType, RunError, StepStatus, StoreError
from gert_core.documents.parts import ArtifactFile
from gert_core.engine.again import SecretNeeded
from gert_core.engine.steps.exports import set_entry
from gert_core.engine.steps.keeping import shown_name
from gert_core.engine.steps.outputs import report_violations
from gert_core.engine.steps.summaries import LIMIT, apart, keep_checkpoint, recorded_types, summary_data, types_since
from gert_core.engine.view import View
from gert_core.kit.files import MIB, UnreadableError
from gert_core.kit.user_files import read_user_file
from gert_core.runs.attachments import ATTACHMENTS, keep
from gert_core.runs.lifecycle.summaries import ARTIFACT
from gert_core.template import TemplateError, compile_value, to_text
from gert_core.values import canonical

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gert_core.api.stores import StoredRun
    from gert_core.engine.resume.records import RecordedResult
    from gert_core.engine.steps.execution import StepExecution
    from gert_core.secrets import Masker
    from gert_core.template import Template

FILE_LIMIT: Final = 64 * MIB


class Artifact(Struct, frozen=True):
    """One artifact of a step: a file by its path, or a value."""

    key: str | None
    """``None``: the name of the file."""
    source: Template
    file: bool
    schema: object = None


class _Lost(Exception):  # noqa: N818 - a reason, not an error of gert
    """Why an artifact is not there."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


def compiled(given: Any) -> tuple[Artifact, ...]:
    """Return the artifacts of a step with their templates compiled."""
    if isinstance(given, list):
        return tuple(Artifact(None, compile_value(path), True) for path in given)
    return tuple(
        Artifact(key, compile_value(one.path), True)
        if isinstance(one, ArtifactFile)
        else Artifact(key, compile_value(one.value), False, one.schema_)
        for key, one in given.items()
    )


def keep_artifacts(execution: StepExecution, outputs: Mapping[str, object], fields: Mapping[str, object]) -> None:
    """Keep the checkpoint and every artifact, with the step's own outputs in view; a missing one is only a violation.

    Nothing is kept where nothing was done (dry-run, probe), and a replay has no files. On resume a step with blocks has
    what it kept before; a step that acts is only here if it acted again.
    """
    if not execution.services.backend.symbolic:
        _keep(execution, outputs, fields, recorded_types(execution))


def keep_of_stated(execution: StepExecution, record: RecordedResult) -> None:
    """Keep what a step has not kept that was interrupted and that a person stated to be done.

    What is missing then is told once: a later process does not look for it again.
    """
    recorded = execution.services.recorded
    if recorded is not None and recorded.event(execution.key, EventType.CONTRACT_VIOLATION, 0) is None:
        _keep(execution, record.outputs, record.fields, types_since(execution))
        execution.services.journal.commit()


def _keep(
    execution: StepExecution, outputs: Mapping[str, object], fields: Mapping[str, object], known: set[object]
) -> None:
    """Keep everything whose summary is not ``known``."""
    services, names = execution.services, set[str]()
    if execution.compiled.checkpoint is not None:
        keep_checkpoint(execution, execution.compiled.checkpoint, known)
    if execution.collected or not execution.compiled.artifacts:
        return
    if execution.item is not None:  # which the loop collects; the layer is the item's own
        set_entry(execution, StepStatus.SUCCESS, outputs, fields)
    view = View(execution.layer, outputs)
    lost: list[tuple[str, str, str]] = []
    for artifact in execution.compiled.artifacts:
        if artifact.file and not services.backend.acts:
            continue
        try:
            value, key = _rendered(artifact, view, services.masker)
            name = f"{ARTIFACT}{key}{apart(execution)}"
            if name in known:
                continue
            if key in names:
                told = f"artifact {key!r}: the step has kept another file of that name; give each a key"
                raise _Lost(ErrorKind.MISSING_ARTIFACT, told)
            names.add(key)
            data = summary_data(execution, name, _payload(execution, artifact, value, key))
        except _Lost as error:
            lost.append((error.kind, str(error), "warning"))
            continue
        execution.add(EventType.RUN_SUMMARY, data, fresh=True)
    report_violations(execution, lost)


def _rendered(artifact: Artifact, view: View, masker: Masker) -> tuple[object, str]:
    """Return the value, or the path of the file, and the key."""
    name = "an artifact" if artifact.key is None else f"artifact {artifact.key!r}"
    try:
        given = artifact.source.render(view)
        value = to_text(given) if artifact.file else given
    except TemplateError as error:
        raise _Lost(ErrorKind.MISSING_ARTIFACT, f"{name} cannot be rendered: {error.message}") from None
    except SecretNeeded as need:  # the step has acted, so that it is too late to have the secret made again
        told = f"{name} cannot be rendered: it needs secret {need.name}, which only an earlier process knew"
        raise _Lost(ErrorKind.MISSING_ARTIFACT, told) from None
    return value, shown_name(Path(to_text(value)), masker) if artifact.key is None else artifact.key


def _payload(execution: StepExecution, artifact: Artifact, value: object, key: str) -> dict[str, object]:
    name = f"artifact {key!r}"
    payload: dict[str, object] = {"value": _copy(execution, Path(to_text(value)), name) if artifact.file else value}
    if artifact.schema is not None:
        payload["schema"] = artifact.schema
    try:
        size = len(canonical(payload))
    except (TypeError, ValueError) as error:
        raise _Lost(ErrorKind.MISSING_ARTIFACT, f"{name} cannot be written as JSON: {error}") from None
    if size > LIMIT:
        raise _Lost(ErrorKind.ARTIFACT_TOO_LARGE, f"{name} has {size} bytes as JSON, more than {LIMIT}")
    return payload


def _copy(execution: StepExecution, path: Path, name: str) -> dict[str, object]:
    """Copy a file, masked, into the run; it is on disk before the trace tells of it."""
    stored = execution.facts.stored
    if stored is None:
        raise _Lost(ErrorKind.MISSING_ARTIFACT, f"{name}: this run has no directory for files")
    try:
        data = read_user_file(path, limit=FILE_LIMIT, follow=False)
        if data is None:
            raise _Lost(ErrorKind.MISSING_ARTIFACT, f"{name}: {path} does not exist")
        masker = execution.services.masker
        content = _masked(data, masker)
        # An interrupted attempt may have copied it.
        kept = keep(
            stored,
            ATTACHMENTS,
            shown_name(path, masker),
            lambda: (content,),
            is_same=lambda blob: _has(stored, blob, content),
        )
    except StoreError as error:
        raise _Lost(ErrorKind.MISSING_ARTIFACT, f"{name}: {path} cannot be copied: {error.strerror}") from None
    except RunError as error:  # the file is not one to keep, or the run's directory has something else in its place
        raise _Lost(ErrorKind.MISSING_ARTIFACT, f"{name}: {error.message}") from None
    except OSError as error:
        raise _Lost(ErrorKind.MISSING_ARTIFACT, f"{name}: {path} cannot be copied: {error.strerror}") from None
    return {"file": f"{ATTACHMENTS}/{kept}", "size": len(content), "sha256": sha256(content).hexdigest()}


def _masked(data: bytes, masker: Masker) -> bytes:
    """Return the content of a file without secrets; whatever is not text stays as it is."""
    if not masker.count:
        return data
    return masker.mask_text(data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")


def _has(stored: StoredRun, name: str, data: bytes) -> bool:
    """Return whether a blob of the run has this content."""
    try:
        return stored.get(name, limit=FILE_LIMIT) == data
    except UnreadableError:
        return False


__all__ = ["FILE_LIMIT", "Artifact", "compiled", "keep_artifacts", "keep_of_stated"]
