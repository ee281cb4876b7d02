"""The forms: everything in them can be read and reached on every terminal, and they say which keys they have."""

from __future__ import annotations

import pytest
from gert_tui.look import ASCII
from hosting import APPROVE, takes
from tuis import on_tui

SAYS = '- { id: says, type: tool, tool: say, inputs: { text: "{{ .size }}\\n" } }'
MANY = """
inputs:
  host: { type: string, required: true, description: "Where" }
  count: { type: int, default: 3 }
  level: { type: string, enum: [low, high], default: low }
  size: { type: int, enum: [1, 2, 4], default: 2 }
  loud: { type: bool, default: false }
  ratio: { type: float, default: 0.5 }
  tags: { type: list, default: [a, b] }
  token: { type: string, secret: true, default: "hunter2-hunter2" }
"""
LONG = "that the lamp of every disk in the second rack on the left is green and that none of them blinks any more"
LOOK = f"""
- id: look
  type: manual
  instructions: "Look at the rack."
  required_evidence: [{{ kind: checklist, name: checks, items: ["{LONG}", fans] }}]
"""


def drawn(seen):
    """What is on the screen as one text, without frames."""
    return " ".join(" ".join(row.strip("┃│|+- ") for row in seen.rows).split())


def style_of(seen, text):
    """The style in which a text is drawn."""
    for strip in seen.app.screen._compositor.render_strips():
        for segment in strip:
            if text in segment.text:
                return segment.style
    raise AssertionError(f"{text}:\n{seen.text}")


@pytest.mark.parametrize("size", [(60, 15), (40, 10)])
def test_all_inputs_and_the_buttons_are_reached_on_a_small_terminal(lab, size):
    lab.book(SAYS, tools="say", meta=MANY)

    async def script(seen):
        await seen.until("host (string", "[ Start ]", "F1 help")
        shown = ("3", "(*) low", "( ) 1", "[ ] loud", "0.5", '["a", "b"]', "•••")
        for name, text in zip(("count", "level", "size", "loud", "ratio", "tags", "token"), shown, strict=True):
            await seen.press("tab")
            await seen.until(f"{name} (", text, "[ Start ]")

    on_tui(lab, "book.yaml", script=script, size=size)


def test_a_form_that_was_refused_can_be_sent_again(lab):
    lab.book(SAYS, tools="say", meta=MANY)

    async def script(seen):
        for _ in range(2):
            await seen.until("host (string", "[ Start ]")
            await seen.press("ctrl+s")
            await seen.until("book.yaml was not started")
            await seen.press("escape")
        await seen.until("[ Start ]")
        await seen.type("web-1")
        await seen.press("ctrl+s")
        await seen.until("Outcome: resolved (ok)")

    on_tui(lab, "book.yaml", script=script)


def test_the_cursor_of_a_choice_begins_at_what_is_chosen(lab):
    lab.book(SAYS, tools="say", meta=MANY)

    async def script(seen):
        await seen.until("(*) 2")
        await seen.press("tab", "tab", "tab", "space")
        await seen.until("(*) 2")
        await seen.press("down", "space")
        await seen.until("(*) 4", "( ) 2")

    on_tui(lab, "book.yaml", script=script)


def test_boxes_are_drawn_in_the_colours_of_the_terminal_and_the_one_at_the_cursor_is_reversed(lab):
    lab.book(LOOK)

    async def script(seen):
        await seen.until("look asks")
        await seen.press("enter")
        await seen.until("[ ] fans", "[ Send ]")
        assert not style_of(seen, "[ ]").dim
        for strip in seen.app.screen._compositor.render_strips():
            for segment in strip:
                if segment.text.strip() and segment.style is not None and segment.style.color is not None:
                    assert segment.style.color.is_default, segment
        assert not style_of(seen, "fans").reverse
        await seen.press("tab")
        assert style_of(seen, "fans").reverse

    on_tui(lab, "book.yaml", script=script)


