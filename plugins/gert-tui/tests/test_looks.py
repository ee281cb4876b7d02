"""How it looks: at four sizes, without colours, in ASCII, with hostile text and with secrets."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from gert_tui.look import ASCII
from tuis import on_tui

BOOK = """
- { id: check, type: tool, tool: say, inputs: { text: "200\\n" } }
- id: triage
  type: branch
  branches:
    - condition: '{{ eq 1 1 }}'
      label: restart
      steps: [{ id: restart, type: tool, tool: hold, inputs: { until: go } }]
    - condition: default
      label: leave
      steps: [{ id: healthy, type: tool, tool: say, inputs: { text: "fine" } }]
"""
SNAPSHOTS = Path(__file__).parent / "snapshots"
STEADY = (
    (re.compile(r"\d{8}T\d{6}Z-book-[0-9a-f]{8}"), "20260301T120000Z-book-1f2e3d4c"),
    (re.compile(r"\b\d+\.\ds\b"), "0.1s"),
    (re.compile(r"Duration: \d+s"), "Duration: 2s"),
)


WINDOW = {"ff5f57", "febc2e", "28c840"}
"""The colours of the buttons that the picture of a window has."""


def spread(fill):
    channels = [int(fill[at : at + 2], 16) for at in (0, 2, 4)]
    return max(channels) - min(channels)


def _can_be_read(style):
    """Whether a text differs from what is behind it: the colours of the terminal, or two that are not the same."""
    shown = [color for color in (style.color, style.bgcolor) if color is not None and not color.is_default]
    return not shown or style.color != style.bgcolor


def steady(rows):
    text = "\n".join(rows) + "\n"
    for pattern, shown in STEADY:
        text = pattern.sub(shown, text)
    return text


@pytest.mark.parametrize(
    ("name", "size", "environ", "keys"),
    [
        ("120x32", (120, 32), {}, ()),
        ("80x24", (80, 24), {}, ()),
        ("60x15", (60, 15), {}, ()),
        ("60x15-output", (60, 15), {}, ("tab",)),
        ("39x9", (39, 9), {}, ()),
        ("monochrome", (80, 24), {"NO_COLOR": "1"}, ()),
    ],
)
def test_the_screen_of_a_run_looks_as_it_is_kept(lab, monkeypatch, name, size, environ, keys):
    """With GERT_SNAPSHOTS=write they are written instead."""
    for variable, value in environ.items():
        monkeypatch.setenv(variable, value)
    lab.book(BOOK, tools="say, hold")

    async def script(seen):
        screen = seen.app
        await seen.until(
            lambda: hasattr(screen.screen, "session") and "triage/0/restart" in screen.screen.session.model.running
        )
        await seen.press(*keys)
        await seen.pilot.pause(0.1)
        return (
            steady(seen.rows),
            seen.app.export_screenshot(),
            [s.style for row in seen.app.screen._compositor.render_strips() for s in row],
        )

    text, svg, styles = on_tui(lab, "book.yaml", script=script, size=size)
    file = SNAPSHOTS / f"{name}.txt"
    if os.environ.get("GERT_SNAPSHOTS") == "write":
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
    assert text == file.read_text(encoding="utf-8")
    coloured = [fill for fill in set(re.findall(r"#([0-9a-f]{6})", svg)) - WINDOW if spread(fill) > 16]
    if name == "monochrome":
        assert not coloured
        assert all(style is None or _can_be_read(style) for style in styles)
        assert any(style is not None and style.reverse for style in styles)
        assert any(style is not None and style.bold for style in styles)
    elif name == "80x24":
        assert coloured


def test_ascii_draws_nothing_else(lab):
    lab.book(BOOK, tools="say, hold")

    async def script(seen):
        await seen.until("> restart", "+ check", "o healthy")
        assert seen.text.isascii(), [c for c in seen.text if not c.isascii()]
        await seen.press("question_mark")
        await seen.until("Help: a run")
        assert seen.text.isascii()

    on_tui(lab, "book.yaml", script=script, look=ASCII)


def test_hostile_text_is_only_text(lab):
    wide = "w" * 10_000
    lab.path("hostile").write_bytes(
        b"[bold red]markup[/] [link=http://x]y[/link]\n\x1b[2J\x1b]0;title\x07\x1b[31mred\x1b[0m\n"
        + wide.encode()
        + b"\nlast\n\xff\xfe\n\xe2\x80\xaebidi\n"
    )
    lab.program("hostile", "cat hostile")
    lab.tool("hostile", '["hostile"]')
    lab.book(
        '- { id: nasty, type: tool, tool: hostile, description: "[bold]x[/bold]" }',
        tools="hostile",
        meta='description: "[blink]"',
    )

    async def script(seen):
        await seen.until("nasty | [bold red]markup[/] [link=http://x]y[/link]", "Outcome: resolved (ok)")
        await seen.until(r"nasty | \u001b[2J\u001b]0;title\u0007\u001b[31mred\u001b[0m", r"\u202ebidi", "nasty | last")
        assert "\x1b" not in seen.text
        output = seen.app.screen.output
        assert max(len(output.text_of(n)) for n in range(output.count())) > 10_000
        await seen.press("tab", "home", "right", "right", "o", "t", "escape", "v", "escape", "tab", "home", "c")
        await seen.until("Contract of nasty")
        svg = seen.app.export_screenshot()
        assert "\x1b" not in svg

    on_tui(lab, "book.yaml", script=script)


def test_no_secret_is_in_any_picture_of_any_screen(lab):
    secret = "hunter2-hunter2"
    lab.book(
        '- { id: says, type: tool, tool: say, inputs: { text: "token={{ .token }}\\n" } }\n'
        '- { id: look, type: manual, instructions: "Use {{ .token }} now" }',
        tools="say",
        meta=f'inputs: {{ token: {{ type: string, secret: true, default: "{secret}" }} }}',
    )

    async def script(seen):
        pictures = []

        async def look(*keys, until):
            await seen.press(*keys)
            await seen.until(until)
            pictures.append(seen.app.export_screenshot())
            assert "hunter2" not in seen.text

        await look(until="look asks")
        await look("enter", until="[ Confirm ]")
        await look("escape", "v", until="Variables")
        await look("escape", "t", until="Trace of")
        await look("home", "enter", until="Event 1")
        await look("escape", "escape", "home", "c", until="Contract of")
        await look("escape", "o", until="Output of")
        await look("s", until="book.yaml")
        await look("enter", until="[ Start ]")
        await look("escape", "escape", until="Runs: 1")
        assert len(pictures) == 10
        assert not [svg for svg in pictures if "hunter2" in svg.replace("&#160;", " ")]

    on_tui(lab, "book.yaml", script=script)
