"""``gert exec`` as people and machines meet it: results, errors, evidence, rehearsals, places it cannot write to."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from gertproc import RESULT_FIELDS
from shell import Shell, chain_is_whole


@pytest.fixture
def shell(tmp_path) -> Shell:
    shell = Shell(tmp_path)
    shell.program("say", 'echo "$@"; touch said')
    shell.tool(
        "say",
        '["say", "{{ .text }}"]',
        contract="{ effects: [network], idempotent: true, inputs: { text: {} }, outputs: { out: {} } }",
        more="extract: { out: { from: stdout } }",
    )
    return shell


SAY = "- { id: a, type: tool, tool: say, inputs: { text: hello } }"


# -- results ---------------------------------------------------------------------------------------------------------------


def test_json_is_one_document_with_the_agreed_fields(shell):
    shell.book(SAY, tools="say")
    result = shell.json("exec", "book.yaml")
    assert list(result) == RESULT_FIELDS
    assert result["next"] == []
    first = result["steps"][0]
    assert float(first.pop("duration").removesuffix("s")) >= 0
    known = {"step_key": "a", "step_id": "a", "type": "tool", "status": "success"}
    assert first == {**known, "waited": None, "file": "book.yaml", "line": first["line"]}
    assert shell.root.joinpath("book.yaml").read_text().splitlines()[first["line"] - 1].startswith("  - ")
    assert result["outputs"] == {"out": "hello"}
    assert result["trace"] == str(shell.trace())
    assert (shell.trace().parent.stat().st_mode & 0o777, shell.trace().stat().st_mode & 0o777) == (0o700, 0o600)


def test_meta_is_printed_in_document_order_then_duration_run_and_trace(shell):
    shell.book(
        """
        - { type: end, outcome: { category: resolved, code: dns_fixed, meta: { z: 1, a: [x, 2], m: { k: true } } } }
        """
    )
    lines = shell.gert("exec", "book.yaml").stdout.splitlines()
    assert lines[:4] == ["✓ Outcome: resolved (dns_fixed) [real]", "  z: 1", '  a: ["x",2]', '  m: {"k":true}']
    assert [line.split(":")[0] for line in lines[4:]] == ["  duration", "  run", "  trace", "  steps"]


def test_a_failing_step_shows_its_command_exit_code_and_last_lines(shell):
    shell.program("bad", "seq 1 20; echo 'it broke' >&2; exit 7")
    shell.tool("bad", '["bad", "an argument"]')
    shell.book("- { id: a, type: tool, tool: bad }", tools="bad")
    done = shell.gert("exec", "book.yaml", code=1)
    assert "command: bad 'an argument'" in done.stderr
    assert "exit code: 7" in done.stderr
    assert "stdout: 20" in done.stderr
    assert "stdout: 1\n" not in done.stderr
    assert "stderr: it broke" in done.stderr
    assert "✗ Run failed [real]" in done.stdout.splitlines()
    assert re.search(r"^  step a \(book.yaml:\d+\): bad exited with code 7: it broke \(exit_code\)$", done.stdout, re.M)


def test_items_that_may_fail_explain_themselves_and_the_step_adds_nothing(shell):
    shell.program("bad", "exit 7")
    shell.tool("bad", '["bad"]')
    shell.book(
        """
        - { id: a, type: tool, tool: bad, continue_on_fail: true, for_each: { as: x, over: [1, 2], parallel: true } }
        - { type: end, outcome: { category: no_action } }
        """,
        tools="bad",
    )
    said = shell.gert("exec", "book.yaml").stderr
    assert said.count("exit_code: bad exited with code 7") == 1, "explained once, though both failed"
    assert "None" not in said


def test_a_program_that_does_not_exist_is_an_error_that_names_it(shell):
    shell.tool("gone", '["no-such-program"]')
    shell.book("- { id: a, type: tool, tool: gone }", tools="gone")
    result = shell.json("exec", "book.yaml", "--no-preflight", code=1)
    assert (result["status"], result["failure"]["kind"]) == ("error", "not_found")
    assert "no-such-program" in result["failure"]["message"]


@pytest.mark.parametrize(
    ("args", "code", "kind"),
    [
        (["missing.yaml"], 2, "usage"),
        (["book.yaml", "--mode", "pretend"], 2, "usage"),
        (["book.yaml", "--var", "nope=1"], 2, None),
        (["book.yaml", "--trace-sync", "often"], 2, "usage"),
        (["broken.yaml"], 1, None),
        (["wrong.yaml"], 1, None),
    ],
)
def test_a_failure_before_a_result_is_one_document_too_and_runs_nothing(shell, args, code, kind):
    shell.book(SAY, tools="say")
    shell.write("broken.yaml", "apiVersion: [")
    shell.write("wrong.yaml", "apiVersion: kernel/v0\nmeta: { name: x }\nsteps: [ { type: nonsense } ]\n")
    result = shell.json("exec", *args, code=code)
    assert list(result) == ["error"]
    assert {"kind", "message", "file", "line", "hint", "diagnostics"} <= set(result["error"])
    assert kind is None or result["error"]["kind"] == kind
    assert shell.runs() == []
    assert not (shell.root / "said").exists()


def test_the_actor_is_the_passwd_name_when_the_environment_is_silent(shell):
    import pwd

    shell.book(SAY, tools="say")
    for name in ("USER", "LOGNAME", "GERT_ACTOR"):
        shell.environ.pop(name, None)
    shell.gert("exec", "book.yaml")
    assert shell.events("run_start")[0]["data"]["actor"] == pwd.getpwuid(os.getuid()).pw_name
    shell.gert("exec", "book.yaml", "--as", "carla")
    assert shell.events("run_start")[0]["data"]["actor"] == "carla"


# -- evidence --------------------------------------------------------------------------------------------------------------

MANUAL = """
- { id: one, type: manual, instructions: "first look" }
- id: two
  type: manual
  instructions: then note
  required_evidence:
    - { kind: text, name: notes }
    - { kind: checklist, name: done_items, items: [ cables, power ] }
    - { kind: attachment, name: photo }
