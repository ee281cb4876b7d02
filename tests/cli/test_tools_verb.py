"""``gert tools list`` and ``gert tools show``: what every tool can do, with steps to paste."""

from __future__ import annotations

import textwrap

import pytest
from gertproc import Gert

from gert_core.explain.tools import tool_entries
from gert_core.plugin.registry import Registry
from gert_core.validation import validate_file

TOOL = """\
apiVersion: tool/v0
meta: { name: box, description: A box, secrets: [{ env: BOX_TOKEN, description: its key }] }
actions:
  open:
    description: Open it
    argv: [echo, "{{ .name }}", "{{ .deep }}"]
    contract:
      effects: [host]
      writes: [lid]
      idempotent: true
      inputs: { name: { type: string, required: true, description: whose }, deep: { type: int, default: 2 } }
      outputs: { inside: { type: string } }
    extract: { inside: { from: stdout } }
"""


@pytest.fixture
def gert(tmp_path):
    made = Gert(tmp_path)
    made.write(tool_box=TOOL)
    return made


def test_the_list_has_the_tools_here_and_those_of_packs(gert):
    said = gert("tools", "list")
    assert said.code == 0
    header, first, *_ = said.out.splitlines()
    assert header.split() == ["TOOL", "ACTION", "RISK", "WRITES", "DOES"]
    assert first.split() == ["box", "open", "medium", "lid", "Open", "it"]
    assert any(line.startswith("net/curl ") for line in said.out.splitlines())
    tools = {tool["name"]: tool for tool in gert("tools", "list", "--json").document["tools"]}
    assert tools["box"]["pack"] is None
    assert tools["net/curl"]["pack"] == "net"
    action = tools["box"]["actions"]["open"]
    assert (action["risk"], action["risk_reason"]) == ("medium", "effects + writes + idempotent")
    assert action["inputs"] == {
        "name": {"type": "string", "required": True},
        "deep": {"type": "int", "required": False, "default": 2},
    }
    assert action["contract"]["writes"] == ["lid"]
    assert tools["box"]["secrets"][0]["env"] == "BOX_TOKEN"


def test_a_tool_is_shown_with_a_step_to_paste(gert):
    said = gert("tools", "show", "box")
    assert said.code == 0
    for line in (
        "box",
        "  A box",
        "  secret: BOX_TOKEN (missing): its key",
        "  open: Open it",
        "    input: name (string, required): whose",
        "    input: deep (int, default 2)",
        "    output: inside (string)",
        "    risk: medium: effects + writes + idempotent",
        "      - id: open",
        "        type: tool",
        '          name: "NAME"',
    ):
        assert line in said.out.splitlines(), (line, said.out)
    assert gert("tools", "show", "curl").out.startswith("net/curl\n")


def test_mistakes_are_explained(gert):
    said = gert("tools", "show", "crul")
    assert said.code == 2
    assert "there is no tool 'crul' here" in said.err
    assert "did you mean `net/curl`?" in said.err
    gert.write(tool_broken="apiVersion: tool/v0\nmeta: { name: broken }\nactions: {}\n")
    assert "broken  not valid: " in gert("tools", "list").out
    assert gert("tools", "show", "broken").code == 1


ENTRIES = list(
    tool_entries(registry=Registry.build(), project=None, base=__import__("pathlib").Path("nowhere"), environ={})
)


def test_every_installed_pack_has_valid_tools():
    assert ENTRIES
    assert not [entry.name for entry in ENTRIES if entry.problem]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_the_examples_of_installed_tools_are_valid_steps(entry, tmp_path):
    registry = Registry.build()
    for action in entry.actions:
        assert action.example, action.name
        book = tmp_path / "book.yaml"
        end = "- {type: end, outcome: {category: resolved}}\n"
        steps = textwrap.indent(action.example + end, "  ")
        book.write_text(f"apiVersion: kernel/v0\nmeta: {{name: pasted}}\ntools: [{entry.name}]\nsteps:\n{steps}")
        found = validate_file(book, registry=registry, environ={})
        assert found.valid, (action.example, [d.message for d in found.diagnostics])
