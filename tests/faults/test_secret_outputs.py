"""Secret outputs of tools: masked from the moment they are read, given to whom they are for, never kept, run again or lost."""

from __future__ import annotations

import base64
import json
import shutil
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest
from crash import SITE
from gertproc import Gert

if TYPE_CHECKING:
    from pathlib import Path

    from gertproc import Said

TOOL = """\
apiVersion: tool/v0
meta: {name: vault, transport: stdio, binary: sh}
actions:
  rotate:
    argv: [sh, -c, 'p="p/$(od -An -N9 -tx1 /dev/urandom | tr -d " \\n")"; echo "$p" >> ../given; FOR; printf "{\\"password\\": \\"%s\\", \\"user\\": \\"app\\"}" "$p"; AFTER']
    contract:
      inputs: {host: {type: string, required: false}}
      outputs: {password: {type: string, secret: true}, user: {type: string}}
      effects: [vault]
      writes: [vault]
      deterministic: DETERMINISTIC
    extract: {password: {path: password}, user: {path: user}}
  use:
    argv: [sh, -c, 'printf "%s\\n" "$1" "$PW" "$(cat)" >> ../got; printf "%s" "$1" | base64; test ! -e ../stop', sh, "{{ .pw }}"]
    stdin: "{{ .pw }}"
    env: {PW: "{{ .pw }}"}
    contract: {inputs: {pw: {type: string}}, outputs: {said: {type: string, required: false}}, effects: [app], writes: [app]}
    extract: {said: {from: stdout}}
  gate: {argv: [sh, -c, "test -e ../go"], contract: {effects: [host], writes: []}}
"""
BOOK = """\
apiVersion: kernel/v0
meta: {name: book}
tools: [vault]
steps:
STEPS
  - {id: done, type: end, outcome: {category: resolved, code: done}}
"""
ROTATE = "  - {id: rotate, type: tool, tool: vault, action: rotate}\n"
USE = '  - {id: use, type: tool, tool: vault, action: use, inputs: {pw: "{{ .rotate.password }}"}}\n'
GATE = "  - {id: gate, type: tool, tool: vault, action: gate}\n"


def project(
    tmp_path: Path, steps: str, *, during: str = "true", after: str = "true", deterministic: bool = False
) -> Gert:
    """A project below ``tmp_path``; what tools note is beside it, so that everything in it is gert's."""
    root = tmp_path / "project"
    root.mkdir()
    gert = Gert(root)
    tool = TOOL.replace("FOR", during).replace("AFTER", after).replace("DETERMINISTIC", str(deterministic).lower())
    gert.write(tool_vault=tool, book=BOOK.replace("STEPS\n", steps))
    return gert


def given(gert: Gert) -> list[str]:
    file = gert.root.parent / "given"
    return file.read_text().split() if file.exists() else []


def got(gert: Gert) -> list[str]:
    file = gert.root.parent / "got"
    return file.read_text().split() if file.exists() else []


def assert_hidden(gert: Gert, *said) -> str:
    """No value that a tool gave is in a file of the project or was said, in no form; return everything."""
    files = [path.read_text(errors="replace") for path in gert.root.rglob("*") if path.is_file()]
    seen = "\n".join([*files, *(one.all for one in said)])
    assert given(gert), "a value was given"
    for value in given(gert):
        data = value.encode()
        forms = (
            value,
            base64.b64encode(data).decode().rstrip("="),
            data.hex(),
            quote(value, safe=""),
            value[2:],
            value[:12],
        )
        assert not [form for form in forms if form in seen], seen
    return seen


def step_events(gert: Gert, key: str, kind: str = "step_complete") -> list[dict]:
    return [event["data"] for event in gert.events() if event["type"] == kind and event.get("step_key") == key]


