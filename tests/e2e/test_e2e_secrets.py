"""Secrets: in nothing gert writes, whatever form a tool gives them; and who may see which."""

from __future__ import annotations

import base64
import json
import urllib.parse

import pytest
from shell import Shell

KEY = '-----BEGIN KEY-----\nMIIEvQIBADANBgkq"h\\kiG9w0\nBAQEFAASCBKcwggSj/AgEAA==\n-----END KEY-----'
TOKEN = "t0k/en+with spaces&more"


@pytest.fixture
def shell(tmp_path) -> Shell:
    return Shell(tmp_path)


def everything(shell: Shell, *results) -> str:
    """All that gert wrote: files of the runs and both streams."""
    texts = [path.read_text(errors="replace") for path in (shell.root / "runs").rglob("*") if path.is_file()]
    return "\n".join([*texts, *(r.stdout + r.stderr for r in results)])


LEAK = """#!/usr/bin/env python3
import base64, json, os, sys, urllib.parse
for name in ("KEY", "TOKEN"):
    value = os.environ[name]
    print(value)
    print(json.dumps(value))
    print(urllib.parse.quote(value, safe=""))
    print(base64.b64encode(value.encode()).decode())
    print(value.splitlines()[-1], file=sys.stderr)
half = len(os.environ["TOKEN"]) // 2
sys.stdout.write(os.environ["TOKEN"][:half]); sys.stdout.flush()
sys.stderr.write(os.environ["TOKEN"][half:])
sys.exit(int(sys.argv[1]))
"""


@pytest.mark.parametrize("code", ["0", "3"])
def test_no_form_of_a_secret_reaches_trace_terminal_or_json(shell, code):
    shell.program("leak", LEAK)
    shell.tool(
        "leak",
        '["leak", "{{ .code }}"]',
        contract="{ effects: [network], inputs: { code: {} }, outputs: { all: {} } }",
        more="extract: { all: { from: stdout } }",
    )
    shell.book(
        """
        - { id: a, type: tool, tool: leak, inputs: { code: "{{ .code }}" }, continue_on_fail: true }
        - { id: m, type: manual, instructions: "{{ .a.all | default 'none' }}" }
        - { type: end, outcome: { category: resolved, code: "{{ .a.status }}", meta: { said: "{{ .a.all | default 'none' }}" } } }
        """.replace("'none'", '\\"none\\"'),
        tools="leak",
        meta="inputs: { code: {} }\nsecrets: [ { env: KEY }, { env: TOKEN } ]",
    )
    human = shell.gert("exec", "book.yaml", "--var", f"code={code}", stdin="\n", KEY=KEY, TOKEN=TOKEN)
    machine = shell.gert("exec", "book.yaml", "--var", f"code={code}", "--json", stdin="\n", KEY=KEY, TOKEN=TOKEN)
    text = everything(shell, human, machine)
    for value in (KEY, TOKEN):
        for form in (
            value,
            json.dumps(value)[1:-1],
            json.dumps(json.dumps(value))[1:-1],
            urllib.parse.quote(value, safe=""),
            base64.b64encode(value.encode()).decode(),
        ):
            assert form not in text
    for line in KEY.splitlines()[1:3]:
        assert line not in text
        assert json.dumps(line)[1:-1] not in text
    assert "<REDACTED:TOKEN>" in text
    assert "<REDACTED:KEY:b64>" in text
    assert shell.events("redaction_applied")
    if code == "0":
        assert "<REDACTED:TOKEN" in human.stdout
        assert json.loads(machine.stdout)["outcome"]["meta"]["said"].count("<REDACTED:") >= 8


def test_a_secret_that_a_tool_returned_is_the_real_one_for_the_next_tool(shell):
    shell.program("give", "echo $TOKEN")
    shell.program("take", '[ "$1" = "$TOKEN" ] && echo same')
    outputs = "{ effects: [network], outputs: { got: {} } }"
    shell.tool("give", '["give"]', contract=outputs, more="extract: { got: { from: stdout } }")
    shell.tool(
        "take",
        '["take", "{{ .x }}"]',
        contract="{ effects: [network], inputs: { x: {} }, outputs: { r: {} } }",
        more="extract: { r: { from: stdout } }",
    )
    shell.book(
        '- { id: a, type: tool, tool: give }\n- { id: b, type: tool, tool: take, inputs: { x: "{{ .got }}" } }',
        tools="give, take",
        meta="secrets: [ { env: TOKEN } ]",
    )
    result = shell.json("exec", "book.yaml", TOKEN="long-enough-secret")
    assert result["outputs"] == {"got": "<REDACTED:TOKEN>", "r": "same"}
    starts = {e["step_key"]: e["data"]["inputs"] for e in shell.events("step_start")}
    assert starts["b"] == {"x": "<REDACTED:TOKEN>"}


