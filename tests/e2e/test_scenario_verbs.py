"""``gert scenario`` and ``gert diff``: recordings listed, promoted, demoted, pruned, scanned and compared."""

from __future__ import annotations

import json
import subprocess
from base64 import b64encode
from datetime import UTC, datetime, timedelta

import pytest
from shell import Shell

from gert_core.scenarios.recording.scan import hits_in

BOOK = """\
apiVersion: kernel/v0
meta:
  name: service-health-check
  inputs: { host: { type: string, default: srv1 } }
tools: [look]
steps:
  - { id: probe, type: tool, tool: look, inputs: { item: "{{ .host }}" } }
  - id: decide
    type: branch
    branches:
      - condition: '{{ eq .word "dns" }}'
        steps:
          - { id: investigate, type: tool, tool: look, inputs: { item: dns } }
          - { id: unknown, type: end, outcome: { category: escalated, code: unknown_failure } }
      - condition: default
        steps: [{ id: fine, type: end, outcome: { category: resolved, code: service_restarted } }]
"""
FIXED = BOOK.replace(
    "investigate, type: tool, tool: look, inputs: { item: dns } }\n"
    "          - { id: unknown, type: end, outcome: { category: escalated, code: unknown_failure } }",
    "dns_repair, type: tool, tool: look, inputs: { item: dns } }\n"
    "          - { id: repaired, type: end, outcome: { category: resolved, code: dns_fixed } }",
)
TOOL = {
    "contract": "{ effects: [network], inputs: { item: { type: string } }, outputs: { word: { type: string } } }",
    "more": "extract: { word: { from: stdout } }",
}


@pytest.fixture
def shell(tmp_path) -> Shell:
    made = Shell(tmp_path)
    made.program("look", "echo $1")
    made.tool("look", '["look", "{{ .item }}"]', **TOOL)
    made.write("book.yaml", BOOK)
    return made


def record(shell: Shell, name: str, *args: str) -> None:
    assert shell.json("exec", "book.yaml", "--record", name, *args)["record"]["written"] is True


def golden(shell: Shell) -> None:
    record(shell, "srv1-incident")
    record(shell, "srv2-incident", "--var", "host=dns")
    for name in ("srv1-incident", "srv2-incident"):
        shell.gert("scenario", "promote", name)


# -- diff -----------------------------------------------------------------------------------------------------------


def test_differences_are_shown_as_designed(shell):
    golden(shell)
    same = shell.gert("diff", "book.yaml")
    assert same.stdout.endswith("  2 unchanged, 0 changed\n")
    shell.write("book.yaml", FIXED)
    done = shell.gert("diff", "book.yaml", code=1)
    assert (
        done.stdout
        == """\
  service-health-check

  Scenario: srv1-incident
    Before: resolved (service_restarted)
    After:  resolved (service_restarted)     ✓ same

  Scenario: srv2-incident
    Before: escalated (unknown_failure)
    After:  resolved (dns_fixed)             ⚠ outcome changed!
    Steps changed:
      + decide/0/dns_repair (newly reached)
      + decide/0/repaired (newly reached)
      - decide/0/investigate (no longer reached)
      - decide/0/unknown (no longer reached)

  1 unchanged, 1 changed
"""
    )


def test_the_document_of_differences(shell):
    golden(shell)
    shell.write("book.yaml", FIXED)
    (book,) = shell.json("diff", "book.yaml", code=1)["runbooks"]
    assert book["summary"] == {"unchanged": 1, "changed": 1, "errors": 0}
    same, changed = book["scenarios"]
    assert (same["same"], changed["same"]) == (True, False)
    assert changed["before"] == {"status": "completed", "outcome": "escalated", "code": "unknown_failure"}
    assert changed["after"] == {"status": "completed", "outcome": "resolved", "code": "dns_fixed"}
    assert changed["steps"]["removed"] == ["decide/0/investigate", "decide/0/unknown"]
    assert changed["error"] is None
    assert set(changed) == {"scenario", "before", "after", "same", "steps", "outputs", "decisions", "error"}