def test_the_receiver_gets_the_value_and_everything_else_the_mask(tmp_path):
    gert = project(tmp_path, ROTATE + USE)
    said = gert("exec", "book.yaml", "--json")
    assert said.code == 0, said.all
    assert got(gert) == given(gert) * 3, "argv, env and stdin"
    assert_hidden(
        gert, said, gert("runs", "show", gert.run().name), gert("trace", "show", str(gert.run() / "trace.jsonl"))
    )
    (rotated,), (used,) = step_events(gert, "rotate"), step_events(gert, "use")
    assert rotated["outputs"] == {"password": "<REDACTED:rotate.password>", "user": "app"}
    assert rotated["detail"]["stdout"] == '{"password": "<REDACTED:rotate.password>", "user": "app"}'
    assert used["outputs"]["said"] == "<REDACTED:rotate.password:b64>"
    assert step_events(gert, "use", "step_start")[0]["inputs"] == {"pw": "<REDACTED:rotate.password>"}
    assert (
        step_events(gert, "rotate", "contract_evaluated")[0]["resolved_contract"]["outputs"]["password"]["secret"]
        is True
    )


def test_items_and_branches_have_masks_of_their_own(tmp_path):
    loop = "for_each: {over: [web-1, web-2], as: host, key: '{{ .host }}', parallel: true}"
    arms = "    - {label: a, steps: [{id: left, type: tool, tool: vault, action: rotate}]}\n"
    arms += "    - {label: b, steps: [{id: right, type: tool, tool: vault, action: rotate, scope: right}]}\n"
    steps = f"  - {{id: each, type: tool, tool: vault, action: rotate, {loop}}}\n"
    steps += f"  - id: both\n    type: parallel\n    branches:\n{arms}"
    steps += (
        '  - {id: use, type: tool, tool: vault, action: use, inputs: {pw: \'{{ index .each "web-2" "password" }}\'}}\n'
    )
    gert = project(tmp_path, steps)
    said = gert("exec", "book.yaml")
    assert said.code == 0, said.all
    seen = assert_hidden(gert, said)
    for mask in ("each[web-1].password", "each[web-2].password", "both/0/left.password", "both/1/right.password"):
        assert f"<REDACTED:{mask}>" in seen
    assert set(got(gert)) < set(given(gert))
    assert step_events(gert, "use", "step_start")[0]["inputs"]["pw"] == "<REDACTED:each[web-2].password>"


@pytest.mark.parametrize(
    ("during", "after", "kind"),
    [
        ('echo "$p" >&2', "exit 3", "exit_code"),
        ('printf "%s {" "$p"', "true", "extract"),
        ('echo "$p" >&2', "exec sleep 60", "timeout"),
        ('echo "$p"; exit 3', "true", "exit_code"),
        ("p=short; echo short > ../given", "true", "secret_too_short"),
    ],
)
def test_what_was_not_extracted_is_recorded_by_its_length_only(tmp_path, during, after, kind):
    gert = project(tmp_path, ROTATE.replace("}", ", timeout: 1s}") + USE, during=during, after=after)
    said = gert("exec", "book.yaml")
    assert said.code == 1, said.all
    (data,) = step_events(gert, "rotate")
    assert data["failure"]["kind"] == kind, data
    if kind == "secret_too_short":
        assert '"short"' not in (gert.run() / "trace.jsonl").read_text().replace("too_short", "")
        assert data["failure"]["message"].startswith("output 'password' is secret and has less than 8 characters")
        return
    assert_hidden(gert, said)
    if after != "exit 3":  # then everything was extracted, and is masked
        assert "characters, not recorded)" in data["detail"]["stdout"] + data["detail"]["stderr"]


def test_an_approver_sees_the_mask_and_the_step_runs_again_after_the_suspension(tmp_path):
    gert = project(tmp_path, ROTATE + USE)
    (gert.root / "p.yaml").write_text(
        "apiVersion: policy/v0\nmeta: {name: p}\nrules:\n  - {effects: [app], action: require-approval}\n"
    )
    said = gert("exec", "book.yaml", "--policy", str(gert.root / "p.yaml"), "--approval", "inbox")
    assert said.code == 0, said.all
    (ticket,) = [event["data"]["ticket_id"] for event in gert.events() if event["type"] == "approval_submitted"]
    shown = gert("approvals", "show", ticket)
    assert "<REDACTED:rotate.password>" in shown.out
    assert gert("approve", ticket, "--as", "bob").code == 0
    again = gert("resume", "--run", gert.run().name)
    assert again.code == 0, again.all
    first, second = given(gert)
    assert got(gert) == [second] * 3
    assert first != second
    assert_hidden(gert, said, shown, again)