@pytest.mark.parametrize("size", [(80, 24), (60, 15)])
def test_long_items_and_labels_can_be_read(lab, size):
    lab.book(LOOK, meta=f'inputs: {{ host: {{ type: string, required: true, description: "{LONG}" }} }}')

    async def script(seen):
        await seen.until("host (string, required)")
        assert LONG in drawn(seen)
        await seen.type("web-1")
        await seen.press("ctrl+s")
        await seen.until("look asks")
        await seen.press("enter")
        await seen.until("blinks any more", "[ Send ]")
        assert LONG in drawn(seen)

    on_tui(lab, "book.yaml", script=script, size=size)


def test_ascii_forms_and_sentences_draw_nothing_else(lab):
    lab.book(SAYS, tools="say", meta=MANY)

    async def script(seen):
        await seen.until("host (string", "token", "***")
        await seen.press("ctrl+d")
        await seen.until("nothing is called")
        assert seen.text.isascii(), [c for c in seen.text if not c.isascii()]

    on_tui(lab, "book.yaml", script=script, look=ASCII)


def test_a_sentence_does_not_cover_the_status_and_the_keys(lab):
    lab.book('- { id: look, type: manual, instructions: "Look." }')

    async def script(seen):
        await seen.until("look asks")
        await seen.press("f")
        await seen.until("staying here")
        bar = next(row for row in seen.rows if "Status:" in row)
        assert "1 running, 0 failed" in bar
        assert "o output" in seen.rows[-1]

    on_tui(lab, "book.yaml", script=script, size=(100, 24))


def test_every_form_has_its_keys(lab):
    lab.policy(APPROVE)
    lab.tool("change", '["change", "{{ .what }}"]', contract=takes("what", "writes: [service]"))
    lab.book(
        LOOK
        + '- { id: tell, type: manual, instructions: "Say.", required_evidence: [{ kind: text, name: notes }] }\n'
        + '- { id: restart, type: tool, tool: change, inputs: { what: "web" } }',
        tools="change",
    )

    async def script(seen):
        await seen.until("look asks")
        await seen.press("enter")
        await seen.until("Ctrl-S send", "Ctrl-R reject", "Esc later", "F1 help")
        await seen.press("question_mark")
        await seen.until("Help: a question", "Ctrl-R", "Space", "tick or clear a box", "Tab")
        assert "PgUp" not in seen.text
        await seen.press("escape")
        await seen.until("[ ] fans")
        await seen.press("space", "tab", "space", "ctrl+s")
        await seen.until("[ ] fans" if "[ ] fans" in seen.text else "tell asks")
        await seen.until("tell asks")
        await seen.press("enter")
        await seen.until("[ Send ]")
        await seen.press("question_mark", "f1")  # the first one is text
        await seen.until("Help: a question")
        await seen.press("escape")
        await seen.until("[ Send ]", "?")
        await seen.press("enter")
        await seen.until("needs approval")
        await seen.press("ctrl+x")
        await seen.until("Cancel the run", "Enter choose", "Esc leave", "? help")
        await seen.press("question_mark")
        await seen.until("Help: a choice")
        await seen.press("escape", "escape", "a")
        await seen.until("Approvals: 1")
        await seen.press("y")
        await seen.until("[ Approve ]", "F1 help")
        await seen.press("f1")
        await seen.until("Help: a form", "next line")

    on_tui(lab, "book.yaml", script=script)


def test_the_form_that_rejects_says_which_step(lab):
    lab.book('- { id: look, type: manual, instructions: "Look." }')

    async def script(seen):
        await seen.until("look asks")
        await seen.press("enter")
        await seen.until("[ Confirm ]")
        await seen.press("ctrl+r")
        await seen.until("Reject step look", "Why")

    on_tui(lab, "book.yaml", script=script)


def test_a_default_with_control_characters_does_not_steer_the_terminal(lab):
    lab.book(
        SAYS.replace("size", "note"),
        tools="say",
        meta='inputs: { note: { type: string, default: "a\\e[2Jb\\u202ec" } }',
    )

    async def script(seen):
        await seen.until("No runs yet")
        await seen.press("s")
        await seen.until("book.yaml")
        await seen.press("enter")
        await seen.until("a?[2Jb?c")
        assert "\x1b" not in seen.text
        assert "\u202e" not in seen.text
        await seen.press("ctrl+s")
        await seen.until("says | a", "Outcome")

    on_tui(lab, script=script)
