"""The MCP server: lists tools and resources, answers calls, tells clients when the tools have changed."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

import anyio
import mcp_types as types
from mcp.server.lowlevel.server import NotificationOptions, Server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ResourcesListChanged, ToolsListChanged
from mcp.shared.exceptions import MCPError
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from gert_core import __version__
from gert_core.api import GertError, UsageError
from gert_mcp import resources
from gert_mcp.agents import AgentCall
from gert_mcp.arguments import checked
from gert_mcp.asking import InputRequiredError, answered
from gert_mcp.callers import caller_of
from gert_mcp.replies import refusal
from gert_mcp.running import call_of
from gert_mcp.tools import VERBS, no_tool, verb_of
from gert_mcp.wording import for_agents

if TYPE_CHECKING:
    from mcp.server.context import ServerRequestContext
    from mcp.server.models import InitializationOptions
    from mcp.server.session import ServerSession

    from gert_mcp.agents import Served

    Context = ServerRequestContext[Any, Any]

INSTRUCTIONS: Final = (
    "Each tool runbook_... runs a governed runbook; its annotations come from declared contracts. A result with status "
    "approval_pending or answer_pending is not a failure: a person has to answer, with gert, outside of this "
    "conversation. Tell them the ticket and the commands in `next`, then look with gert_run, and continue with "
    "gert_resume when they have answered. No tool here approves, rejects or answers for people."
)
LOOK: Final = 2.0
"""Seconds between two looks for changed files."""
_CLIENTS: Final = 1000
logger = logging.getLogger("gert.mcp")


class AgentServer(Server[Any]):
    """The server of one ``gert mcp``."""

    def __init__(self, served: Served) -> None:
        self._served = served
        self._bus = InMemorySubscriptionBus()
        self._clients: dict[str | None, ServerSession] = {}
        self._listed: frozenset[str] | None = None
        super().__init__(
            "gert",
            version=__version__,
            instructions=INSTRUCTIONS,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_resources=self._list_resources,
            on_list_resource_templates=self._list_templates,
            on_read_resource=self._read_resource,
            on_subscriptions_listen=ListenHandler(self._bus),
        )
        self.add_notification_handler("notifications/cancelled", types.CancelledNotificationParams, self._cancelled)

    def create_initialization_options(
        self,
        notification_options: NotificationOptions | None = None,
        experimental_capabilities: dict[str, dict[str, Any]] | None = None,
        extensions: dict[str, dict[str, Any]] | None = None,
    ) -> InitializationOptions:
        """Return what clients are told first: also that they are told of changes."""
        told = notification_options or NotificationOptions(tools_changed=True, resources_changed=True)
        return super().create_initialization_options(told, experimental_capabilities, extensions)

    async def watch(self) -> None:
        """Tell clients when the tools have changed, for as long as it is called."""
        while True:
            await anyio.sleep(LOOK)
            if self._listed is None:
                continue  # no client knows the tools
            try:
                found = await self._tools()
            except (GertError, OSError) as error:
                logger.debug("cannot look for changes: %s", error)
                continue
            if self._remember(found):
                await self._changed()

    async def _tools(self) -> list[types.Tool]:
        modes = self._served.wanted.modes
        books = await self._served.runs.work(self._served.books.served)
        return [*(verb.as_tool(modes) for verb in VERBS.values()), *(book.as_tool(modes) for book in books)]

    def _remember(self, tools: list[types.Tool]) -> bool:
        """Remember what clients know; return whether it is something new."""
        now = frozenset(tool.model_dump_json() for tool in tools)
        before, self._listed = self._listed, now
        return before != now

    async def _changed(self) -> None:
        await self._bus.publish(ToolsListChanged())
        await self._bus.publish(ResourcesListChanged())
        for key, session in list(self._clients.items()):
            try:
                await session.send_tool_list_changed()
                await session.send_resource_list_changed()
            except Exception as error:
                logger.debug("a client is gone: %s", error)
                self._clients.pop(key, None)

    async def _list_tools(self, ctx: Context, params: types.PaginatedRequestParams | None) -> types.ListToolsResult:
        if ctx.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            session = None if ctx.request is None else ctx.request.headers.get("mcp-session-id")
            self._clients[session] = ctx.session
            while len(self._clients) > _CLIENTS:
                self._clients.pop(next(iter(self._clients)))
        try:
            found = await self._tools()
        except GertError as error:
            raise self._failed(error) from None
        if self._listed is None:
            self._remember(found)
        return types.ListToolsResult(tools=found)

    async def _call_tool(
        self, ctx: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        served = self._served
        call = AgentCall(ctx=ctx, params=params, caller=caller_of(ctx, served.principal))
        try:
            if params.request_state is not None:
                return await served.answer(await answered(served, call))
            verb = verb_of(params.name)
            if verb is not None:
                return await verb.call(served, call, checked(verb.takes, params.arguments))
            return await self._runbook(call)
        except InputRequiredError as needed:
            return needed.result
        except GertError as error:
            return refusal(self._told(error))
        except (OSError, RecursionError) as error:
            return refusal(self._told(GertError(f"{type(error).__name__}: {error}")))

    async def _runbook(self, call: AgentCall) -> types.CallToolResult:
        book = await self._served.runs.work(self._served.books.by_tool, call.params.name)
        if book is None:
            books = await self._served.runs.work(self._served.books.served)
            raise no_tool(call.params.name, [*VERBS, *(one.tool for one in books)])
        inputs = dict(call.params.arguments or {})
        mode = inputs.pop("mode", None) if "mode" not in book.inputs else None
        key = inputs.pop("request_key", None) if "request_key" not in book.inputs else None
        for name, value in (("mode", mode), ("request_key", key)):
            if value is not None and not isinstance(value, str):
                raise UsageError(f"{name} is a text")
        return await self._served.start(call, book, inputs=inputs, mode=mode, key=key)

    async def _cancelled(self, ctx: Context, params: types.CancelledNotificationParams) -> None:
        call = call_of(ctx, params.request_id)
        if call is not None:
            self._served.runs.cancelled(call)

    async def _list_resources(
        self, ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourcesResult:
        return types.ListResourcesResult(resources=await self._served.runs.work(resources.listed, self._served))

    async def _list_templates(
        self, ctx: Context, params: types.PaginatedRequestParams | None
    ) -> types.ListResourceTemplatesResult:
        return types.ListResourceTemplatesResult(resource_templates=resources.templates())

    async def _read_resource(self, ctx: Context, params: types.ReadResourceRequestParams) -> types.ReadResourceResult:
        caller = caller_of(ctx, self._served.principal)
        try:
            return await self._served.runs.work(resources.read, self._served, caller, params.uri)  # type: ignore[no-any-return]
        except GertError as error:
            raise self._failed(error) from None

    def _told(self, error: GertError) -> dict[str, Any]:
        return dict(for_agents(error.to_json(), [host.root for host in self._served.roots]))

    def _failed(self, error: GertError) -> MCPError:
        """Return the error answer of a request that is not the call of a tool, which has no result to say it in."""
        told = self._told(error)
        return MCPError(types.INVALID_PARAMS, str(told["message"]), {"error": told})


__all__ = ["INSTRUCTIONS", "LOOK", "AgentServer"]