def test_a_value_that_nothing_needs_any_more_is_not_made_again(tmp_path):
    gert = project(tmp_path, ROTATE + USE + GATE)
    assert gert("exec", "book.yaml").code == 1
    (gert.root.parent / "go").touch()
    said = gert("resume", "--run", gert.run().name, "--retry-failed")
    assert said.code == 0, said.all
    assert len(given(gert)) == 1
    assert_hidden(gert, said)
    assert gert.events()[-1]["data"]["outputs"]["password"] == "<REDACTED:rotate.password>"
    assert gert("trace", "verify", str(gert.run() / "trace.jsonl")).code == 0


def test_a_value_that_is_needed_is_made_again_if_no_step_had_it(tmp_path):
    nested = '  - {id: use, type: tool, tool: vault, action: use, inputs: {pw: "{{ toJson .rotate }}"}}\n'
    for number, use in enumerate((USE, nested)):
        (tmp_path / str(number)).mkdir()
        gert = project(tmp_path / str(number), ROTATE + GATE + use)
        assert gert("exec", "book.yaml").code == 1
        (gert.root.parent / "go").touch()
        said = gert("resume", "--run", gert.run().name, "--retry-failed")
        assert said.code == 0, said.all
        first, second = given(gert)
        assert second in got(gert)[0]
        assert first not in got(gert)[0]
        assert_hidden(gert, said)
        assert gert("trace", "verify", str(gert.run() / "trace.jsonl")).code == 0


@pytest.mark.parametrize("deterministic", [False, True])
def test_a_value_that_a_step_had_already_is_lost_unless_it_is_the_same_again(tmp_path, deterministic):
    same = "p=$(cat ../fixed); echo $p >> ../given" if deterministic else "true"
    (tmp_path / "fixed").write_text("always-the-same")
    gert = project(tmp_path, ROTATE + USE, during=same, deterministic=deterministic)
    (gert.root.parent / "stop").touch()
    said = gert("exec", "book.yaml")
    assert said.code == 1
    (gert.root.parent / "stop").unlink()
    name = gert.run().name
    again = gert("resume", "--run", name, "--retry-failed", "--reconcile", "use=redo")
    assert_hidden(gert, said, again)
    if deterministic:
        assert again.code == 0, again.all
        assert set(got(gert)) == {"always-the-same"}
        return
    assert again.code == 1, again.all
    assert "secret_lost" in again.all
    assert "step use was given it already; start a new run" in again.all
    assert "--retry-failed" not in again.all, "what can only fail the same way is not advised"
    assert len(given(gert)) == 1, "it was not made again"


def test_two_values_in_a_loop_are_made_again_and_none_of_them_twice(tmp_path):
    loop = "for_each: {over: [web-1, web-2], as: host, key: '{{ .host }}'}"
    use = (
        '  - {id: ID, type: tool, tool: vault, action: use, inputs: {pw: \'{{ index .rotate "HOST" "password" }}\'}}\n'
    )
    steps = ROTATE.replace("}", f", {loop}}}") + GATE
    steps += use.replace("ID", "one").replace("HOST", "web-1") + use.replace("ID", "two").replace("HOST", "web-2")
    steps += use.replace("ID", "three").replace("HOST", "web-1")
    gert = project(tmp_path, steps)
    assert gert("exec", "book.yaml").code == 1
    (gert.root.parent / "go").touch()
    said = gert("resume", "--run", gert.run().name, "--retry-failed")
    assert said.code == 0, said.all
    made = given(gert)
    assert len(made) == 4, "twice at first, and each again"
    assert got(gert) == [made[2]] * 3 + [made[3]] * 3 + [made[2]] * 3
    assert_hidden(gert, said)


