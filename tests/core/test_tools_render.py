"""``tools.render_action`` and ``preview``: an action of a tool with the step's inputs put in."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from gert_core.api import StepProblem
from gert_core.contracts import tool_contract
from gert_core.documents.tool import ToolModel
from gert_core.documents.tree import ToolNode
from gert_core.template import Symbol
from gert_core.tools import preview, render_action


def node(action: dict, *, inputs: dict | None = None, binary: str | None = None) -> ToolNode:
    meta = {"name": "demo", "transport": "stdio"} | ({"binary": binary} if binary else {})
    model = ToolModel.model_validate(
        {
            "apiVersion": "tool/v0",
            "meta": meta,
            "contract": {"inputs": inputs or {}},
            "actions": {"act": action},
        }
    )
    contract, _ = tool_contract(model, "act")
    return ToolNode(name="demo", tool=model, document=SimpleNamespace(), contracts={"act": contract})


def render(action: dict, given: dict, **options):
    return render_action(node(action, **options), "act", given, idempotency_key="k")


def test_every_field_is_rendered():
    action = render(
        {
            "argv": ["curl", "-H", "x: {{ .a }}", "{{ .url }}"],
            "stdin": "body {{ .a }}",
            "env": {"TOKEN": "{{ .a }}", "PLAIN": "p"},
            "method": "get/{{ .a }}",
            "config": {"path": "/x/{{ .a }}", "deep": [{"n": "{{ .count }}"}, 2], "plain": {"on": True}},
        },
        {"a": "1", "url": "http://x", "count": 3},
    )
    assert action.argv == ("curl", "-H", "x: 1", "http://x")
    assert (action.stdin, action.env, action.method) == ("body 1", {"TOKEN": "1", "PLAIN": "p"}, "get/1")
    assert action.config == {"path": "/x/1", "deep": [{"n": 3}, 2], "plain": {"on": True}}
    assert (action.name, action.idempotency_key) == ("act", "k")


def test_the_config_handed_out_is_a_copy():
    tool = node({"config": {"plain": {"on": True}}})
    render_action(tool, "act", {}, idempotency_key="k").config["plain"]["on"] = False
    assert render_action(tool, "act", {}, idempotency_key="k").config == {"plain": {"on": True}}


def test_a_template_in_the_config_that_cannot_be_rendered_is_the_steps_error():
    with pytest.raises(StepProblem, match="config of action 'act' of tool 'demo'") as caught:
        render({"config": {"x": ["{{ .nothing }}"]}}, {})
    assert caught.value.kind == "template"


@pytest.mark.parametrize("action", [{"mcp_tool": "find-{{ .a }}"}, {"config": {"mcp_tool": "find-{{ .a }}"}}])
def test_the_mcp_tool_is_part_of_the_config_wherever_it_is_written(action):
    assert render(action, {"a": "x"}).config == {"mcp_tool": "find-x"}


@pytest.mark.parametrize(
    ("value", "word"),
    [
        (None, ""),
        (5, "5"),
        (1.5, "1.5"),
        (True, "true"),
        ([1, "a b"], '[1,"a b"]'),
        ({"a": None}, '{"a":null}'),
        ("", ""),
        ("two words", "two words"),
    ],
)
def test_every_value_is_one_argument(value, word):
    assert render({"argv": ["x", "{{ .v }}", "-"]}, {"v": value}).argv == ("x", word, "-")


def test_scalars_of_the_document_become_text():
    assert render({"argv": ["sleep", 5, True, 1.5]}, {}).argv == ("sleep", "5", "true", "1.5")


def test_data_is_never_rendered_again():
    hostile = "{{ .secret }} $(id) {% x %}"
    assert render({"argv": ["x", "{{ .v }}", "a{{ .v }}"]}, {"v": hostile, "secret": "s"}).argv == (
        "x",
        hostile,
        "a" + hostile,
    )


def test_a_declared_input_that_nobody_gives_is_empty():
    assert render({"argv": ["x", "{{ .opt }}"]}, {}, inputs={"opt": {"type": "string"}}).argv == ("x", "")


def test_an_unknown_variable_says_where():
    with pytest.raises(StepProblem) as caught:
        render({"argv": ["x", "{{ .hots }}"]}, {"host": "h"})
    assert caught.value.kind == "template"
    assert "argv[1] of action 'act' of tool 'demo'" in caught.value.message
    assert "hots" in caught.value.message


def test_a_preview_is_the_command_line_with_what_is_known():
    action = {"argv": ["x", "{{ .a }}", "n={{ .b }}", "-v"]}
    unknown = Symbol("{{ .later }}")
    assert preview(node(action), "act", {"a": "1", "b": "2"}) == ("x", "1", "n=2", "-v")
    assert preview(node(action, binary="/opt/x"), "act", {"a": unknown, "b": "2"})[:3] == (
        "/opt/x",
        "{{ .later }}",
        "n=2",
    )


def test_a_preview_of_a_call_is_its_program_and_method():
    assert preview(node({"method": "get"}, binary="server"), "act", {}) == ("server", "get")
    assert preview(node({"config": {"path": "find"}}), "act", {}) == ("demo", "act")
