"""Check a tool's own file: its templates, its actions' contracts, its transport and platform."""

from __future__ import annotations

import sys
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final

from gert_core.api import Severity
from gert_core.documents.merge import tool_contract
from gert_core.documents.tree import ITSELF
from gert_core.plugin.kinds import TRANSPORT
from gert_core.template import TemplateError, compile_value, to_text
from gert_core.validation.domain.commands import check_command, check_programs, check_required, transport_of
from gert_core.validation.domain.expressions import TemplateText, templates
from gert_core.validation.domain.patterns import pattern_errors
from gert_core.validation.domain.report import listing
from gert_core.validation.domain.scalars import calls_of
from gert_core.validation.domain.secrets import check_secrets
from gert_core.validation.domain.shapes import MissingMember, declared_shape, follow, type_hint
from gert_core.values import coerce

if TYPE_CHECKING:
    from collections.abc import Container, Mapping

    from gert_core.api import Contract
    from gert_core.documents.contract import ContractModel
    from gert_core.documents.tool import ActionModel, ToolModel
    from gert_core.documents.tree import Path
    from gert_core.documents.yaml import Document
    from gert_core.plugin.registry import Registry
    from gert_core.template import Reference
    from gert_core.validation.domain.report import Report

_RENDERED: Final = ("argv", "method", "mcp_tool", "stdin", "env", "config")