- { id: three, type: manual, instructions: "last", required_evidence: [ { kind: text, name: closing } ] }
"""


def test_one_piped_stdin_answers_several_questions_and_attachments_are_kept(shell):
    shell.book(MANUAL)
    photo = shell.write("photo.txt", "pixels\n")
    result = shell.json("exec", "book.yaml", stdin=f"\nsaw it\n1, 2\n{photo}\nall good")
    digest = hashlib.sha256(b"pixels\n").hexdigest()
    assert result["outputs"] == {
        "notes": "saw it",
        "done_items": {"cables": True, "power": True},
        "photo": {"name": "photo.txt", "sha256": digest, "size": 7},
        "closing": "all good",
    }
    assert (shell.runs()[-1] / "attachments" / "photo.txt").read_text() == "pixels\n"
    assert digest in shell.trace().read_text()


def test_reject_fails_the_step_with_its_reason(shell):
    shell.book(MANUAL)
    result = shell.json("exec", "book.yaml", stdin="\nreject it smells\n", code=1)
    assert (result["status"], result["failure"]["kind"]) == ("failed", "rejected")
    assert "it smells" in result["failure"]["message"]


def test_an_answer_that_cannot_be_used_is_asked_again(shell):
    shell.book(MANUAL)
    done = shell.gert("exec", "book.yaml", stdin=f"\n\nnote\n9\nall\n/no/such/file\n{__file__}\nend\n")
    assert "An answer is needed." in done.stderr
    assert "numbers from 1 to 2" in done.stderr
    assert "/no/such/file" in done.stderr


def test_the_end_of_input_is_an_error_and_so_is_no_input(shell):
    shell.book(MANUAL)
    for more, stdin in (([], "\nsaw it\n"), (["--no-input"], "\nsaw it\nall\n")):
        result = shell.json("exec", "book.yaml", *more, stdin=stdin, code=1)
        assert (result["status"], result["failure"]["kind"]) == ("error", "evidence_unavailable")


# -- rehearsals --------------------------------------------------------------------------------------------------------------


def test_a_dry_run_shows_everything_and_spawns_nothing(shell):
    path = shell.root / "tools" / "say.tool.yaml"
    path.write_text(
        path.read_text().replace("transport: stdio", "transport: stdio, platform: [linux, darwin]")
        + "secrets: [ { env: HAVE }, { env: LACK } ]\n"
    )
    shell.book(
        """
        - { id: a, type: tool, tool: say, inputs: { text: "{{ .host }}" } }
        - id: fork
          type: branch
          branches:
            - { label: fine, condition: '{{ eq .out "ok" }}', steps: [ { id: e1, type: end, outcome: { category: no_action, code: fine } } ] }
            - { label: odd, condition: default, steps: [ { id: b, type: tool, tool: say, inputs: { text: "{{ .out }}" } } ] }
        - { type: end, outcome: { category: resolved, code: ok } }
        """,
        tools="say",
        meta="inputs: { host: {} }\nsecrets: [ { env: MINE } ]",
    )
    done = shell.gert("exec", "book.yaml", "--mode", "dry-run", "--var", "host=srv", HAVE="have-a-value")
    text = done.stdout
    assert "contract: effects network, writes none, idempotent" in text
    assert "governance: allow (risk low)" in text
    assert "input text = srv" in text
    assert "input text = {{ .out }}" in text
    assert "secret HAVE: present" in text
    assert "secret LACK: missing" in text
    assert "secret MINE: missing" in text
    assert "platform: linux, darwin" in text
    assert "? fine" in text
    assert "? odd" in text
    assert "Possible outcomes: no_action (fine), resolved (ok) [dry-run]" in text
    assert not (shell.root / "said").exists()
    result = shell.json("exec", "book.yaml", "--mode", "dry-run", "--var", "host=srv")
    assert [o["code"] for o in result["possible_outcomes"]] == ["fine", "ok"]


# -- places ------------------------------------------------------------------------------------------------------------------


def test_trace_goes_where_it_is_told_and_the_run_directory_knows(shell):
    shell.book(SAY, tools="say")
    result = shell.json("exec", "book.yaml", "--trace", "my.jsonl")
    assert result["trace"].endswith("my.jsonl")
    assert chain_is_whole(shell.root / "my.jsonl")
    assert json.loads((shell.runs()[-1] / "meta.json").read_text())["trace"] == str(shell.root / "my.jsonl")


def test_a_trace_file_that_holds_an_earlier_run_is_refused_and_left_alone(shell):
    shell.book(SAY, tools="say")
    shell.json("exec", "book.yaml", "--trace", "my.jsonl")
    before = (shell.root / "my.jsonl").read_bytes()
    (shell.root / "said").unlink()
    result = shell.json("exec", "book.yaml", "--trace", "my.jsonl", code=None)
    assert "my.jsonl" in result["error"]["message"]
    assert (shell.root / "my.jsonl").read_bytes() == before
    assert not (shell.root / "said").exists()


def test_a_directory_that_cannot_be_written_is_refused_before_anything_runs(shell):
    shell.book(SAY, tools="say")
    (shell.root / "runs").write_text("in the way")  # works for root too, unlike permissions
    result = shell.json("exec", "book.yaml", code=1)
    assert "runs" in result["error"]["message"]
    assert not (shell.root / "said").exists()


def test_a_full_disk_stops_the_run_and_keeps_what_was_written(shell):
    shell.program("flood", "head -c 30000 /dev/zero | tr '\\0' x")
    shell.tool(
        "flood",
        '["flood"]',
        contract="{ effects: [network], outputs: { out: {} } }",
        more="extract: { out: { from: stdout } }",
    )
    steps = "\n".join(f"- {{ id: s{i}, type: tool, tool: flood }}" for i in range(9))
    shell.book(steps, tools="flood")
    code = (
        "import resource, runpy, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (150000, 150000)); "
        "sys.argv = ['gert', 'exec', 'book.yaml', '--json']; runpy.run_module('gert_core', run_name='__main__')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=shell.root, env=shell.environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    result = json.loads(done.stdout)
    assert "trace" in result["error"]["message"]
    lines = shell.trace().read_bytes().splitlines()
    assert all(json.loads(line) for line in lines)
    assert len(lines) > 5
    assert shell.json("trace", "verify", str(shell.trace()), code=1)["verdict"] == "truncated"


# -- integrity ----------------------------------------------------------------------------------------------------------------

SIGN = {
    "GERT_TRACE_SIGNING_KEY": base64.b64encode(b"a key of thirty-two bytes length").decode(),
    "GERT_TRACE_SIGNING_KEY_ID": "prod-2026",
}


def test_editing_any_byte_of_a_signed_trace_is_detected(shell):
    from gert_core.plugin.registry import Registry
    from gert_core.trace.signing import verifying_key
    from gert_core.trace.verify import verify

    shell.book(SAY, tools="say")
    shell.gert("exec", "book.yaml", **SIGN)
    trace = shell.trace()
    assert chain_is_whole(trace)
    whole = trace.read_bytes()
    registry = Registry.build()

    def verdict() -> str:
        found = verify(
            trace,
            key_for=lambda alg, kid: verifying_key(alg, kid, environ=SIGN),
            schemes=registry.signature_scheme,
        )
        return str(found.status)

    assert verdict() == "valid"
    last = whole.rindex(b"\n", 0, -1) + 1
    positions = {*range(0, last, 53), *range(last, len(whole))}
    for position in sorted(positions):
        changed = bytearray(whole)
        changed[position] ^= 0x01
        trace.write_bytes(changed)
        assert verdict() != "valid", (position, whole[max(0, position - 20) : position + 20])
    for cut in (1, 100, len(whole) - last):
        trace.write_bytes(whole[:-cut])
        assert verdict() != "valid"


def test_verify_tells_a_good_signature_from_one_nobody_can_check(shell):
    shell.book(SAY, tools="say")
    shell.gert("exec", "book.yaml", **SIGN)
    assert shell.json("trace", "verify", str(shell.trace()), **SIGN)["verdict"] == "valid"
    unchecked = shell.json("trace", "verify", str(shell.trace()), code=1)
    assert unchecked["key_id"] == "prod-2026"
    assert unchecked["valid"] is False


# -- the debate of E§18 --------------------------------------------------------------------------------------------------------

JUDGE = """#!/usr/bin/env python3
import json, sys
for line in sys.stdin:
    call = json.loads(line)
    if call["method"] == "initialize":
        result = {"protocol_version": "1", "principal": {"kind": "agent", "id": "judge-1", "role": "judge"}}
    elif call["method"] == "execute":
        items = call["params"]["inputs"]["items"]
        result = {"outputs": {"decision": "consensus", "winner": sorted(items["round_0"])[0],
                              "summary": items["round_1"]["skeptic"]["response"]}}
    else:
        result = {}
    if "id" in call:
        print(json.dumps({"jsonrpc": "2.0", "id": call["id"], "result": result}), flush=True)
    if call["method"] == "shutdown":
        break