def test_a_tool_sees_its_own_and_the_runbooks_secrets_and_no_keys_of_gert(shell):
    shell.program("env-names", "env | cut -d= -f1 | sort | tr '\\n' ' '")
    for name in ("one", "two"):
        shell.tool(
            name,
            '["env-names"]',
            contract="{ effects: [network], outputs: { names: {} } }",
            more="extract: { names: { from: stdout } }",
        )
        path = shell.root / "tools" / f"{name}.tool.yaml"
        path.write_text(path.read_text() + f"secrets: [ {{ env: SECRET_{name.upper()} }} ]\n")
    shell.book(
        "- { id: a, type: tool, tool: one }\n- { id: b, type: tool, tool: two }",
        tools="one, two",
        meta="secrets: [ { env: SHARED } ]",
    )
    shell.gert(
        "exec",
        "book.yaml",
        SECRET_ONE="first-secret",
        SECRET_TWO="other-secret",
        SHARED="common-secret",
        GERT_TRACE_SIGNING_KEY="c2lnbmluZy1rZXktc2lnbmluZy1rZXkhISEh",
        GERT_TRACE_SIGNING_KEY_ID="k1",
        GERT_APPROVAL_VERIFY_KEY_ALICE="YWJj",
    )
    seen = {e["step_key"]: set(e["data"]["outputs"]["names"].split()) for e in shell.events("step_complete")[:2]}
    for key, mine, other in (("a", "SECRET_ONE", "SECRET_TWO"), ("b", "SECRET_TWO", "SECRET_ONE")):
        assert {mine, "SHARED", "GERT_IDEMPOTENCY_KEY"} <= seen[key]
        assert other not in seen[key]
        assert not {name for name in seen[key] if name.startswith("GERT_") and "KEY" in name} - {"GERT_IDEMPOTENCY_KEY"}


def test_a_missing_secret_is_an_error_before_anything_is_spawned(shell):
    shell.program("touchy", "touch spawned")
    shell.tool("touchy", '["touchy"]')
    path = shell.root / "tools" / "touchy.tool.yaml"
    path.write_text(path.read_text() + "secrets: [ { env: NEEDED } ]\n")
    shell.book("- { id: a, type: tool, tool: touchy }", tools="touchy")
    result = shell.json("exec", "book.yaml", "--no-preflight", code=1)
    assert (result["status"], result["failure"]["kind"]) == ("error", "secret_missing")
    assert "touchy" in result["failure"]["message"]
    assert "NEEDED" in result["failure"]["message"]
    assert not (shell.root / "spawned").exists()


def test_a_missing_secret_of_the_runbook_stops_an_extension_too(shell):
    shell.program("gert-ext-judge", "touch spawned")
    shell.book(
        "- { id: a, type: extension, extension: judge, contract: { effects: [network] } }",
        meta="secrets: [ { env: NEEDED } ]",
    )
    result = shell.json("exec", "book.yaml", "--no-preflight", code=1)
    assert result["failure"]["kind"] == "secret_missing"
    assert not (shell.root / "spawned").exists()


def test_an_approver_sees_masks_and_secret_inputs_are_masked_too(shell):
    shell.program("use", "exit 0")
    shell.tool("use", '["use", "{{ .pw }}"]', contract="{ effects: [db], writes: [db], inputs: { pw: {} } }")
    shell.book(
        "- { id: a, type: tool, tool: use, inputs: { pw: '{{ .password }}' } }",
        tools="use",
        meta="inputs: { password: { secret: true } }\ngovernance: { rules: [ { writes: [db], action: require-approval } ] }",
    )
    done = shell.gert("exec", "book.yaml", "--var", "password=hunter2-hunter2", stdin="y\n")
    assert "pw = <REDACTED:password>" in done.stderr
    assert "hunter2" not in everything(shell, done)


def test_output_cannot_forge_a_mask(shell):
    shell.program("forge", "echo '<REDACTED:TOKEN>'")
    shell.tool(
        "forge",
        '["forge"]',
        contract="{ effects: [network], outputs: { got: {} } }",
        more="extract: { got: { from: stdout } }",
    )
    shell.book("- { id: a, type: tool, tool: forge }", tools="forge", meta="secrets: [ { env: TOKEN } ]")
    assert shell.json("exec", "book.yaml", TOKEN="long-enough-secret")["outputs"] == {"got": "<REDACTED::TOKEN>"}


def test_a_short_secret_is_refused_before_anything_runs(shell):
    shell.book("- { id: m, type: manual, instructions: look }", meta="secrets: [ { env: PIN } ]")
    result = shell.json("exec", "book.yaml", code=2, PIN="123")
    assert result["error"]["kind"] == "secret_too_short"
    assert shell.runs() == []
