"""Ask the person at a client: to open the page of a ticket, and, where the server is told so, the questions of a step.

An approval is never given here. A form may be answered by a model, so it never carries one; that somebody accepts an
address means that it was opened, and the page asks who they are.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final

import anyio
from mcp.shared.exceptions import MCPError
from mcp_types import ElicitRequest, ElicitRequestFormParams, ElicitRequestURLParams, ElicitResult, InputRequiredResult
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from gert_core.kit.owners import account_name
from gert_mcp.forms import answers_of, form_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mcp_types import ClientCapabilities

    from gert_core.hosting import Host
    from gert_mcp.agents import AgentCall, Served

OPENING: Final = 10.0
"""Seconds in which a person opens a page before the call returns without that."""
ANSWERING: Final = 300.0
"""Seconds in which a person answers a form; only where ``--human-client`` says that there is one."""
_ROUNDS: Final = 20
_FORM: Final = "answers"


class InputRequiredError(Exception):
    """What the client has to do before it calls again; protocols without a way back are told so."""

    def __init__(self, result: InputRequiredResult) -> None:
        super().__init__("input required")
        self.result = result


async def ask_people(
    served: Served, call: AgentCall, host: Host, found: Mapping[str, Any], *, hide: bool
) -> dict[str, Any] | None:
    """Ask what a client can ask its person about a run that has stopped; return the run if it went on by that.

    ``found`` and what is returned are as agents see the run: of an opaque one, nothing is asked by a form.
    """
    result: dict[str, Any] | None = None
    for _ in range(_ROUNDS):
        current = found if result is None else result
        if current.get("status") == "approval_pending":
            await _open_page(served, call, current)
            return result
        again = await _ask_form(served, call, host, current, hide=hide)
        if again is None:
            return result
        result = again
    return result


async def answered(served: Served, call: AgentCall) -> dict[str, Any]:
    """Return the run of a call that a client makes again after its person did something; nothing is started."""
    run_id = str(call.params.request_state)
    responses = call.params.input_responses or {}
    given = responses.get(_FORM)
    if isinstance(given, ElicitResult) and served.wanted.human_client:
        host, view = await served.runs.work(served.own, call.caller, run_id)
        hide = await served.runs.work(served.is_opaque, view)
        shown = served.shown(await served.runs.work(view.to_json), hide=hide)
        again = await _apply(served, call, host, shown, given, hide=hide)
        if again is not None:
            further = await ask_people(served, call, host, again, hide=hide)
            return again if further is None else further
    return await served.look_at(call, run_id, wait=0.0, after=None)


async def _open_page(served: Served, call: AgentCall, found: Mapping[str, Any]) -> None:
    tickets = [ticket for ticket in found.get("pending") or () if ticket.get("url")]
    elicitation = _elicitation(call)
    if not tickets or elicitation is None or elicitation.url is None:
        return
    ticket = tickets[0]
    what = f"an approval of step {ticket['step_key']}" if "step_key" in ticket else "an approval"
    message = f"Run {found.get('run_id')} waits for {what}."
    url, name = str(ticket["url"]), str(ticket["ticket_id"])
    if _modern(call):
        if call.params.request_state is not None:  # it was asked before
            return
        request = ElicitRequest(params=ElicitRequestURLParams(message=message, url=url))
        raise InputRequiredError(
            InputRequiredResult(input_requests={name: request}, request_state=str(found["run_id"]))
        )
    with anyio.move_on_after(OPENING):
        try:
            await call.ctx.session.elicit_url(message, url, name, related_request_id=call.ctx.request_id)
        except MCPError:
            return  # the client said no; the ticket stays open


async def _ask_form(
    served: Served, call: AgentCall, host: Host, found: Mapping[str, Any], *, hide: bool
) -> dict[str, Any] | None:
    elicitation = _elicitation(call)
    if not served.wanted.human_client or found.get("status") != "answer_pending" or elicitation is None:
        return None
    if elicitation.form is None and elicitation.url is not None:
        return None
    form = form_of(list(found.get("questions") or ()))
    if form is None:
        return None
    if _modern(call):
        params = ElicitRequestFormParams(message=form.message, requested_schema=form.schema)
        requests: dict[str, Any] = {_FORM: ElicitRequest(params=params)}
        raise InputRequiredError(InputRequiredResult(input_requests=requests, request_state=str(found["run_id"])))
    with anyio.move_on_after(ANSWERING):
        try:
            given = await call.ctx.session.elicit_form(form.message, form.schema, call.ctx.request_id)
        except MCPError:
            return None
        return await _apply(served, call, host, found, given, hide=hide)
    return None


async def _apply(
    served: Served, call: AgentCall, host: Host, found: Mapping[str, Any], given: ElicitResult, *, hide: bool
) -> dict[str, Any] | None:
    """Answer the questions of a step as the person did, and let the run go on; None when they did not."""
    form = form_of(list(found.get("questions") or ()))
    if form is None or given.action != "accept" or given.content is None:
        return None
    served.refuse_mode(str(found.get("mode") or ""))
    values = answers_of(form, given.content)
    run_id = str(found["run_id"])
    await served.runs.work(host.answer, run_id, form.step_key, values, by=account_name(os.getuid()))
    begun = await served.runs.resume(host, run_id, call.caller, hide=hide)
    again = begun if isinstance(begun, dict) else await served.runs.watch(call.ctx, begun, hide=hide)
    return served.shown(again, hide=hide)


def _elicitation(call: AgentCall) -> Any:
    capabilities: ClientCapabilities | None = call.ctx.session.client_capabilities
    return None if capabilities is None else capabilities.elicitation


def _modern(call: AgentCall) -> bool:
    return call.ctx.protocol_version in MODERN_PROTOCOL_VERSIONS


__all__ = ["InputRequiredError", "answered", "ask_people"]
