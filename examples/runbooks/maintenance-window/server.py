"""A small MCP server: a change calendar. Booked windows are lines of windows.txt in the working directory."""

from pathlib import Path

from mcp.server.mcpserver import MCPServer
from pydantic import BaseModel

FREEZES = {"12-24": "holidays", "12-25": "holidays", "12-31": "end of the year"}
server = MCPServer("calendar")


class Day(BaseModel):
    """What is known about a day."""

    frozen: bool
    reason: str


class Window(BaseModel):
    """A window that was booked."""

    window: str


@server.tool()
def look_up_day(day: str) -> Day:
    """Say whether changes are frozen on a day."""
    reason = FREEZES.get(day[5:], "")
    return Day(frozen=bool(reason), reason=reason)


@server.tool()
def book_window(service: str, day: str) -> Window:
    """Book a window."""
    window = f"{service} on {day}"
    with Path("windows.txt").open("a", encoding="utf-8") as file:
        file.write(f"{window}\n")
    return Window(window=window)


if __name__ == "__main__":
    server.run()
