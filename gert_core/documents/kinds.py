"""The kinds of documents there are: how each is known and which model reads it."""

from __future__ import annotations

from enum import StrEnum, auto
from typing import TYPE_CHECKING, Final

from gert_core.documents import policy, project, runbook, scenario, tool

if TYPE_CHECKING:
    from gert_core.documents.fields import Model


class Kind(StrEnum):
    """A kind of document."""

    RUNBOOK = auto()
    TOOL = auto()
    POLICY = auto()
    PROJECT = auto()
    SCENARIO = auto()
    TEST = auto()


VERSIONS: Final = {
    runbook.API_VERSION: Kind.RUNBOOK,
    tool.API_VERSION: Kind.TOOL,
    policy.API_VERSION: Kind.POLICY,
}
"""Kinds that say what they are by ``apiVersion``."""

NAMES: Final = {
    project.FILE_NAME: Kind.PROJECT,
    scenario.SCENARIO_FILE: Kind.SCENARIO,
    scenario.TEST_FILE: Kind.TEST,
}
"""Kinds that are known by the name of their file."""

MODELS: Final[dict[Kind, type[Model]]] = {
    Kind.RUNBOOK: runbook.RunbookModel,
    Kind.TOOL: tool.ToolModel,
    Kind.POLICY: policy.PolicyModel,
    Kind.PROJECT: project.ProjectModel,
    Kind.SCENARIO: scenario.ScenarioModel,
    Kind.TEST: scenario.ExpectationModel,
}
"""The model of each kind."""

__all__ = ["MODELS", "NAMES", "VERSIONS", "Kind"]