"""


def test_the_debate_runs_with_local_stand_ins(shell):
    data = Path(__file__).parents[1] / "data" / "mad"
    shutil.copytree(data, shell.root, dirs_exist_ok=True)
    shell.program("gert-llm-provider", 'sleep 0.1; echo "said $2 $3 $#"')
    shell.program("gert-ext-judge-llm", JUDGE)
    result = shell.json("exec", "runbook.yaml", "--var", "question=why", ANTHROPIC_API_KEY="sk-test-0123456789")
    assert result["outcome"] == {
        "category": "resolved",
        "code": "debate_complete",
        "meta": {
            "winner": "advocate",
            "decision": "consensus",
            "summary": "said --model claude-4-opus 5",
        },
    }
    start = next(e for e in shell.events("step_start") if e["step_key"] == "judge")["data"]
    assert list(start["inputs"]["items"]["round_0"]) == ["advocate", "skeptic", "analyst"]
    done = next(e for e in shell.events("step_complete") if e["step_key"] == "judge")
    assert done["principal"] == {"kind": "agent", "id": "judge-1", "role": "judge"}
    assert {e["step_key"] for e in shell.events("visibility_applied")} >= {"critiques[advocate]", "critiques[analyst]"}
    prompts = {
        e["step_key"]: e["data"]["inputs"]["prompt"]
        for e in shell.events("step_start")
        if "inputs" in e["data"] and "prompt" in e["data"]["inputs"]
    }
    assert prompts["initial_responses[skeptic]"] == "argue against: why"
    assert '"analyst":{"response":"said' in prompts["critiques[skeptic]"]
    assert chain_is_whole(shell.trace())
