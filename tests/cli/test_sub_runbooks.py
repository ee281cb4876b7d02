"""Runbooks that run others, from the command line: what stays apart, what is governed, hashed, masked and resumed."""

from __future__ import annotations

import json

import pytest

CALLER = """\
apiVersion: kernel/v0
meta: {name: caller, constants: {size: 3, word: outside}}
tools: [note]
steps:
  - {id: look, type: tool, tool: note, inputs: {text: before}}
  - id: call
    type: runbook
    runbook: sub/child.yaml
    inputs: {size: "{{ .size }}", token: "{{ .word }}-secret-token"}
    export: {volume: outcome.meta.volume}
  - {type: end, outcome: {category: no_action, code: "{{ .call.outcome.code }}", meta: {volume: "{{ .volume }}"}}}
"""
CHILD = """\
apiVersion: kernel/v0
meta:
  name: child
  inputs:
    size: {type: int, required: true, max: 9}
    token: {type: string, secret: true, required: true}
    unasked: {type: string, default: known, from: env/UNASKED}
  constants: {word: inside}
tools: [note]
steps:
  - {id: look, type: tool, tool: note, inputs: {text: "{{ .word }} {{ .unasked }} {{ .token }}"}}
  - type: end
    when: "{{ eq .size 3 }}"
    outcome: {category: resolved, code: three, meta: {volume: "{{ .look.text }}"}}
  - {type: end, outcome: {category: escalated, code: other}}
"""
TOOL = """\
apiVersion: tool/v0
meta: {name: note, transport: stdio, binary: sh}
contract: {effects: [disk], writes: [notes], inputs: {text: {type: string}}, outputs: {text: {type: string}}}
actions:
  add:
    argv: [sh, -c, 'echo "$1" >> notes.txt; printf %s "MARK"', sh, "{{ .text }}"]
    extract: {text: {from: stdout}}
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("UNASKED", "asked")
    for name, text in (("caller.yaml", CALLER), ("sub/child.yaml", CHILD)):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    for place, mark in (("tools", "outer"), ("sub/tools", "inner")):
        (tmp_path / place).mkdir()
        (tmp_path / place / "note.tool.yaml").write_text(TOOL.replace("MARK", mark))
    return tmp_path


def change(path, before, after):
    text = path.read_text()
    assert before in text
    path.write_text(text.replace(before, after))


def ran(gert, *arguments):
    code, out, err = gert("exec", "caller.yaml", "--json", *arguments)
    return code, (json.loads(out) if out.startswith("{") else out), err


def events(here, kind):
    (trace,) = here.glob("runs/*/trace.jsonl")
    return [event for event in map(json.loads, trace.read_text().splitlines()) if event["type"] == kind]


def test_it_has_its_own_tools_inputs_and_constants_and_gives_its_outcome(here, gert):
    code, result, err = ran(gert)
    assert code == 0, err
    assert result["outcome"] == {"category": "no_action", "code": "three", "meta": {"volume": "inner"}}
    assert (here / "notes.txt").read_text() == "before\ninside known outside-secret-token\n"
    (start,) = events(here, "run_start")
    assert list(start["data"]["include_hashes"]) == ["sub/child.yaml"]
    assert list(start["data"]["tool_hashes"]) == ["note", "sub/child.yaml:note"]
    (outcome,) = events(here, "runbook_outcome")
    assert outcome["data"]["outcome"]["code"] == "three"
    (trace,) = here.glob("runs/*/trace.jsonl")
    assert "outside-secret-token" not in trace.read_text()
    assert "<REDACTED:call.token>" in trace.read_text()
    assert result["outputs"] == {"text": "outer", "volume": "inner"}, "what it promotes stays inside"


def test_an_outcome_that_is_not_accepted_can_be_continued_after(here, gert):
    change(here / "caller.yaml", "size: 3,", "size: 4,")
    change(
        here / "caller.yaml",
        "    export: {volume: outcome.meta.volume}",
        "    accept: [resolved]\n    continue_on_fail: true",
    )
    change(here / "caller.yaml", 'meta: {volume: "{{ .volume }}"}', 'meta: {was: "{{ .call.status }}"}')
    code, result, err = ran(gert)
    assert code == 0, err
    assert result["outcome"] == {"category": "no_action", "code": "other", "meta": {"was": "failed"}}


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (
            "outcome.meta.volume",
            "outcome.meta.nope",
            (
                "export-undeclared",
                10,
                "step `call` has no `outcome.meta.nope` to export",
                "`outcome.meta` has `volume`",
            ),
        ),
        (
            "outcome.meta.volume",
            "outcome.mta.volume",
            (
                "export-undeclared",
                10,
                "step `call` has no `outcome.mta.volume` to export",
                "did you mean `outcome.meta.volume`?",
            ),
        ),
        (
            "{{ .call.outcome.code }}",
            "{{ .call.outcome.meta.volum }}",
            (
                "unresolved-variable",
                11,
                "`.call.outcome.meta` has no `volum`",
                "did you mean `.call.outcome.meta.volume`?",
            ),
        ),
    ],
)
def test_what_no_end_of_it_gives_is_found(here, gert, before, after, told):
    change(here / "caller.yaml", before, after)
    code, out, _ = gert("validate", "caller.yaml", "--json")
    assert code == 1
    (found,) = [one for one in json.loads(out)["diagnostics"] if one["severity"] == "error"]
    assert (found["rule"], found["line"], found["message"], found["hint"]) == told


LAST = """  - type: end
    WHEN
    outcome: {category: no_action, code: c, meta: {volume: "READ"}}
  - {type: end, outcome: {category: resolved}}