def test_changed_outputs_and_decisions_are_shown(shell):
    golden(shell)
    rules = "  governance: { rules: [{ effects: [network], action: require-approval }] }\ntools:"
    shell.write("book.yaml", BOOK.replace("tools:", rules))
    shell.tool(
        "look", '["look", "{{ .item }}"]', **{**TOOL, "more": 'extract: { word: { from: stdout, pattern: "(.)" } }'}
    )
    done = shell.gert("diff", "book.yaml", "--scenario", "srv1-incident", code=1)
    assert '      word: "srv1" → "s"\n' in done.stdout
    assert "      probe: allow → require-approval\n" in done.stdout
    (book,) = shell.json("diff", "book.yaml", "--scenario", "srv1-incident", code=1)["runbooks"]
    assert book["scenarios"][0]["outputs"] == {"word": ["srv1", "s"]}
    assert book["scenarios"][0]["decisions"] == [{"step": "probe", "before": "allow", "after": "require-approval"}]


def test_a_response_that_is_missing_is_named(shell):
    golden(shell)
    more = "  - { id: again, type: tool, tool: look, inputs: { item: x } }\n  - id: decide"
    shell.write("book.yaml", BOOK.replace("  - id: decide", more))
    done = shell.gert("diff", "book.yaml", "--scenario", "srv1*", code=1)
    assert "    ⚠ cannot be replayed: needs a response for look:do\n" in done.stdout
    assert "0 unchanged, 0 changed, 1 error" in done.stdout


def test_a_scenario_without_a_trace_is_compared_with_its_test(shell):
    shell.write("scenarios/book/hand/scenario.yaml", "tool_responses: { look: [{ stdout: dns }, { stdout: x }] }")
    shell.write(
        "scenarios/book/hand/test.yaml",
        "expected_outcome: escalated\nmust_reach: [investigate]\nmust_not_reach: [fine]\n",
    )
    shell.gert("diff", "book.yaml")
    shell.write("book.yaml", FIXED)
    done = shell.gert("diff", "book.yaml", code=1)
    assert "- investigate (no longer reached)" in done.stdout
    assert "Before: escalated\n" in done.stdout


def test_differences_since_a_revision(shell):
    golden(shell)
    git = ["git", "-c", "user.name=olga", "-c", "user.email=olga@example.org"]
    for args in (["init", "-q"], ["add", "."], ["commit", "-qm", "First"]):
        subprocess.run([*git, *args], cwd=shell.root, check=True, env=shell.environ)
    shell.write("book.yaml", FIXED)
    assert "1 unchanged, 1 changed" in shell.gert("diff", "book.yaml", "--against", "HEAD", code=1).stdout
    for args in (["add", "."], ["commit", "-qm", "Second"]):
        subprocess.run([*git, *args], cwd=shell.root, check=True, env=shell.environ)
    assert "2 unchanged, 0 changed" in shell.gert("diff", "book.yaml", "--against", "HEAD").stdout
    assert "1 changed" in shell.gert("diff", "book.yaml", "--against", "HEAD~1", code=1).stdout
    done = shell.gert("diff", "book.yaml", "--against", "no-such", code=2)
    assert "there is no revision 'no-such'" in done.stderr
    shell.gert("diff", "book.yaml", "--against", "--output=x", code=2)


def test_without_golden_scenarios_all_are_compared_and_with_some_the_others_are_counted(shell):
    record(shell, "one")
    assert "1 unchanged" in shell.gert("diff", "book.yaml").stdout
    record(shell, "two", "--var", "host=dns")
    shell.gert("scenario", "promote", "two")
    done = shell.gert("diff", "book.yaml")
    assert "(1 not golden, --all compares them)" in done.stdout
    assert "2 unchanged" in shell.gert("diff", "book.yaml", "--all").stdout


# -- golden ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "# kept\nexpected_status: completed   # and this\n\ntags: [recorded]",
        "golden:   false # why\nexpected_status: completed\n",
        "{expected_status: completed, tags: [recorded]}\n",
        '{"expected_status": "completed", "golden": false}\n',
        "expected_status: completed\r\ndescription: |\r\n  golden: maybe\r\n",
        "",
    ],
)
def test_one_line_changes_and_the_rest_stays(shell, text):
    record(shell, "one")
    file = shell.root / "scenarios/book/one/test.yaml"
    file.write_bytes(text.encode())
    file.chmod(0o664)
    shell.gert("scenario", "promote", "one")
    promoted = file.read_bytes()
    before, after = text.encode().splitlines(), promoted.splitlines()
    changed = [line for line in after if line not in before]
    assert len(changed) == 1
    assert len(after) - len(before) in (0, 1)
    assert file.stat().st_mode & 0o777 == 0o664
    assert "✓ one" in shell.gert("test", "book.yaml").stdout
    assert "already" in shell.gert("scenario", "promote", "one").stdout
    shell.gert("scenario", "demote", "one")
    given = b"golden" in text.encode() and b"maybe" not in text.encode()
    assert file.read_bytes() == (text.encode() if given else promoted.replace(b"golden: true", b"golden: false"))


