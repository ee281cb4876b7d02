"""The types that readers of a trace rely on in ``run_start``, which has more fields than all others."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta, Struct

_Map = dict[str, Any]


class _Policy(Struct):
    name: str | None = None
    kind: str | None = None
    digest: str | None = None
    answer: Any = None


class _Notify(Struct):
    on: list[str]
    notifier: str
    source: str
    sha256: str
    remind: Annotated[float, Meta(gt=0)] | None = None


class RunStart(Struct):
    """The data of ``run_start``, as far as readers rely on it."""

    runbook: str
    runbook_hash: str | None = None
    tool_hashes: dict[str, str] | None = None
    stages: list[str] | None = None
    policy_digest: str | None = None
    policies: list[_Policy] | None = None
    block_hashes: dict[str, str] | None = None
    include_hashes: dict[str, str] | None = None
    include_policies: dict[str, str] | None = None
    tool_files: dict[str, str] | None = None
    include_files: dict[str, str] | None = None
    include_policy_files: dict[str, dict[str, str]] | None = None
    pack_files: dict[str, str] | None = None
    policy_plugins: list[str] | None = None
    plugins: list[_Map] | None = None
    secrets: list[str] | None = None
    project_file: str | None = None
    floor_files: list[str] | None = None
    os_user: str | None = None
    tenant: str | None = None
    gert_version: str | None = None
    approval_keys: str | None = None
    extensions: _Map | None = None
    actor: str | None = None
    host: str | None = None
    mode: str | None = None
    started: str | None = None
    runbook_path: str | None = None
    policy_files: list[str] | None = None
    approval_provider: str | None = None
    questions: str | None = None
    trace_sync: str | None = None
    fail_on: list[str] | None = None
    notify: list[_Notify] | None = None
    signer: dict[str, str] | None = None
    cwd: str | None = None
    run_directory: str | None = None
    inputs: _Map | None = None
    input_sources: _Map | None = None
    constants: _Map | None = None


__all__ = ["RunStart"]