"""
MEMBER = "{{ .call.outcome.meta.volume }}"


@pytest.mark.parametrize(
    ("read", "when", "call", "warned"),
    [
        (MEMBER, "", "", [MEMBER]),
        ("{{ .volume }}", "", "", ["{{ .volume }}"]),
        ("{{ .step.call.outcome.meta.volume }}", "", "", ["{{ .step.call.outcome.meta.volume }}"]),
        ("{{ (.call.outcome.meta.volume | default '') }}", "", "", []),
        (MEMBER, "", "accept: [resolved, no_action]", []),
        ("{{ .volume }}", "", "accept: [resolved]", []),
        (MEMBER, 'eq .call.outcome.category "resolved"', "", []),
        ("{{ .volume }}", 'eq .call.outcome.category "resolved"', "", []),
        (MEMBER, 'ne .call.outcome.category "escalated"', "", []),
        (MEMBER, 'eq .call.outcome.category "escalated"', "", [MEMBER]),
        (MEMBER, 'eq .call.outcome.code "three"', "", []),
        ("{{ call.outcome.meta.volume if call.outcome.category == 'resolved' else 1 }}", "", "", []),
        (MEMBER, "", "when: '{{ eq .size 3 }}'", [MEMBER]),
        ("{{ .call.outcome.category }}", "", "when: '{{ eq .size 3 }}'", ["{{ .call.outcome.category }}"]),
        ("{{ .call.outcome.code }}", 'eq .call.status "success"', "when: '{{ eq .size 3 }}'", []),
    ],
)
def test_what_only_some_ends_of_it_give_is_warned_of(here, gert, read, when, call, warned):
    text = CALLER[: CALLER.index("  - {type: end")] + LAST.replace("READ", read)
    text = text.replace("WHEN", f"when: '{{{{ {when} }}}}'" if when else "continue_on_fail: false")
    (here / "caller.yaml").write_text(text.replace("    export:", f"    {call}\n    export:"))
    _, out, _ = gert("validate", "caller.yaml", "--json")
    found = json.loads(out)["diagnostics"]
    assert {one["rule"] for one in found} <= {"maybe-undefined", "unreachable-step"}, found
    found = [one for one in found if one["rule"] == "maybe-undefined"]
    assert [f"{{{{ {one['message'].split('`')[1]} }}}}" for one in found] == warned
    for one in found:
        text = (here / "caller.yaml").read_text()
        (here / "caller.yaml").write_text(text.replace(read, f"{{{{ {one['hint'].split('`')[1]} }}}}"))
        assert "maybe-undefined" not in gert("validate", "caller.yaml")[1]


@pytest.mark.parametrize(
    ("more", "when", "rules"),
    [
        (", when: '{{ eq .run.mode `real` }}'", "true", ["maybe-undefined"]),
        (", when: '{{ eq .run.mode `real` }}'", '{{ eq .w.status "success" }}', []),
        (", continue_on_fail: true", "true", []),
        (", continue_on_fail: true", '{{ ne .w.status "success" }}', []),
    ],
)
def test_a_field_of_a_step_that_may_be_skipped_is_warned_of(tmp_path, gert, more, when, rules):
    (tmp_path / "b.yaml").write_text(
        f"apiVersion: kernel/v0\nmeta: {{name: b}}\nsteps:\n  - {{id: w, type: wait, for: 1s{more}}}\n"
        f"  - type: end\n    when: '{when}'\n    outcome: {{category: resolved, meta: {{r: '{{{{ .w.rounds }}}}'}}}}\n"
        "  - {type: end, outcome: {category: resolved}}\n"
    )
    _, out, _ = gert("validate", str(tmp_path / "b.yaml"), "--json")
    found = [one["rule"] for one in json.loads(out)["diagnostics"]]
    assert [one for one in found if one == "maybe-undefined"] == rules, out


@pytest.mark.parametrize(
    ("size", "kind", "message"),
    [
        (
            "12",
            "input_type",
            "input 'size', declared at sub/child.yaml:5, is not accepted: 12 is more than 9, the maximum",
        ),
        ("null", "input_missing", "sub/child.yaml needs the input 'size', declared at sub/child.yaml:5"),
    ],
)
def test_an_input_that_it_does_not_take_is_an_error_of_the_step(here, gert, size, kind, message):
    change(here / "caller.yaml", "size: 3,", f"size: {size},")
    code, result, _ = ran(gert)
    assert code == 1
    assert (result["failure"]["kind"], result["failure"]["step_key"]) == (kind, "call")
    assert result["failure"]["message"] == message


def test_a_short_secret_cannot_be_masked(here, gert):
    change(here / "caller.yaml", "{{ .word }}-secret-token", "ab")
    code, result, _ = ran(gert)
    assert code == 1
    assert result["failure"]["kind"] == "secret_too_short"


def test_its_governance_and_the_policies_of_its_project_add_to_those_of_the_caller(here, gert):
    (here / "sub" / "gert-project.yaml").write_text("policies: [floor.yaml]\n")
    (here / "sub" / "floor.yaml").write_text(
        "apiVersion: policy/v0\nmeta: {name: floor}\nrules: [{writes: [notes], action: deny}]\n"
    )
    code, result, _ = ran(gert, "--no-preflight")
    assert code == 1
    assert (result["failure"]["kind"], result["failure"]["step_key"]) == ("governance_denied", "call/0/look")
    assert "sub/child.yaml:floor.yaml" in result["failure"]["message"]
    assert (here / "notes.txt").read_text() == "before\n", "the step of the caller is not governed by it"


def test_the_governance_of_the_caller_applies_inside(here, gert):
    change(
        here / "caller.yaml",
        "meta: {name: caller,",
        "meta: {name: caller, governance: {rules: [{writes: [notes], action: deny}]},",
    )
    change(here / "caller.yaml", "  - {id: look, type: tool, tool: note, inputs: {text: before}}\n", "")
    change(here / "sub" / "child.yaml", "  name: child\n", "  name: child\n  governance: {rules: [{default: allow}]}\n")
    code, result, _ = ran(gert)
    assert code == 1
    assert (result["failure"]["kind"], result["failure"]["step_key"]) == ("governance_denied", "call/0/look")


def test_its_secrets_are_given_to_its_tools_only(here, gert, monkeypatch):
    monkeypatch.setenv("INNER_KEY", "inner-key-value")
    change(here / "sub" / "child.yaml", "  name: child\n", "  name: child\n  secrets: [{env: INNER_KEY}]\n")
    for place in ("tools", "sub/tools"):
        change(here / place / "note.tool.yaml", 'echo "$1"', 'echo "$1 key:$INNER_KEY"')
    code, _, err = ran(gert)
    assert code == 0, err
    assert (here / "notes.txt").read_text() == "before key:\ninside known outside-secret-token key:inner-key-value\n"
    assert events(here, "run_start")[0]["data"]["secrets"] == ["INNER_KEY"]


@pytest.mark.parametrize(
    ("file", "before", "after", "said"),
    [
        ("sub/child.yaml", "word: inside", "word: changed", "sub/child.yaml changed since the run started"),
        ("sub/tools/note.tool.yaml", "inner", "other", "sub/tools/note.tool.yaml changed since the run started"),
    ],
)
def test_a_changed_document_is_drift(here, gert, file, before, after, said):
    change(
        here / "sub" / "child.yaml",
        "  name: child\n",
        "  name: child\n  governance: {rules: [{writes: [notes], action: require-approval}]}\n",
    )
    code, result, err = ran(gert, "--approval", "inbox")
    assert result["status"] == "approval_pending", err
    (ticket,) = result["pending"]
    assert ticket["step_key"] == "call/0/look"
    change(here / file, before, after)
    assert gert("approve", ticket["ticket_id"], "--as", "alice")[0] == 0
    code, _, err = gert("resume", "--run", result["run_id"])
    assert code != 0
    assert said in err


def test_an_approval_inside_is_bound_to_the_inner_runbook(here, gert):
    change(
        here / "sub" / "child.yaml",
        "  name: child\n",
        "  name: child\n  governance: {rules: [{writes: [notes], action: require-approval}]}\n",
    )
    _, result, _ = ran(gert, "--approval", "inbox")
    (ticket,) = result["pending"]
    (start,), (request,) = events(here, "run_start"), events(here, "approval_submitted")
    assert start["data"]["include_hashes"]["sub/child.yaml"] in json.dumps(request["data"])
    assert gert("approve", ticket["ticket_id"], "--as", "alice")[0] == 0
    code, out, err = gert("resume", "--run", result["run_id"], "--json")
    assert code == 0, err
    assert json.loads(out)["outcome"]["code"] == "three"


def test_an_approval_inside_is_bound_to_the_caller_too(here, gert):
    """The caller decides what is handed over, and a secret of it is shown masked."""
    change(
        here / "sub" / "child.yaml",
        "  name: child\n",
        "  name: child\n  governance: {rules: [{writes: [notes], action: require-approval}]}\n",
    )
    _, result, _ = ran(gert, "--approval", "inbox")
    (ticket,) = result["pending"]
    assert gert("approve", ticket["ticket_id"], "--as", "alice")[0] == 0
    change(here / "caller.yaml", "{{ .word }}-secret-token", "{{ .word }}-other-token")
    code, out, err = gert("resume", "--run", result["run_id"], "--on-drift", "allow", "--json")
    assert (code, json.loads(out)["status"]) == (0, "approval_pending"), err
    (void,) = events(here, "approval_void")
    assert "callers" in json.dumps(void["data"])
    assert "inside" not in (here / "notes.txt").read_text()


def test_cleanup_of_it_runs_and_its_failure_can_be_retried(here, gert):
    change(
        here / "sub" / "child.yaml",
        "  - type: end\n",
        '  - {id: there, type: assert, assert: [{type: equals, value: "{{ .size }}", expected: 7}]}\n  - type: end\n',
    )
    with (here / "sub" / "child.yaml").open("a") as child:
        child.write(
            'finally:\n  - {id: tidy, type: tool, tool: note, inputs: {text: "tidy {{ .failure.step }} {{ .run.status }}"}}\n'
        )
    code, result, _ = ran(gert)
    assert code == 1
    assert result["failure"]["step_key"] == "call/0/there"
    assert (here / "notes.txt").read_text().endswith("tidy there failed\n")
    keys = [event["step_key"] for event in events(here, "step_complete")]
    assert keys == ["look", "call/0/look", "call/0/there", "call/0/@finally/tidy", "call"]
    code, _, err = gert("resume", "--run", result["run_id"], "--retry-failed")
    assert "call/0/look" in err, "what its cleanup may have undone needs a decision"


@pytest.mark.parametrize("rule", ["deny", "require-approval"])
def test_no_caller_goes_on_after_a_refusal_in_its_cleanup(here, gert, rule):
    (here / "sub" / "child.yaml").write_text(f"""\