def test_a_form_that_cannot_be_edited_is_left_alone(shell):
    record(shell, "one")
    file = shell.root / "scenarios/book/one/test.yaml"
    file.write_text("expected_status: completed\n...\n")
    done = shell.gert("scenario", "promote", "one", code=2)
    assert "write `golden: true` there yourself" in done.stderr
    assert file.read_text() == "expected_status: completed\n...\n"


def test_a_recording_elsewhere_is_moved_beside_its_runbook(shell):
    assert shell.json("exec", "book.yaml", "--record", "kept/first/")["record"]["written"] is True
    assert "✓ first" in shell.gert("test", "kept/first").stdout
    assert "first" in shell.gert("scenario", "list", "kept").stdout
    test = (shell.root / "kept/first/test.yaml").read_bytes()
    shell.write("scenarios/book/taken/scenario.yaml", "inputs: {}")
    done = shell.gert("scenario", "promote", "kept/first/", "--name", "taken", code=2)
    assert "exists already" in done.stderr
    assert (shell.root / "kept/first/test.yaml").read_bytes() == test
    shell.gert("scenario", "promote", "kept/first/", "--name", "healthy")
    assert not (shell.root / "kept/first").exists()
    home = shell.root / "scenarios/book/healthy"
    assert 'runbook: "../../../book.yaml"' in (home / "scenario.yaml").read_text()
    assert (home / "test.yaml").read_bytes() == test + b"golden: true\n"
    assert "✓ healthy" in shell.gert("test", "book.yaml").stdout
    listed = shell.json("scenario", "list", "book.yaml")
    assert [(one["scenario"], one["golden"], one["recorded"]) for one in listed["scenarios"]] == [
        ("healthy", True, True),
        ("taken", False, False),
    ]
    assert "★  healthy" in shell.gert("scenario", "list", "book.yaml").stdout


def test_a_name_that_two_runbooks_have_is_ambiguous(shell):
    record(shell, "one")
    shell.write("other.yaml", BOOK)
    shell.gert("exec", "other.yaml", "--record", "one")
    done = shell.gert("scenario", "promote", "one", code=2)
    assert "2 runbooks have a scenario 'one': book.yaml, other.yaml" in done.stderr
    shell.gert("scenario", "promote", "one", "--runbook", "other.yaml")
    assert "golden: true" in (shell.root / "scenarios/other/one/test.yaml").read_text()
    assert "did you mean 'one'?" in shell.gert("scenario", "demote", "onee", code=2).stderr


def test_old_recordings_that_are_not_golden_are_pruned(shell):
    golden(shell)
    shell.gert("scenario", "demote", "srv2-incident")
    record(shell, "fresh")
    record(shell, "full")
    old = (datetime.now(UTC) - timedelta(days=100)).strftime("%Y-%m-%dT")
    for name in ("srv1-incident", "srv2-incident", "full"):
        file = shell.root / "scenarios/book" / name / "trace.jsonl"
        file.write_text(file.read_text().replace(datetime.now(UTC).strftime("%Y-%m-%dT"), old))
    shell.write("scenarios/book/full/notes.md", "mine")
    listed = shell.gert("scenario", "prune", "--older", "90d")
    assert listed.stdout.splitlines() == ["scenarios/book/srv2-incident"]
    assert (shell.root / "scenarios/book/srv2-incident").is_dir()
    done = shell.gert("scenario", "prune", "--older", "90d", "--yes", code=1)
    assert "full has other files too: notes.md" in done.stderr
    assert sorted(path.name for path in (shell.root / "scenarios/book").iterdir()) == ["fresh", "full", "srv1-incident"]
    assert "--older is missing" in shell.gert("scenario", "prune", code=2).stderr


# -- record, new ----------------------------------------------------------------------------------------------------


def test_an_old_run_is_recorded(shell):
    run = shell.json("exec", "book.yaml")["run_id"]
    done = shell.gert("scenario", "record", "latest", "--name", "late")
    assert "scenarios/book/late" in done.stdout
    assert "✓ late" in shell.gert("test", "book.yaml", "--scenario", "late").stdout
    assert shell.json("scenario", "record", run)["record"]["written"] is True
    assert (shell.root / "scenarios/book" / run / "scenario.yaml").is_file()
    assert "is not empty" in shell.gert("scenario", "record", run, code=2).stderr
    (shell.root / "book.yaml").unlink()
    assert "does not exist any more" in shell.gert("scenario", "record", run, "--name", "x", code=1).stderr