def test_a_loop_that_ends_by_a_lost_value_goes_on_once_it_is_made_again(tmp_path):
    loop = """for_each: {over: [1, 2], as: n, until: '{{ eq .rotate.password "other" }}'}"""
    steps = ROTATE + GATE + f"  - {{id: each, type: tool, tool: vault, action: use, {loop}, inputs: {{pw: plain}}}}\n"
    gert = project(tmp_path, steps)
    assert gert("exec", "book.yaml").code == 1
    (gert.root.parent / "go").touch()
    said = gert("resume", "--run", gert.run().name, "--retry-failed")
    assert said.code == 0, said.all
    assert len(given(gert)) == 2
    assert got(gert) == ["plain"] * 6, "each item once"
    assert_hidden(gert, said)


def test_an_artifact_that_needs_a_lost_value_is_missing_and_the_step_succeeds(tmp_path):
    kept = "artifacts: {v: {value: 'x {{ .rotate.password }}'}}"
    steps = ROTATE + GATE + f"  - {{id: last, type: tool, tool: vault, action: use, inputs: {{pw: plain}}, {kept}}}\n"
    gert = project(tmp_path, steps)
    assert gert("exec", "book.yaml").code == 1
    (gert.root.parent / "go").touch()
    said = gert("resume", "--run", gert.run().name, "--retry-failed")
    assert said.code == 0, said.all
    told = "artifact 'v' cannot be rendered: it needs secret rotate.password, which only an earlier process knew"
    assert f"warning: step last: {told} (missing_artifact)" in said.err
    assert_hidden(gert, said)


def test_a_value_that_a_person_states_is_masked(tmp_path):
    gert = project(tmp_path, ROTATE + USE, during="kill -9 $PPID; sleep 1")
    gert("exec", "book.yaml")
    outputs = json.dumps({"password": given(gert)[0], "user": "app"})
    short = gert("resume", "--run", gert.run().name, "--reconcile", "rotate=done", "--outputs", '{"password": "abc"}')
    assert (short.code, "is secret and has less than 8 characters" in short.err) == (2, True), short.all
    listed = ("--reconcile", "rotate=done", "--outputs", '{"password": ["hunter2-hunter2"]}')
    wrong = gert("resume", "--run", gert.run().name, *listed)
    assert (wrong.code, "hunter2" in wrong.all, "its value is not shown" in wrong.err) == (2, False, True), wrong.all
    said = gert("resume", "--run", gert.run().name, "--reconcile", "rotate=done", "--outputs", outputs)
    assert said.code == 0, said.all
    assert got(gert) == given(gert) * 3
    assert_hidden(gert, said)


CHILD = """\
apiVersion: kernel/v0
meta: {name: child}
tools: [vault]
steps:
  - {id: rotate, type: tool, tool: vault, action: rotate}
  - {type: end, outcome: {category: resolved, code: c, meta: {deep: [{pw: "{{ .rotate.password }}"}], word: w}}}
"""


def including(tmp_path: Path, *steps: str) -> Gert:
    """A project whose runbook includes another one, with a secret output in its outcome."""
    gert = project(tmp_path, "".join(["  - {id: inner, type: runbook, runbook: ./child.yaml}\n", *steps]))
    gert.write(child=CHILD)
    return gert


def test_a_run_resumes_behind_an_included_runbook_with_a_secret_in_its_outcome(tmp_path):
    gert = including(tmp_path, '  - {id: ok, type: approval, message: "?"}\n')
    said = gert("exec", "book.yaml", "--approval", "inbox")
    (ticket,) = [event["data"]["ticket_id"] for event in gert.events() if event["type"] == "approval_submitted"]
    assert gert("approve", ticket, "--as", "bob").code == 0
    again = gert("resume", "latest")
    assert again.code == 0, again.all
    assert len(given(gert)) == 1, "nothing needs it"
    (inner,) = step_events(gert, "inner")
    assert inner["fields"]["outcome"]["meta"] == {"deep": [{"pw": "<REDACTED:inner/0/rotate.password>"}], "word": "w"}
    assert_hidden(gert, said, again)