apiVersion: kernel/v0
meta: {{name: child, governance: {{rules: [{{writes: [notes], action: {rule}}}]}}}}
tools: [note]
steps:
  - {{id: there, type: assert, assert: [{{type: equals, value: a, expected: b}}]}}
  - {{type: end, outcome: {{category: resolved}}}}
finally:
  - {{id: tidy, type: tool, tool: note, inputs: {{text: tidy}}}}
""")
    (here / "caller.yaml").write_text("""\
apiVersion: kernel/v0
meta: {name: caller}
tools: [note]
steps:
  - {id: call, type: runbook, runbook: sub/child.yaml, continue_on_fail: true}
  - {id: after, type: tool, tool: note, inputs: {text: after}}
  - {type: end, outcome: {category: resolved}}
""")
    code, result, _ = ran(gert)
    assert (code, result["status"], result["outcome"]) == (1, "failed", None)
    assert {step["step_id"]: step["status"] for step in result["steps"]} == {
        "there": "failed",
        "tidy": "skipped",
        "call": "failed",
    }
    assert not (here / "notes.txt").exists()


def test_dry_run_shows_its_steps_and_no_end_of_it_as_one_of_the_run(here, gert):
    code, out, err = gert("exec", "caller.yaml", "--mode", "dry-run")
    assert code == 0, err
    assert "look  tool" in out + err
    ends = [line for line in out.splitlines() if "resolved" in line]
    assert ends == [line for line in ends if line.startswith("      ")], "only as the detail of a step inside it"
    change(here / "caller.yaml", '"{{ .size }}"', '"{{ len .look.text }}"')
    code, out, err = gert("exec", "caller.yaml", "--mode", "dry-run", "--json")
    assert code == 0, err
    assert not (here / "notes.txt").exists()
    (outcome,) = {json.dumps(one) for one in [json.loads(out)["outcome"]]}
    assert json.loads(outcome)["category"] == "no_action"


def test_a_scenario_covers_both(here, gert):
    folder = here / "scenarios" / "caller" / "good"
    folder.mkdir(parents=True)
    (folder / "scenario.yaml").write_text(
        "tool_responses:\n  note: [{stdout: outer}]\n  'sub/child.yaml:note:add': [{stdout: canned}]\n"
    )
    (folder / "test.yaml").write_text(
        "expected_outcome: no_action\nmust_reach: [call/0/look, look]\nmust_not_reach: [call/0/_end_2]\n"
    )
    code, out, err = gert("test", "caller.yaml", "--json")
    assert code == 0, out + err
    (scenario,) = (
        json.loads(out)["runbooks"][0]["scenarios"] if "runbooks" in json.loads(out) else json.loads(out)["scenarios"]
    )
    assert scenario["status"] == "passed"
    assert not scenario.get("warnings")


def test_a_scenario_is_told_of_items_that_no_loop_beside_the_call_has(here, gert):
    loop = "  - {id: each, type: assert, for_each: {as: q, over: [p, q], key: '{{ .q }}'}, assert: [{type: equals, value: x, expected: x}]}\n"
    change(here / "caller.yaml", "steps:\n", f"steps:\n{loop}")
    folder = here / "scenarios" / "caller" / "good"
    folder.mkdir(parents=True)
    (folder / "scenario.yaml").write_text(
        "tool_responses:\n  note: [{stdout: outer}]\n  'sub/child.yaml:note:add': [{stdout: canned}]\n"
    )
    (folder / "test.yaml").write_text(
        "must_not_reach: ['each[zz]', call/0/_end_2, 'look[0]']\nmust_reach: ['each[p]']\n"
    )
    code, out, err = gert("test", "caller.yaml")
    assert code == 0, out + err
    assert "must_not_reach: 'each[zz]' cannot be reached: no item of step each has this key; it has p, q" in out + err
    assert "must_not_reach: 'look[0]' cannot be reached: " in out + err
    assert "_end_2" not in out + err


def test_circles_and_depth_are_found_where_they_close(here, gert):
    change(
        here / "sub" / "child.yaml",
        "  - type: end\n",
        "  - {id: back, type: runbook, runbook: ../caller.yaml}\n  - type: end\n",
    )
    code, out, err = gert("validate", "caller.yaml")
    assert code == 1
    assert "sub/child.yaml\n    12:40  error" in out
    assert "runbooks include each other in a circle: caller.yaml -> sub/child.yaml -> caller.yaml" in out + err
    for level in range(12):
        below = f"  - {{type: runbook, runbook: ./d{level + 1}.yaml}}\n" if level < 11 else ""
        (here / f"d{level}.yaml").write_text(
            f"apiVersion: kernel/v0\nmeta: {{name: d}}\nsteps:\n{below}  - {{type: end, outcome: {{category: resolved}}}}\n"
        )
    assert gert("validate", "d1.yaml")[0] == 0
    code, out, err = gert("validate", "d0.yaml")
    assert code == 1
    assert "d10.yaml\n     4:30  error" in out
    assert "more than 10 levels deep" in out + err


def test_errors_inside_have_their_own_positions(here, gert):
    change(here / "sub" / "child.yaml", "{{ .unasked }}", "{{ .undeclared }}")
    code, out, err = gert("validate", "caller.yaml")
    assert code == 1
    assert "sub/child.yaml\n    11:71  error" in out
    code, result, err = ran(gert)
    assert code == 1
    assert "sub/child.yaml" in json.dumps(result) + err
    assert not (here / "runs").exists()


def test_what_its_steps_need_is_missed_before_the_run(here, gert):
    change(here / "sub" / "tools" / "note.tool.yaml", "binary: sh", "binary: no-such-program")
    change(here / "caller.yaml", "  - {id: look, type: tool, tool: note, inputs: {text: before}}\n", "")
    code, _, err = gert("exec", "caller.yaml")
    assert code == 2
    assert "step call/0/look: tool 'note' needs program 'no-such-program', which is not on PATH" in err
    assert not (here / "runs").exists()


def test_policy_explain_tells_what_is_decided_inside(here, gert):
    change(here / "sub" / "child.yaml", "  name: child\n", "  name: child\n  governance: {rules: [{default: deny}]}\n")
    code, out, err = gert("policy", "explain", "caller.yaml", "--json")
    assert code == 0, err
    steps = {step["step_id"]: step for step in json.loads(out)["steps"]}
    assert steps["look"]["decision"] == "allow"
    assert (steps["call/0/look"]["decision"], steps["call/0/look"]["file"]) == ("deny", "sub/child.yaml")
    assert steps["call"]["contract"]["writes"] == ["notes"]
    assert "call/0/look (tool, line 12 of sub/child.yaml)" in gert("policy", "explain", "caller.yaml")[1]


def test_what_it_writes_counts_for_the_step_and_retry_does_not(here, gert):
    (here / "both.yaml").write_text(
        "apiVersion: kernel/v0\nmeta: {name: both}\nsteps:\n"
        "  - id: both\n    type: parallel\n    branches:\n"
        "      - {label: l, steps: [{id: l, type: runbook, runbook: sub/child.yaml, inputs: {size: 3, token: first-token}}]}\n"
        "      - {label: r, steps: [{id: r, type: runbook, runbook: sub/child.yaml, inputs: {size: 3, token: other-token}}]}\n"
        "  - {type: end, outcome: {category: resolved, code: '{{ .l.outcome.code }}-{{ .r.outcome.code }}'}}\n"
    )
    code, out, _ = gert("validate", "both.yaml")
    assert code == 0
    assert "`r` and `l` both touch `notes`" in out
    code, out, err = gert("exec", "both.yaml", "--json")
    assert code == 0, err
    assert json.loads(out)["outcome"]["code"] == "three-three"
    change(here / "caller.yaml", "    runbook: sub/child.yaml\n", "    runbook: sub/child.yaml\n    retry: standard\n")
    code, out, _ = gert("validate", "caller.yaml")
    assert code == 1
    assert "[retry-container]" in out


def test_a_failure_inside_is_no_fault_of_a_plugin_and_only_it_is_retried(here, gert):
    change(here / "sub" / "tools" / "note.tool.yaml", "echo", "test -f ready && echo")
    change(here / "sub" / "tools" / "note.tool.yaml", ">> notes.txt;", ">> notes.txt &&")
    change(here / "sub" / "tools" / "note.tool.yaml", "writes: [notes]", "idempotent: true, writes: [notes]")
    code, _, err = gert("exec", "caller.yaml")
    assert code == 1
    assert "a plugin failed" not in err
    (run,) = (here / "runs").iterdir()
    (here / "ready").touch()
    code, out, err = gert("resume", run.name, "--retry-failed", "--json")
    assert code == 0, err
    assert json.loads(out)["outcome"]["code"] == "three"
    assert (here / "notes.txt").read_text() == "before\ninside known outside-secret-token\n"


def test_statuses_stay_apart(here, gert):
    """A child sees the statuses of its own steps only, also where the caller has a step of that name."""
    change(
        here / "sub/child.yaml",
        'volume: "{{ .look.text }}"',
        'volume: "{{ .step.other.status }} {{ .step.look.status }}"',
    )
    change(
        here / "sub/child.yaml",
        "  - {type: end, outcome: {category: escalated",
        "  - {id: other, type: tool, tool: note, inputs: {text: x}}\n  - {type: end, outcome: {category: escalated",
    )
    change(
        here / "caller.yaml",
        "  - id: call\n",
        "  - {id: other, type: tool, tool: note, inputs: {text: x}}\n  - id: call\n",
    )
    code, result, _ = ran(gert)
    assert (code, result["outcome"]["meta"]["volume"]) == (0, "not_run success")
    change(here / "sub/child.yaml", "{{ .step.other.status }}", "{{ .step.call.status }}")
    code, out, _ = gert("validate", "caller.yaml")
    assert (code, "unresolved-variable" in out) == (1, True)


def test_a_few_files_do_not_include_each_other_a_million_times(tmp_path, monkeypatch, gert):
    monkeypatch.chdir(tmp_path)
    for level in range(5):
        steps = "".join(f"  - {{type: runbook, runbook: {level + 1}.yaml}}\n" for _ in range(8) if level < 4)
        head = f"apiVersion: kernel/v0\nmeta: {{name: level{level}}}\nsteps:\n"
        (tmp_path / f"{level}.yaml").write_text(f"{head}{steps}  - {{type: end, outcome: {{category: resolved}}}}\n")
    code, out, _ = gert("validate", "0.yaml")
    assert code == 1
    assert "0.yaml\n" in out
    assert "this would be more than 1,000 included runbooks in all  [runbook-cycle]" in out
    assert gert("validate", "2.yaml")[0] == 0


def test_a_document_of_another_kind_is_no_runbook(gert, here):
    (here / "caller.yaml").write_text(CALLER.replace("sub/child.yaml", "sub/tools/note.tool.yaml"))
    code, out, _ = gert("validate", "caller.yaml", "--json")
    (found,) = [one for one in json.loads(out)["diagnostics"] if one["severity"] == "error"]
    assert (code, found["rule"], found["line"]) == (1, "runbook-not-found", 8)
    assert found["message"] == "`sub/tools/note.tool.yaml` is not a runbook: its `apiVersion` is `tool/v0`"


def test_an_outcome_that_is_not_accepted_is_explained_where_it_happens(gert, here):
    caller = CALLER.replace("    export:", "    accept: [no_action]\n    continue_on_fail: true\n    export:")
    caller = caller.replace("{{ .call.outcome.code }}", "{{ .call.status }}").replace("{{ .volume }}", "")
    (here / "caller.yaml").write_text(caller)
    code, _, err = gert("exec", "caller.yaml")
    assert code == 0
    why = "outcome_not_accepted: sub/child.yaml ended resolved (three), and accepted is no_action"
    assert f"failed, continues\n    {why}" in err
