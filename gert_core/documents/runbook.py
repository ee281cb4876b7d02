"""Models of a runbook: its head, its inputs and the fields every step has."""

from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from pydantic import Field

from gert_core.documents.fields import (
    OUTPUT_PATTERN,
    Category,
    Duration,
    Given,
    Model,
    Name,
    Regex,
    Text,
    ValueType,
    no_items,
)
from gert_core.documents.later import later
from gert_core.kit.models import Expr, SomeSteps, Steps

if TYPE_CHECKING:
    from gert_core.documents.contract import ContractModel
    from gert_core.documents.governance import GovernanceModel
    from gert_core.documents.parts import (
        Artifacts,
        ForEachModel,
        NextModel,
        PrincipalModel,
        SecretModel,
        VisibilityModel,
    )
    from gert_core.documents.retry import Retry
else:
    ContractModel = later("gert_core.documents.contract:ContractModel")
    GovernanceModel = later("gert_core.documents.governance:GovernanceModel")
    Artifacts = later("gert_core.documents.parts:Artifacts")
    ForEachModel = later("gert_core.documents.parts:ForEachModel")
    NextModel = later("gert_core.documents.parts:NextModel")
    PrincipalModel = later("gert_core.documents.parts:PrincipalModel")
    SecretModel = later("gert_core.documents.parts:SecretModel")
    VisibilityModel = later("gert_core.documents.parts:VisibilityModel")
    Retry = later("gert_core.documents.retry:Retry")

API_VERSION: Final = "kernel/v0"

OutputPath = Annotated[str, Field(pattern=OUTPUT_PATTERN)]
Bound = Annotated[int, Field(strict=True)] | Annotated[float, Field(strict=True, allow_inf_nan=False)]


class InputModel(Model):
    """An input of the runbook."""

    type: ValueType = Field(default="string", description="The type a given value is coerced to.")
    required: bool = Field(default=False, description="Whether the run cannot start without it.")
    default: Any = Field(default=None, description="The value used when none is given.")
    description: Given[str] = Field(default=None, description="Shown where the input is asked for.")
    from_: Given[Text] = Field(
        default=None, alias="from", description="Where it comes from, for example `prompt` or `env/HOST`."
    )
    secret: bool = Field(default=False, description="Whether the value is masked everywhere.")
    enum: Given[Annotated[list[Any], Field(min_length=1)]] = Field(
        default=None, description="The only values it may have; of a list, its items."
    )
    pattern: Given[Regex] = Field(default=None, description="A regular expression that the whole of a text must match.")
    min: Given[Bound] = Field(default=None, description="The least value, or length of a text or list.")
    max: Given[Bound] = Field(default=None, description="The greatest value, or length of a text or list.")


class MetaModel(Model):
    """The head of a runbook."""

    name: Text = Field(description="The runbook's name, part of run ids and traces.")
    description: Given[str] = Field(default=None, description="What it is for.")
    inputs: dict[Name, InputModel] = Field(default_factory=dict, description="Values the caller gives.")
    constants: dict[Name, Any] = Field(
        default_factory=dict, description="Values the author fixes; may hold templates over inputs."
    )
    governance: Given[GovernanceModel] = Field(default=None, description="Rules this runbook adds.")
    secrets: list[SecretModel] = Field(default_factory=no_items, description="Secrets the runbook needs.")
    on_outcome: dict[Category, dict[str, Any]] = Field(
        default_factory=dict,
        description="By category of outcome who is told of it: fields of notifiers, such as `webhook`.",
    )
    extensions: dict[str, Any] = Field(default_factory=dict, description="Free data, kept and traced.")


class RunbookModel(Model):
    """A runbook document."""

    apiVersion: Literal["kernel/v0"] = Field(description="`kernel/v0`.")  # noqa: N815 - the document's spelling
    meta: MetaModel = Field(description="Name, inputs, constants, governance.")
    tools: list[Text] = Field(
        default_factory=no_items, description="Every tool that steps may use: a name, `pack/name` or a path."
    )
    steps: Steps = Field(description="The steps, in order.")
    on_failure: Given[SomeSteps] = Field(
        default=None, description="Steps to run when the run fails or is denied; an `end` among them gives its outcome."
    )
    finally_: Given[SomeSteps] = Field(
        default=None, alias="finally", description="Steps to run last, whatever became of the others."
    )
    extensions: dict[str, Any] = Field(default_factory=dict, description="Free data, kept and traced.")


class StepFields(Model):
    """The fields every step has, whatever its type."""

    id: Given[Name] = Field(default=None, description="The step's name, unique in the file.")
    type: str = Field(description="The kind of step.")
    description: Given[Text] = Field(
        default=None, description="What the step is for, shown to people who watch or approve it; may hold templates."
    )
    when: Given[Expr] = Field(
        default=None, description="`{{ expression }}` or a boolean; the step is skipped when it is false."
    )
    next: Given[Name | NextModel] = Field(
        default=None,
        description="The step of the same list to go on at, after success or a failure with `continue_on_fail`.",
    )
    continue_on_fail: bool = Field(default=False, description="Whether the run goes on when the step fails.")
    for_each: Given[ForEachModel] = Field(default=None, description="Run the step once per item.")
    scope: Given[Text] = Field(
        default=None, description="A namespace for the outputs, such as `round/0`; may hold templates."
    )
    export: list[Name] | dict[Name, OutputPath] = Field(
        default_factory=no_items,
        description="Outputs to make global variables: a list of names, or a map `{new_name: output}`.",
    )
    visibility: Given[VisibilityModel] = Field(default=None, description="What the step may see.")
    principal: Given[PrincipalModel | Literal["item"]] = Field(
        default=None, description="Who acts in this step; `item`: the agent that each item of a keyed `for_each` names."
    )
    artifacts: list[Text] | Artifacts = Field(
        default_factory=no_items,
        description="What is kept after success: a list of files, or a map of names to files and values.",
    )
    checkpoint: Given[Name] = Field(
        default=None, description="After success, record under this name a hash of the variables as they are then."
    )
    timeout: Given[Duration] = Field(
        default=None,
        description="How long the step, or one attempt of it, may take; a template only where its type takes one.",
    )
    retry: Given[Retry] = Field(
        default=None, description="How often the step is attempted; never more often than its tool allows."
    )
    contract: Given[ContractModel] = Field(default=None, description="What the step declares about itself.")
    extensions: dict[str, Any] = Field(default_factory=dict, description="Free data, kept and traced.")

    @property
    def exports(self) -> dict[str, str]:
        """The names the step exports, each with the output (or the path into one) that it gets."""
        export = self.export
        return export if isinstance(export, dict) else {name: name for name in export} if export else {}


__all__ = ["API_VERSION", "InputModel", "MetaModel", "RunbookModel", "StepFields"]