def test_a_scenario_is_drafted(shell):
    shell.gert("scenario", "new", "book.yaml", "draft")
    assert "✓ draft" in shell.gert("test", "book.yaml").stdout


# -- secrets that no document declares ------------------------------------------------------------------------------

TOKENS = {
    "private key": "-----BEGIN OPENSSH PRIVATE KEY-----",
    "AWS access key": "AKIA" + "ABCDEFGHIJKLMNOP",
    "GitHub token": "ghp_" + "a1B2c3D4e5F6g7H8i9J0",
    "Slack token": "xoxb-" + "123456789012-abcdefghijkl",
    "JSON Web Token": "eyJhbGciOiJIUzI1NiJ9" + ".eyJzdWIiOiIxIn0." + "c2lnbmF0dXJl",
    "Authorization header": "Authorization: Bearer " + "abcdefgh12345678",
    "password in a URL": "https://olga:" + "hunter22@example.org/x",
}
PLACES = {
    "input": ("inputs.host", ["--var", "host={token}"], "echo plain"),
    "stdout": ("tool_responses.look:do[0].stdout", [], "printf '%s\\n' \"$TOKEN\""),
    "stderr": ("tool_responses.look:do[0].stderr", [], "echo x; printf '%s\\n' \"$TOKEN\" >&2"),
    "failure": ("tool_responses.look:do[0].stderr", [], "printf '%s\\n' \"$TOKEN\" >&2; exit 3"),
}


@pytest.mark.parametrize("encode", [lambda text: text, lambda text: b64encode(text.encode()).decode()], ids=["", "64"])
@pytest.mark.parametrize("place", PLACES)
def test_a_token_is_refused_in_each_place(shell, place, encode):
    named, args, program = PLACES[place]
    token = encode(TOKENS["GitHub token"])
    shell.program("look", program)
    given = [arg.format(token=token) for arg in args]
    ran = shell.json("exec", "book.yaml", "--record", "one", *given, code=None, TOKEN=token)
    problem = ran["record"]["problem"]
    assert ran["record"]["written"] is False
    assert f"scenario.yaml: {named}: GitHub token" in problem
    assert token not in problem
    assert not (shell.root / "scenarios").exists()


@pytest.mark.parametrize("kind", TOKENS)
def test_every_kind_of_token_is_found_in_data_and_in_names(kind):
    token = TOKENS[kind]
    assert [str(hit) for hit in hits_in({"a": [{"b": f"x {token} y"}]})] == [f"a[0].b: {kind}"]
    for wrapped in (json.dumps({"x": token}), f"first\n{token}\nlast", f"'{token}'"):
        assert kind in [hit.kind for hit in hits_in({"a": wrapped})]
    named = list(hits_in({"a": {token: 1}, token: {"b": token}}))
    assert {hit.kind for hit in named} == {kind}
    assert not [hit for hit in named if token in hit.place]
    assert list(hits_in({"headers": {"Authorization": "Bearer abcdef123456"}})) != []


def test_a_token_in_what_people_say_is_refused(shell):
    token = TOKENS["GitHub token"]
    rules = "  governance: { rules: [{ effects: [network], action: require-approval }] }\ntools:"
    shell.write("book.yaml", BOOK.replace("tools:", rules))
    ran = shell.json("exec", "book.yaml", "--record", "one", stdin=f"y bob: {token}\n")
    assert "approvals.probe[0].reason: GitHub token" in ran["record"]["problem"]
    assert token not in ran["record"]["problem"]
    shell.write(
        "book.yaml",
        """
        apiVersion: kernel/v0
        meta: { name: book }
        steps:
          - id: ask
            type: manual
            instructions: Look.
            required_evidence: [{ kind: text, name: notes }]
          - { type: end, outcome: { category: resolved, code: ok } }
        """,
    )
    ran = shell.json("exec", "book.yaml", "--record", "one", stdin=f"{token}\n")
    assert "evidence.ask.notes: GitHub token" in ran["record"]["problem"]