@pytest.mark.parametrize("needed", [False, True])
def test_a_run_that_was_killed_behind_such_a_runbook_resumes(tmp_path, needed):
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(SITE)
    (tmp_path / "go").touch()
    use = USE.replace(".rotate.password", "(index .inner.outcome.meta.deep 0).pw")
    gert = including(tmp_path, GATE, use if needed else USE.replace("{{ .rotate.password }}", "plain"))
    assert gert("exec", "book.yaml").code == 0
    types = [(event["type"], event.get("step_key")) for event in gert.events()]
    shutil.rmtree(gert.root / "runs")
    line = str(types.index(("step_complete", "gate")) + 1)
    said = gert("exec", "book.yaml", KILL_LINE=line, KILL_WHEN="after", PYTHONPATH=str(tmp_path / "site"))
    again = gert("resume", "latest")
    assert (again.code, "secret_lost" in again.all) == (int(needed), needed), again.all
    assert len(given(gert)) == 2, "once in each run"
    assert_hidden(gert, said, again)


TEST = '{{ ne .rotate.password "x" }}'
LOOK = "steps: [{id: look, type: tool, tool: vault, action: gate}]"


def approved_behind(tmp_path: Path, step: str) -> tuple[Gert, Said]:
    """A run that is resumed behind a step in whose condition is a secret that another step was given already."""
    gert = project(tmp_path, ROTATE + USE + step + '  - {id: ok, type: approval, message: "?"}\n')
    (tmp_path / "go").touch()
    gert("exec", "book.yaml", "--approval", "inbox")
    (ticket,) = [event["data"]["ticket_id"] for event in gert.events() if event["type"] == "approval_submitted"]
    assert gert("approve", ticket, "--as", "bob").code == 0
    again = gert("resume", "latest")
    assert len(given(gert)) == 1, "it was not made again"
    assert_hidden(gert, again)
    return gert, again


@pytest.mark.parametrize(
    "fields",
    [
        f"type: branch, branches: [{{condition: '{TEST}', {LOOK}}}]",
        f"type: repeat, repeat: {{max: 3, until: '{TEST}'}}, {LOOK}",
        f"type: wait, timeout: 3s, until: '{TEST}', {LOOK}",
        "type: tool, tool: vault, action: gate, for_each: {as: n, over: '{{ .rotate.password | split \"-\" }}'}",
    ],
    ids=["branch", "repeat", "wait", "over"],
)
def test_a_condition_of_a_finished_step_that_needs_a_lost_value_says_so(tmp_path, fields):
    _, again = approved_behind(tmp_path, f"  - {{id: over, {fields}}}\n")
    told = "step over: secret output 'password' of step rotate is needed, which only an earlier process knew"
    assert again.code == 1
    assert f"error: {told}, and step use was given it already\n  hint: start a new run" in again.err, again.all


@pytest.mark.parametrize(
    "fields",
    [
        f"type: repeat, repeat: {{max: 1}}, when: '{TEST}', {LOOK}",
        f"type: repeat, repeat: {{max: 1}}, when: '{TEST.replace('ne', 'eq')}', {LOOK}",
        f"type: tool, tool: vault, action: gate, for_each: {{over: [1, 2, 3], as: n, until: '{TEST}'}}",
    ],
    ids=["wanted", "skipped", "until"],
)
def test_what_was_found_of_a_finished_step_needs_no_value(tmp_path, fields):
    _, again = approved_behind(tmp_path, f"  - {{id: over, {fields}}}\n")
    assert again.code == 0, again.all


