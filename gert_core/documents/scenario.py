"""Scenarios (canned answers for a replay) and the expectations of their tests."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from msgspec import Struct
from pydantic import AfterValidator, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from gert_core.documents.fields import Category, Given, Model, OneOrMany, Text, no_items, usable_pattern

if TYPE_CHECKING:
    from gert_core.documents.yaml import Document

SCENARIO_FILE: Final = "scenario.yaml"
TEST_FILE: Final = "test.yaml"
TRACE_FILE: Final = "trace.jsonl"
"""The trace of the run, beside a scenario that is a recording."""
RECORDED: Final = "recorded"
"""The tag of the tests of scenarios that are recordings of runs."""


class ToolResponse(Model):
    """One response of a tool."""

    exit_code: int = Field(default=0, description="The exit code.")
    stdout: str = Field(default="", description="Standard output; goes through `extract` without `outputs`.")
    stderr: str = Field(default="", description="Standard error.")
    outputs: Given[dict[str, Any]] = Field(default=None, description="The outputs themselves.")
    times: Annotated[int, Field(ge=1, le=100_000)] = Field(default=1, description="How many calls in a row it answers.")


class StepResponse(Model):
    """The result of one execution of a leaf step."""

    outputs: dict[str, Any] = Field(default_factory=dict, description="The outputs.")
    fields: dict[str, Any] = Field(default_factory=dict, description="Values at `.id.name` beside the outputs.")
    status: Literal["success", "failed", "error"] = Field(default="success", description="Its status.")
    kind: Given[Text] = Field(default=None, description="The kind of failure, with failed and error.")
    message: Given[str] = Field(default=None, description="The message of the failure.")


NotGiven = Literal[
    "approval_timeout",
    "approval_no_answer",
    "approval_unusable",
    "approval_malformed",
    "approval_stale",
    "approval_unverified",
    "signature_missing",
    "signature_wrong",
    "signature_algorithm",
    "signature_key_missing",
    "signature_key_unusable",
]
"""Why a request is refused that no approver rejected: the ticket expired, the input ended, an answer was unusable."""


class CannedApproval(Model):
    """One approver's answer, or why there is none."""

    model_config = ConfigDict(
        json_schema_extra={"not": {"required": ["kind"], "properties": {"approved": {"const": True}}}}
    )

    approved: bool = Field(description="Whether it was approved.")
    approver_id: Text = Field(default="replay", description="Who answered.")
    reason: Given[str] = Field(default=None, description="Why.")
    kind: Given[NotGiven] = Field(
        default=None,
        description="With `approved: false`, why it was refused if no approver rejected it: the kind of the failure.",
    )

    @model_validator(mode="after")
    def _kind_of_a_refusal(self) -> CannedApproval:
        if self.approved and self.kind is not None:
            raise PydanticCustomError(
                "wrong-type",
                "`kind: {kind}` tells why it was not approved, and it says `approved: true`",
                {"kind": self.kind, "hint": "remove `kind`, or write `approved: false`"},
            )
        return self


class ScenarioModel(Model):
    """A scenario document."""

    description: Given[str] = Field(default=None, description="What the scenario is about.")
    actor: Given[Text] = Field(default=None, description="Who runs the runbook; `--as` still wins.")
    inputs: dict[str, Any] = Field(default_factory=dict, description="Inputs; `--var` still wins.")
    tool_responses: dict[Text, list[ToolResponse]] = Field(
        default_factory=dict, description="Answers by `tool:action` or `tool`, used up in order."
    )
    steps: dict[Text, Annotated[OneOrMany[StepResponse], Field(min_length=1)]] = Field(
        default_factory=dict,
        description="Results by step key; they win over `tool_responses`. Of a list, each attempt takes the "
        "next one; the last one holds for all further attempts.",
    )
    evidence: dict[Text, dict[str, Any]] = Field(
        default_factory=dict, description="What people hand in, by step and name; with `{}` the run waits."
    )
    approvals: dict[Text, list[CannedApproval]] = Field(
        default_factory=dict, description="Approvals by step; a step without any is approved."
    )
    principals: dict[Text, Text] = Field(
        default_factory=dict, description="By step, who answered its questions or stated its result."
    )
    runbook: Given[Text] = Field(
        default=None, description="The runbook's path from here, of a scenario that is kept elsewhere."
    )


