"""jq for real where it is installed, and the words it gets everywhere."""

from __future__ import annotations

import os
from pathlib import Path

import gert_tools_json
import pytest

from gert_core.testing.packs import StandIn, ToolPackConformance, call, outputs, path_with

DATA = {"pods": [{"name": "a", "up": True}, {"name": "b", "up": False}]}


class TestPack(ToolPackConformance):
    plugin = gert_tools_json
    books = Path(__file__).parent / "books"


@pytest.mark.parametrize(
    ("action", "data", "filter_", "output", "expected"),
    [
        ("query", DATA, ".pods | length", "result", 2),
        ("query", '{"a": [1, {"b": null}]}', ".a[1]", "result", {"b": None}),
        ("query", "5", "-. # a filter that begins with a minus, and a comment", "result", -5),
        ("query", '"größer {{ .x }}"', ".", "result", "größer {{ .x }}"),
        ("values", DATA, ".pods[] | select(.up) | .name # which", "results", ["a"]),
        ("values", DATA, "empty", "results", []),
        ("text", DATA, ".pods[].name", "text", "a\nb"),
        ("text", DATA, "--arg", "text", None),
    ],
)
def test_a_filter(gert_run, tmp_path, action, data, filter_, output, expected):
    import json

    canned = expected if action == "text" else json.dumps(expected)
    answer = {"stderr": "no", "exit_code": 3} if expected is None else {"stdout": canned}
    gert_run.environ = {"PATH": path_with(tmp_path / "bin", "jq", **answer)}
    ran = call(gert_run, "json/jq", action, {"data": data, "filter": filter_})
    if expected is None:
        ran.assert_failed("exit_code")
    else:
        ran.assert_outcome("resolved")
        assert outputs(ran)[output] == expected


def test_the_words_jq_gets(gert_run, tmp_path):
    stand_in = StandIn.make(tmp_path / "bin", "jq", stdout="[]")
    gert_run.environ = {"PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}
    call(gert_run, "json/jq", "query", {"data": DATA, "filter": "--from-file"}).assert_outcome("resolved")
    call(gert_run, "json/jq", "values", {"data": "[1]", "filter": ".[]"}).assert_outcome("resolved")
    call(gert_run, "json/jq", "text", {"data": "1", "filter": "."}).assert_outcome("resolved")
    assert [c["argv"] for c in stand_in.calls] == [
        ["--compact-output", " --from-file"],
        ["--compact-output", " [\n.[]\n]"],
        ["--raw-output", " ."],
    ]
    assert stand_in.calls[0]["stdin"] == '{"pods":[{"name":"a","up":true},{"name":"b","up":false}]}'
