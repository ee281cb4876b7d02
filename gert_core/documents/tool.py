"""Models of a tool definition: transport, actions and contracts."""

from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, Self

from pydantic import AfterValidator, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

from gert_core.documents.contract import ContractModel
from gert_core.documents.fields import Duration, Given, Model, Name, Regex, Scalar, Text, no_items
from gert_core.documents.later import later

if TYPE_CHECKING:
    from gert_core.documents.parts import SecretModel
    from gert_core.documents.retry import Retry
else:
    SecretModel = later("gert_core.documents.parts:SecretModel")
    Retry = later("gert_core.documents.retry:Retry")

API_VERSION: Final = "tool/v0"
_MCP_TOOL: Final = "mcp_tool"
ExitCode = Annotated[int, Field(ge=0, le=255)]


class ExtractModel(Model):
    """Where one output comes from."""

    from_: Literal["stdout", "stderr", "json", "exit_code"] = Field(
        default="stdout", alias="from", description="The part of the answer that is read."
    )
    pattern: Given[Regex] = Field(
        default=None, description="Regular expression; group 1, or the whole match, is the output."
    )
    path: Given[Text] = Field(
        default=None, description="Path into the JSON answer: names and indexes separated by dots."
    )

    @property
    def source(self) -> str:
        """The part of the answer that is read."""
        return self.from_


class ActionModel(Model):
    """One thing a tool can do."""

    model_config = ConfigDict(
        json_schema_extra={
            "not": {"required": [_MCP_TOOL, "config"], "properties": {"config": {"required": [_MCP_TOOL]}}}
        }
    )

    description: Given[str] = Field(default=None, description="What it does, for people.")
    argv: list[Scalar] = Field(
        default_factory=no_items, description="The command line, one argument per item; no shell is involved."
    )
    method: Given[Text] = Field(default=None, description="The method to call, for remote procedure calls.")
    mcp_tool: Given[Text] = Field(default=None, description="Short for `config: {mcp_tool: NAME}`.")
    stdin: Given[str] = Field(default=None, description="Text given on standard input.")
    env: dict[Text, Scalar] = Field(default_factory=dict, description="Environment variables to add.")
    config: dict[str, Any] = Field(
        default_factory=dict, description="What else the transport needs for this action; may hold templates."
    )
    contract: Given[ContractModel] = Field(
        default=None, description="What this action adds to the tool's contract; it may only tighten."
    )
    extract: Given[dict[Name, ExtractModel]] = Field(
        default=None, description="How the answer becomes the declared outputs."
    )
    exit_codes: Given[Annotated[list[ExitCode], Field(min_length=1)]] = Field(
        default=None, description="Exit codes that are answers; every other one is a failure. Default `[0]`."
    )
    timeout: Given[Duration] = Field(
        default=None, description="The longest the action may take, instead of the tool's; a step can only shorten it."
    )
    retry: Given[Retry] = Field(default=None, description="How often the action is attempted at most.")

    @model_validator(mode="after")
    def _given_once(self) -> Self:
        if self.mcp_tool is not None and _MCP_TOOL in self.config:
            raise PydanticCustomError("duplicate-key", "`mcp_tool` is given twice: by itself and in `config`")
        return self

    @property
    def settings(self) -> dict[str, Any]:
        """What the transport is handed, ``mcp_tool`` included wherever it was written."""
        return self.config if self.mcp_tool is None else {**self.config, _MCP_TOOL: self.mcp_tool}


def _address(url: str) -> str:
    """Refuse a password in an address, which every reader of the file, of requests and of traces would see."""
    from gert_core.kit.store_urls import has_password

    if has_password(url):
        raise PydanticCustomError(
            "connect-credentials",
            "`connect` has a password in it, which every reader of the file and of traces would see",
            {"hint": "leave it out; list a variable with it under `secrets`, and name that as the transport says"},
        )
    return url


class ToolMeta(Model):
    """The head of a tool definition."""

    name: Text = Field(description="The tool's name.")
    description: Given[str] = Field(default=None, description="What it is for.")
    transport: Given[Text] = Field(
        default=None, description="How the tool is reached; left out, its `argv` is run as a program."
    )
    binary: Given[Text] = Field(default=None, description="The program to start, instead of `argv[0]`.")
    connect: Given[Annotated[Text, AfterValidator(_address)]] = Field(
        default=None, description="The address of a running server, without a password."
    )
    config: dict[str, Any] = Field(
        default_factory=dict, description="What else the transport needs, handed over as written."
    )
    cwd: Given[Literal["caller", "tool", "runbook", "project"]] = Field(
        default=None,
        description="The directory a program starts in: that of gert's caller (default), of this file, of the "
        "runbook, or of the project.",
    )
    platform: list[Literal["linux", "darwin", "windows", "freebsd", "openbsd"]] = Field(
        default_factory=no_items, description="Operating systems it is for; default any."
    )
    timeout: Given[Duration] = Field(
        default=None,
        description="The longest an action may take; without one a step's own `timeout` holds, else 60s.",
    )
    retry: Given[Retry] = Field(
        default=None, description="How often an action is attempted at most, unless the action has its own `retry`."
    )
    secrets: list[SecretModel] = Field(default_factory=no_items, description="Secrets the tool needs.")


class ToolModel(Model):
    """A tool document."""

    model_config = ConfigDict(title="Tool")

    apiVersion: Literal["tool/v0"] = Field(description="`tool/v0`.")  # noqa: N815 - the document's spelling
    meta: ToolMeta = Field(description="Name and transport.")
    contract: Given[ContractModel] = Field(default=None, description="What every action declares.")
    secrets: list[SecretModel] = Field(default_factory=no_items, description="Secrets the tool needs.")
    actions: Annotated[dict[Name, ActionModel], Field(min_length=1)] = Field(description="What it can do.")

    @property
    def all_secrets(self) -> tuple[SecretModel, ...]:
        """The secrets of both places a tool may list them in."""
        return (*self.secrets, *self.meta.secrets)


__all__ = ["API_VERSION", "ActionModel", "ExtractModel", "ToolMeta", "ToolModel"]
