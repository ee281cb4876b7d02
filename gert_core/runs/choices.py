"""What was chosen when a run began and holds when it is resumed; ``run_start`` records it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from gert_core.api.error_kinds import ErrorKind
from gert_core.api.errors import RunError
from gert_core.secrets import MARK, Masker

if TYPE_CHECKING:
    from collections.abc import Mapping


class RunChoices(Struct, frozen=True, kw_only=True):
    """The documents and settings of a run; paths are absolute, ``None`` in a replay, which is the same everywhere."""

    mode: str
    runbook_path: str | None = None
    project_file: str | None = None
    floor_files: tuple[str, ...] = ()
    """The files of the machine floor; those of today apply when the run is resumed."""
    policy_files: tuple[str, ...] = ()
    """The files given with ``--policy``; other sources are found again from the runbook and the plugins."""
    approval_provider: str | None = None
    questions: str | None = None
    """What becomes of questions, where that was chosen."""
    trace_sync: str = "group"
    fail_on: tuple[str, ...] = ()
    """The categories of outcomes with which a command that completes the run exits as with a failure."""
    signer: Mapping[str, str] | None = None
    """Algorithm and key id of the key that signs the trace; ``None`` when it is unsigned."""
    cwd: str | None = None
    run_directory: str | None = None
    store: str | None = None
    """The address of the store of the run, without a password; ``None`` for a directory."""

    def to_json(self) -> dict[str, object]:
        """Return the fields of ``run_start``."""
        return {
            "mode": self.mode,
            "runbook_path": self.runbook_path,
            "project_file": self.project_file,
            "floor_files": list(self.floor_files),
            "policy_files": list(self.policy_files),
            "approval_provider": self.approval_provider,
            **({"questions": self.questions} if self.questions is not None else {}),
            "trace_sync": self.trace_sync,
            **({"fail_on": list(self.fail_on)} if self.fail_on else {}),
            "signer": None if self.signer is None else dict(self.signer),
            "cwd": self.cwd,
            "run_directory": self.run_directory,
            **({"store": self.store} if self.store is not None else {}),
        }

    def to_meta(self) -> dict[str, Any]:
        """Return the fields of ``meta.json``, where versions before this record looked for them."""
        meta = {
            "mode": self.mode,
            "policies": list(self.policy_files),
            "approval": self.approval_provider,
            "trace_sync": self.trace_sync,
            "cwd": self.cwd,
        }
        return {**meta, "signed": self.signer["key_id"]} if self.signer is not None else meta

    @property
    def runbook(self) -> Path:
        """Return the path of the runbook of a run that can be resumed."""
        return Path(self.runbook_path or "")


def recorded_choices(facts: Mapping[str, Any], meta: Mapping[str, Any], *, where: str) -> RunChoices:
    """Return the choices that ``run_start`` recorded; those of an early 0.1 run are in ``meta.json``."""
    known = facts if "runbook_path" in facts and not _masked(facts) else {**_from_meta(meta), **_settings(facts)}
    path = known.get("runbook_path")
    if not isinstance(path, str):
        raise RunError(
            f"{where} is missing or empty; cannot determine the runbook to resume",
            kind=ErrorKind.NOT_RESUMABLE,
            hint="restore the file, or start a new run",
        )
    unmask = Masker({}).unmask  # a path that looks like a mask was escaped
    signer = known.get("signer")
    provider, questions = known.get("approval_provider"), facts.get("questions")
    return RunChoices(
        mode=str(facts.get("mode")),
        runbook_path=unmask(path),
        policy_files=tuple(str(unmask(file)) for file in known.get("policy_files") or ()),
        approval_provider=provider if isinstance(provider, str) else None,
        questions=questions if isinstance(questions, str) else None,
        trace_sync=str(known.get("trace_sync") or "group"),
        signer=signer if isinstance(signer, dict) else None,
        cwd=unmask(known.get("cwd")),
        run_directory=known.get("run_directory"),
        store=known.get("store"),
    )


def _masked(facts: Mapping[str, Any]) -> bool:
    """Return whether a secret stood in a path, which can be put back only when the runbook is known."""
    paths = [facts.get("runbook_path"), facts.get("cwd"), *(facts.get("policy_files") or ())]
    return any(MARK in text.replace(f"{MARK}:", "") for text in paths if isinstance(text, str))


def _settings(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Return what ``run_start`` recorded besides paths; never masked, so ``meta.json`` has no say in it."""
    return {name: facts[name] for name in ("signer", "approval_provider", "trace_sync") if name in facts}


def _from_meta(meta: Mapping[str, object]) -> dict[str, Any]:
    signed = meta.get("signed")
    return {
        "runbook_path": meta.get("runbook_path"),
        "policy_files": meta.get("policies"),
        "approval_provider": meta.get("approval"),
        "trace_sync": meta.get("trace_sync"),
        "signer": {"key_id": str(signed)} if signed else None,
        "cwd": meta.get("cwd"),
    }


__all__ = ["RunChoices", "recorded_choices"]