END = "- { type: end, outcome: { category: resolved, code: ok } }"
WHOLE = {
    "actor": ("scenario.yaml: actor", END, ["--as", "{token}"]),
    "outcome": (
        "test.yaml: expected_code",
        '- { type: end, outcome: { category: resolved, code: "{{ .host }}" } }',
        ["--var", "host={token}"],
    ),
    "meta": (
        "step_complete.outcome.meta.seen",
        '- { type: end, outcome: { category: resolved, code: ok, meta: { seen: "{{ .host }}" } } }',
        ["--var", "host={token}"],
    ),
    "key": (
        "test.yaml: must_reach",
        """
        - id: each
          type: tool
          tool: look
          for_each: { as: one, over: ["{{ .host }}"], key: "{{ .one }}" }
          inputs: { item: x }
        """,
        ["--var", "host={token}"],
    ),
    "result": (
        "scenario.yaml: steps.slow.message",
        "- { id: slow, type: tool, tool: gone, inputs: { item: x }, continue_on_fail: true }",
        ["--no-preflight"],
    ),
    "attachment": (
        "scenario.yaml: evidence.look.photo.name",
        """
        - id: look
          type: manual
          instructions: Look.
          required_evidence: [{ kind: attachment, name: photo }]
        """,
        [],
    ),
    "principal": (
        "scenario.yaml: principals.sure",
        "- { id: sure, type: manual, instructions: Sure? }",
        ["--as", "{token}"],
    ),
}


@pytest.mark.parametrize("place", WHOLE)
def test_a_token_is_refused_wherever_a_recording_has_texts(shell, place):
    named, steps, given = WHOLE[place]
    token = TOKENS["GitHub token"]
    shell.tool("gone", f'["no-{token}"]', **TOOL)
    shell.write(token, "a picture")
    shell.book(steps, tools="look, gone", meta="inputs: { host: { type: string, default: srv1 } }")
    args = [word.format(token=token) for word in given]
    ran = shell.json("exec", "book.yaml", "--record", "one", *args, stdin=f"{token}\n" if "photo" in steps else "yes\n")
    problem = ran["record"]["problem"]
    assert named in problem, problem
    assert "GitHub token" in problem
    assert token not in problem
    assert not (shell.root / "scenarios").exists()


def test_no_door_keeps_a_token(shell):
    token = TOKENS["GitHub token"]
    shell.gert("exec", "book.yaml", "--var", f"host={token}")
    done = shell.gert("scenario", "record", "latest", "--name", "one", code=1)
    assert "scenario.yaml: inputs.host: GitHub token" in done.stderr
    assert token not in done.stderr
    ran = shell.json("exec", "book.yaml", "--var", f"host={token}", GERT_AUTO_RECORD="true")
    assert "GitHub token" in ran["record"]["problem"]
    done = shell.gert("resume", "latest", "--record", "two", code=None)
    assert token not in done.stderr
    assert not (shell.root / "scenarios").exists()


def test_a_token_that_only_the_trace_has_is_refused(shell):
    token = TOKENS["Slack token"]
    shell.write("book.yaml", BOOK.replace("  name: service", f"  constants: {{ key: {token} }}\n  name: service"))
    ran = shell.json("exec", "book.yaml", "--record", "one")
    assert "trace.jsonl:1: run_start.constants.key: Slack token" in ran["record"]["problem"]
    assert token not in ran["record"]["problem"]


def test_masked_values_are_no_tokens(shell):
    shell.program("look", "echo 'Authorization: Bearer <REDACTED:TOKEN>'; echo 'https://a:<REDACTED:P>@example.org'")
    shell.tool("look", '["look", "{{ .item }}"]', **{**TOOL, "more": ""})
    ran = shell.json("exec", "book.yaml", "--record", "one", code=None)
    assert ran["record"]["problem"] is None, ran


def test_scan_names_place_and_kind(shell):
    record(shell, "one")
    assert shell.gert("scenario", "scan", "scenarios").stdout == ""
    for kind, token in TOKENS.items():
        shell.write("scenarios/book/one/scenario.yaml", f"inputs:\n  host: {json.dumps(token)}\n")
        done = shell.gert("scenario", "scan", "scenarios", code=1)
        assert f"scenarios/book/one/scenario.yaml:2: {kind}\n" in done.stdout
        assert token not in done.stdout + done.stderr
    hidden = TOKENS["AWS access key"].replace("AKIA", "\\u0041KIA")
    shell.write("scenarios/book/one/scenario.yaml", f'inputs:\n  host: "{hidden}"\n')
    document = shell.json("scenario", "scan", "scenarios", code=1)
    assert document["hits"] == [{"place": "scenarios/book/one/scenario.yaml: inputs.host", "kind": "AWS access key"}]
    shell.gert("scenario", "scan", "no-such", code=2)