def pattern_of(expected: object) -> str | None:
    """Return the regular expression of ``/.../``, None for any other value."""
    if isinstance(expected, str) and len(expected) > 2 and expected[0] == expected[-1] == "/":
        return expected[1:-1]
    return None


def _expected(value: object) -> object:
    pattern = pattern_of(value)
    if pattern is not None:
        usable_pattern(pattern)
    return value


class ExpectationModel(Model):
    """A test document: the expected result of replaying the scenario."""

    description: Given[str] = Field(default=None, description="What is tested.")
    expected_status: Given[Literal["completed", "failed", "error", "approval_pending", "answer_pending"]] = Field(
        default=None, description="The run's status."
    )
    expected_outcome: Given[Category] = Field(default=None, description="The outcome's category.")
    expected_code: Given[str] = Field(default=None, description="The outcome's code.")
    must_reach: list[Text] = Field(default_factory=no_items, description="Steps that must execute.")
    must_not_reach: list[Text] = Field(default_factory=no_items, description="Steps that must not execute.")
    expected_outputs: dict[Text, Annotated[Any, AfterValidator(_expected)]] = Field(
        default_factory=dict, description="Values by template path: exact, or `/regular expression/`."
    )
    tags: list[Text] = Field(default_factory=no_items, description="Words to select the test by.")
    golden: bool = Field(default=False, description="Whether it is one of the tests that run by default.")


class Scenario(Struct, frozen=True, kw_only=True):
    """A scenario directory as read; ``test`` is None when there is no ``test.yaml``."""

    name: str
    directory: Path
    model: ScenarioModel
    document: Document
    test: ExpectationModel | None = None
    test_document: Document | None = None


def named_scenario(name: str, runbook: Path, *, base: Path | None = None) -> Scenario:
    """Load a scenario by its directory, relative to ``base``, or by its name below the runbook's scenarios."""
    nested = runbook.parent / "scenarios" / runbook.stem / name
    direct = Path(name) if base is None else base / name
    return load_scenario(direct if direct.is_dir() else nested)


def directory_name(directory: Path) -> str:
    """Return the name of a directory, also of one that is given as ``.`` or ends in ``..``."""
    return directory.name if directory.name not in ("", "..") else directory.resolve().name


def load_scenario(directory: Path) -> Scenario:
    """Read a scenario and its test; raise ``DocumentError`` with diagnostics when either is invalid."""
    from gert_core.api.errors import DocumentError, UsageError
    from gert_core.documents.standalone import load_strictly, read_strictly

    file = directory / SCENARIO_FILE
    if not file.is_file():
        raise UsageError(
            f"there is no scenario at {directory}", file=str(file), hint=f"it needs a file {SCENARIO_FILE}"
        )
    document = read_strictly(file, what="scenario", error=DocumentError)
    model = load_strictly(file, ScenarioModel, what="scenario", document=document, error=DocumentError)
    test_file = directory / TEST_FILE
    test = test_document = None
    if test_file.is_file():
        test_document = read_strictly(test_file, what="test", error=DocumentError)
        test = load_strictly(test_file, ExpectationModel, what="test", document=test_document, error=DocumentError)
    return Scenario(
        name=directory_name(directory),
        directory=directory,
        model=model,
        document=document,
        test=test,
        test_document=test_document,
    )


__all__ = [
    "RECORDED",
    "SCENARIO_FILE",
    "TEST_FILE",
    "TRACE_FILE",
    "CannedApproval",
    "ExpectationModel",
    "NotGiven",
    "Scenario",
    "ScenarioModel",
    "StepResponse",
    "ToolResponse",
    "directory_name",
    "load_scenario",
    "pattern_of",
]