class ToolFile:
    """One tool document that is checked."""

    __slots__ = ("_idle", "cwd", "document", "report", "tool")

    def __init__(self, report: Report, document: Document, tool: ToolModel, *, cwd: str | None = None) -> None:
        self.report = report
        self.document = document
        self.tool = tool
        self.cwd = cwd
        self._idle = False
        """Whether no step uses the action that is checked."""

    def check(
        self,
        *,
        registry: Registry,
        environ: Mapping[str, str],
        used: Container[str] | None = None,
        complete: bool = True,
    ) -> None:
        """Report findings about the file itself; ``used`` are the actions that a runbook uses, None: all of them.

        Without ``complete`` the runbook has steps that could not be read, which may use other actions too.
        """
        tool = self.tool
        self._defaults(tool.contract, ("contract",))
        seen: set[tuple[Path, str]] = set()
        transport = transport_of(tool, registry)
        for name, action in tool.actions.items():
            self._idle = complete and used is not None and name not in used
            contract, relaxed = tool_contract(tool, name)
            for item in relaxed:
                if (item.path, item.message) not in seen:
                    seen.add((item.path, item.message))
                    hint = "an action's contract can only add to the tool's"
                    self._add("contract-relaxed", f"action `{name}`: {item.message}", path=item.path, hint=hint)
            self._defaults(action.contract, ("actions", name, "contract"))
            self._templates(name, contract)
            self._extract(name, action, contract)
            self._program(name, action)
            check_required(self._add, tool, name, action, transport)
            check_command(self._add, tool, name, action)
        self._idle = False
        check_programs(self._add, tool, registry=registry, environ=environ, used=used, cwd=self.cwd)
        self._reserved()
        self._transport_and_platform(registry)
        self._retry()
        who = f"tool `{tool.meta.name}`"
        check_secrets(self.report, self.document, tool.secrets, base=("secrets",), who=who, environ=environ)
        check_secrets(self.report, self.document, tool.meta.secrets, base=("meta", "secrets"), who=who, environ=environ)

    def _add(self, rule: str, message: str, **where: Any) -> None:
        if self._idle:  # what is wrong with it cannot make the runbook fail
            where["severity"] = Severity.WARNING
        self.report.add(rule, message, document=self.document, **where)

    def _reserved(self) -> None:
        """Report inputs that would hide ``.tool``."""
        contracts: dict[Path, ContractModel | None] = {("contract",): self.tool.contract}
        contracts |= {("actions", name, "contract"): action.contract for name, action in self.tool.actions.items()}
        for path, contract in contracts.items():
            if contract is not None and ITSELF in (contract.inputs or {}):
                self._add(
                    "reserved-name",
                    f"input `{ITSELF}`: in a tool, `.{ITSELF}` is the tool itself, with `.{ITSELF}.dir`",
                    path=(*path, "inputs", ITSELF),
                    key=True,
                    hint=f"call the input something else, such as `{ITSELF}_name`",
                )

    def _templates(self, name: str, contract: Contract) -> None:
        """Check the templates of an action: only its inputs are defined in them."""
        raw = self.document.value["actions"][name]
        found: list[TemplateText] = []
        for field in _RENDERED:
            templates(raw.get(field), path=("actions", name, field), found=found)
        for text in found:
            try:
                template = compile_value(text.value)
                references = template.references()
            except TemplateError as error:
                self._invalid_template(text, error)
                continue
            for wrong in pattern_errors(calls_of(template)):
                self._invalid_template(text, wrong)
            for reference in references:
                if not reference.guarded:
                    self._reference(name, contract, text, reference)

    def _invalid_template(self, text: TemplateText, error: TemplateError) -> None:
        self._add(error.rule, error.message, path=text.path, hint=error.hint, offset=error.offset)

    def _reference(self, action: str, contract: Contract, text: TemplateText, reference: Reference) -> None:
        head = reference.path[0]
        param = contract.inputs.get(head)
        if head == ITSELF:
            if reference.path[1:] == ("dir",):
                return
            what, hint = "knows of its tool only the directory", "write `.tool.dir`"
        elif param is None:
            what = f"declares no input `{head}`"
            known = listing(contract.inputs) if contract.inputs else "none"
            hint = self.report.did_you_mean(head, contract.inputs, prefix=".") or f"its inputs: {known}"
        elif isinstance(follow(declared_shape(param.type), reference.path, 1), MissingMember):
            what = f"has `{head}` as {param.type}"
            hint = f"use `.{head}` as a whole, or declare it as an object"
        else:
            return
        self._add(
            "unresolved-variable",
            f"`.{'.'.join(reference.path)}`: the contract of action `{action}` {what}",
            path=text.path,
            offset=reference.offset,
            hint=hint,
        )

    def _defaults(self, contract: ContractModel | None, path: Path) -> None:
        for name, param in ((contract.inputs if contract is not None else None) or {}).items():
            if param.default is None or param.type is None:
                continue
            try:
                coerce(param.default, param.type)
            except ValueError as error:
                self._add(
                    "input-type",
                    f"the default of `{name}` does not fit its type {param.type}: {error}",
                    path=(*path, "inputs", name, "default"),
                    hint=type_hint(param.type),
                )

    def _extract(self, name: str, action: ActionModel, contract: Contract) -> None:
        for output in action.extract or ():
            if output not in contract.outputs:
                self._add(
                    "not-acted-on",
                    f"`extract` names `{output}`, which `contract.outputs` does not declare, so it is dropped",
                    path=("actions", name, "extract", output),
                    key=True,
                    hint=self.report.did_you_mean(output, contract.outputs)
                    or f"declare `{output}` under `contract.outputs`",
                )

    def _program(self, name: str, action: ActionModel) -> None:
        binary = self.tool.meta.binary
        if not binary or not action.argv or "{{" in binary:
            return
        first = to_text(action.argv[0])
        if PurePath(first.replace("\\", "/")).name != PurePath(binary.replace("\\", "/")).name:
            self._add(
                "not-acted-on",
                f"`binary` runs `{binary}`, so `{first}` in `argv` is replaced",
                path=("actions", name, "argv", 0),
                hint=f"write `{binary}` as the first item of `argv`",
            )

    def _retry(self) -> None:
        """Check the retry policies; most tools have none."""
        tool = self.tool
        if tool.meta.retry is None and all(action.retry is None for action in tool.actions.values()):
            return
        from gert_core.validation.domain.retry import check_tool_retry

        contracts = {name: tool_contract(tool, name)[0] for name in tool.actions}
        check_tool_retry(self.report, self.document, tool, contracts)

    def _transport_and_platform(self, registry: Registry) -> None:
        meta = self.tool.meta
        found: list[TemplateText] = []
        templates(meta.config, path=("meta", "config"), found=found)
        for text in found:
            self._add(
                "not-acted-on",
                "`meta.config` is handed to the transport as written, so this template is not rendered",
                path=text.path,
                hint="put it into the `config` of an action",
            )
        if meta.connect is not None and "{{" in meta.connect:
            self._add(
                "not-acted-on",
                "`meta.connect` is handed to the transport as written, so this template is not rendered",
                path=("meta", "connect"),
                hint="write the address itself",
            )
        if meta.transport is not None and registry.transport(meta.transport) is None:
            near = self.report.did_you_mean(meta.transport, registry.transports())
            self._add(
                "transport-missing",
                f"no installed plugin provides the transport `{meta.transport}`; steps that use it will fail",
                path=("meta", "transport"),
                hint="; ".join(part for part in (near, registry.provider_hint(TRANSPORT, meta.transport)) if part),
            )
        if meta.platform and current_platform() not in meta.platform:
            self._add(
                "platform-mismatch",
                f"tool `{meta.name}` is for {listing(meta.platform)}, and this is `{current_platform()}`",
                path=("meta", "platform"),
                hint="no change needed if it runs elsewhere",
            )


def current_platform() -> str:
    """Return this operating system as ``meta.platform`` names it."""
    name = sys.platform
    if name == "win32":
        return "windows"
    return next((known for known in ("linux", "darwin", "freebsd", "openbsd") if name.startswith(known)), name)


__all__ = ["ToolFile", "current_platform"]
