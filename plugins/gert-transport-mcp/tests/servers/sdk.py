"""A server made with the SDK: over standard input and output, or at the port that is given."""

import sys

from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import BaseModel

server = MCPServer("demo")


class Sum(BaseModel):
    total: int
    kinds: list[str]


class Name(BaseModel):
    name: str


@server.tool()
def add(a: int, b: int) -> Sum:
    return Sum(total=a + b, kinds=[type(a).__name__, type(b).__name__])


@server.tool()
def greet(name: str) -> str:
    return "hello " + name


@server.tool()
def refuse(why: str) -> str:
    raise ToolError(why)


@server.tool()
async def work(ctx: Context) -> str:
    await ctx.report_progress(1, 2, "half way")
    print("on stderr", file=sys.stderr, flush=True)
    await ctx.report_progress(2, 2)
    return "worked"


@server.tool()
async def question(ctx: Context) -> str:
    answer = await ctx.elicit("who are you?", Name)
    return "answered " + repr(answer)


if len(sys.argv) > 1:
    server.run("streamable-http", port=int(sys.argv[1]))
else:
    server.run()