@pytest.mark.parametrize("line", range(2, 20))
def test_killed_at_every_event_nothing_is_written_and_the_value_is_never_mixed_up(tmp_path, line):
    gert = project(tmp_path, ROTATE + USE)
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(SITE)
    said = [gert("exec", "book.yaml", KILL_LINE=str(line), KILL_WHEN="after", PYTHONPATH=str(site))]
    for _ in range(4):
        if gert.events()[-1]["type"] == "run_complete":
            break
        last = gert("resume", "--run", gert.run().name)
        if "unknown_outcome" in last.all or "--reconcile" in last.all:
            open_ = "use" if any(event.get("step_key") == "use" for event in gert.events()) else "rotate"
            last = gert("resume", "--run", gert.run().name, "--reconcile", f"{open_}=redo")
        said.append(last)
    assert gert.events()[-1]["type"] == "run_complete", said[-1].all
    if given(gert):
        assert_hidden(gert, *said)
    assert gert("trace", "verify", str(gert.run() / "trace.jsonl")).code == 0
    status = gert.events()[-1]["data"]["status"]
    if status == "completed":
        assert got(gert)[-1] in given(gert)
        assert len(set(got(gert))) == 1, "no step had one value and another step another"
    else:
        assert "secret_lost" in said[-1].all


def test_other_modes(tmp_path):
    gert = project(tmp_path, ROTATE + USE)
    assert gert("validate", "book.yaml").code == 0
    dry = gert("exec", "book.yaml", "--mode", "dry-run")
    assert dry.code == 0
    assert "{{ .rotate.password }}" in dry.out
    assert gert("exec", "book.yaml", "--mode", "probe").code == 0
    assert not given(gert)
    scenario = gert.root / "scenarios" / "book" / "one"
    scenario.mkdir(parents=True)
    (scenario / "scenario.yaml").write_text(
        "tool_responses:\n  vault:rotate: [{outputs: {password: from-the-scenario, user: app}}]\n"
        "  vault:use: [{stdout: 'it was from-the-scenario'}]\n"
    )
    (scenario / "test.yaml").write_text("expected_outcome: resolved\nexpected_outputs: {password: another-one}\n")
    tested = gert("test", "book.yaml")
    assert tested.code == 1
    assert "<REDACTED:rotate.password>" in tested.all
    assert "from-the-scenario" not in tested.all
    (scenario / "test.yaml").write_text("expected_outcome: resolved\nexpected_outputs: {password: from-the-scenario}\n")
    assert gert("test", "book.yaml").code == 0
    said = gert("exec", "book.yaml", "--mode", "replay", "--scenario", "one", "--trace", "replay.jsonl")
    assert said.code == 0, said.all
    assert "from-the-scenario" not in said.all + (gert.root / "replay.jsonl").read_text()


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        (
            "password: {type: string, secret: true}",
            "password: {type: int, secret: true}",
            "a secret output is a string, not int",
        ),
        ("host: {type: string, required: false}", "host: {type: string, secret: true}", "secret"),
    ],
)
def test_what_a_tool_may_declare(tmp_path, before, after, message):
    gert = project(tmp_path, ROTATE)
    file = gert.root / "tools" / "vault.tool.yaml"
    file.write_text(file.read_text().replace(before, after))
    said = gert("validate", "tools/vault.tool.yaml")
    assert said.code == 1
    assert message in said.all


def test_a_step_declares_no_secret_outputs_and_makes_none_plain(tmp_path):
    gert = project(tmp_path, ROTATE.replace("}", ", contract: {outputs: {user: {secret: true}}}}"))
    said = gert("validate", "book.yaml")
    assert (said.code, "secret outputs are declared by tools" in said.all) == (1, True), said.all
    gert.write(book=BOOK.replace("STEPS\n", ROTATE.replace("}", ", contract: {outputs: {password: {secret: false}}}}")))
    said = gert("validate", "book.yaml")
    assert (said.code, "`password` is secret in the outer contract" in said.all) == (1, True), said.all


def test_the_schema_has_it(tmp_path):
    schema = json.loads(Gert(tmp_path)("schema", "tool").out)
    assert "secret" in schema["$defs"]["OutputModel"]["properties"], sorted(schema["$defs"])
