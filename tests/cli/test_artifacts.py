"""Artifacts: files and values that a step keeps in its run after success, and what becomes of missing ones."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

import pytest

TOOL = """\
apiVersion: tool/v0
meta: { name: sh, transport: stdio }
contract: { effects: [filesystem], idempotent: true, inputs: { do: {} }, outputs: { out: { type: string } } }
actions: { do: { argv: ["sh", "-c", "{{ .do }}"], extract: { out: { from: stdout } } } }
"""
HEAD = """\
apiVersion: kernel/v0
meta: { name: b, inputs: { token: { default: s3cr3t-word, secret: true } } }
tools: [sh]
steps:
"""
END = "  - { id: done, type: end, outcome: { category: resolved } }\n"
FILES = "  - { id: a, type: tool, tool: sh, inputs: { do: 'printf %s > made.txt' }, artifacts: %s }\n"


@pytest.fixture
def gert_in(gert, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "sh.tool.yaml").write_text(TOOL)

    def run(steps, *options):
        (tmp_path / "b.yaml").write_text(f"{HEAD}{steps}{END}")
        code, out, err = gert("exec", "b.yaml", "--json", *options)
        return Run(gert, code, json.loads(out), err)

    return run


class Run:
    """A run with what it kept."""

    def __init__(self, gert, code, document, err):
        self.gert, self.code, self.document, self.err = gert, code, document, err
        self.id = document.get("run_id")

    @property
    def kept(self):
        return json.loads(self.gert("runs", "artifacts", self.id, "--json")[1])["artifacts"]

    @property
    def directory(self):
        return Path("runs") / self.id

    def events(self, kind):
        lines = Path(self.document["trace"]).read_text().splitlines()
        return [(e["step_key"], e["data"]) for e in map(json.loads, lines) if e["type"] == kind]


def file_of(name, data):
    return {"file": f"attachments/{name}", "size": len(data), "sha256": sha256(data).hexdigest()}


@pytest.mark.parametrize(
    ("artifacts", "key"), [("[made.txt]", "made.txt"), ("{ report: { path: 'made.txt' } }", "report")]
)
def test_a_file_is_copied_into_the_run(gert_in, artifacts, key):
    run = gert_in(FILES % ("kept", artifacts))
    assert run.code == 0, run.err
    value = file_of("made.txt", b"kept")
    assert run.kept == {key: {"step_key": "a", "value": value}}
    assert (run.directory / value["file"]).read_bytes() == b"kept"
    assert (run.directory / value["file"]).stat().st_mode & 0o777 == 0o600
    data = {"step_id": "a", "summary_type": f"artifact::{key}", "payload": {"value": value}}
    assert run.events("run_summary") == [("a", data)]
    assert run.gert("trace", "verify", run.document["trace"])[0] == 0


def test_it_is_listed_for_people_too(gert_in):
    run = gert_in(FILES % ("kept", "{ size: { value: { n: 3 }, schema: counts } }"))
    assert run.gert("runs", "artifacts", run.id)[1] == 'size  {"n": 3}\n'
    assert '  artifact size: {"n": 3}\n' in run.gert("runs", "show", run.id)[1]
    shown = json.loads(run.gert("runs", "show", run.id, "--json")[1])
    assert shown["artifacts"] == {"size": {"step_key": "a", "value": {"n": 3}, "schema": "counts"}}
    none = gert_in(FILES.replace(", artifacts: %s", "") % "x")
    assert none.gert("runs", "artifacts", none.id)[1:] == ("", "the run has no artifacts\n")


def test_templates_see_the_outputs_of_the_step_and_the_item(gert_in):
    run = gert_in(
        "  - { id: a, type: tool, tool: sh, inputs: { do: 'echo f; printf 1 > f.txt' }, artifacts: ['{{ .out }}.txt'] }\n"
        "  - { id: each, type: tool, tool: sh, for_each: { as: n, over: [x, y], key: 'k {{ .n }}' }, inputs: { do: 'echo {{ .n }}' },"
        " artifacts: { said: { value: '{{ .each.out }}{{ .out }}{{ .n }}{{ .each.exit_code }}' } } }\n"
    )
    assert run.code == 0, run.err
    assert {key: told["value"] for key, told in run.kept.items()} == {
        "f.txt": file_of("f.txt", b"1"),
        "said[k%20x]": "xxx0",
        "said[k%20y]": "yyy0",
    }


@pytest.mark.parametrize("loop", ["", ", for_each: { as: n, over: [1] }"])
def test_templates_see_how_the_step_came_out(gert_in, loop):
    known = "{{ .a.status }} {{ .step.a.status }} {{ .a.exit_code }}"
    counted = "" if loop else " {{ .a.attempts }} {{ .step.a.attempts }} {{ .a.retry_count }}"
    value = f"artifacts: {{ how: {{ value: '{known}{counted}' }}, all: {{ value: '{{{{ .a.out }}}}{{{{ out }}}}' }} }}"
    run = gert_in(f"  - {{ id: a, type: tool, tool: sh, inputs: {{ do: printf w }}, {value}{loop} }}\n")
    assert [one["value"] for one in run.kept.values()] == ["success success 0" + ("" if loop else " 1 1 0"), "ww"]
    assert "missing_artifact" not in run.err


def test_only_a_step_that_succeeded_keeps_something(gert_in):
    run = gert_in(
        "  - { id: a, type: tool, tool: sh, continue_on_fail: true, inputs: { do: 'touch f; exit 1' }, artifacts: [f] }\n"
        "  - { id: b, type: tool, tool: sh, when: false, inputs: { do: x }, artifacts: { v: { value: 1 } } }\n"
    )
    assert (run.code, run.kept) == (0, {})


@pytest.mark.parametrize("made", ["absent", "link", "directory", "fifo"])
def test_what_is_no_file_is_a_violation_and_the_step_succeeds(gert_in, made):
    commands = {"absent": "true", "link": "ln -s b.yaml f", "directory": "mkdir f", "fifo": "mkfifo f"}
    run = gert_in(
        f"  - {{ id: a, type: tool, tool: sh, inputs: {{ do: '{commands[made]}' }}, artifacts: {{ k: {{ path: f }} }} }}\n"
    )
    assert (run.code, run.kept) == (0, {})
    ((key, data),) = run.events("contract_violation")
    assert (key, data["kind"], data["severity"]) == ("a", "missing_artifact", "warning")
    assert data["message"].startswith("artifact 'k': ")
    assert not (run.directory / "attachments" / "f").exists()


@pytest.mark.parametrize("start", ["", "{cwd}/"])
@pytest.mark.parametrize("path", ["linked/f", "real/to/f", "real/to/../real/f"])
def test_no_file_below_a_link_is_kept(gert_in, tmp_path, start, path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "f").write_text("f")
    (tmp_path / "linked").symlink_to("real")
    (tmp_path / "real" / "to").symlink_to("..")
    (tmp_path / "f").write_text("f")
    step = "  - {{ id: a, type: tool, tool: sh, inputs: {{ do: 'true' }}, artifacts: {{ k: {{ path: '{}' }} }} }}\n"
    start = start.format(cwd=tmp_path)
    run = gert_in(step.format(f"{start}{path}"))
    assert (run.code, run.kept) == (0, {})
    ((_, data),) = run.events("contract_violation")
    link = "linked" if path == "linked/f" else "real/to"
    told = f"artifact 'k': {start}{path} cannot be read: {start}{link} is a symbolic link"
    assert (data["kind"], data["message"]) == ("missing_artifact", told)
    kept = gert_in(step.format(f"{start}real/../real/f"))
    assert kept.kept["k"]["value"] == file_of("f", b"f")


def test_a_file_is_kept_whose_directory_only_lets_pass(gert_in, tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "f").write_text("f")
    (tmp_path / "real").chmod(0o311)
    run = gert_in("  - { id: a, type: tool, tool: sh, inputs: { do: 'true' }, artifacts: [real/f] }\n")
    assert run.kept["f"]["value"] == file_of("f", b"f")


def test_a_policy_may_deny_it(gert_in, tmp_path):
    (tmp_path / "p.yaml").write_text(
        "apiVersion: policy/v0\nmeta: { name: p }\nrules: [ { contract_violations: deny } ]\n"
    )
    run = gert_in("  - { id: a, type: tool, tool: sh, inputs: { do: 'true' }, artifacts: [f] }\n", "--policy", "p.yaml")
    assert (run.code, run.document["failure"]["kind"]) == (1, "contract_violation")


def test_values_that_are_too_large_are_violations(gert_in):
    do = "head -c 300000 /dev/zero | tr \\\\0 x"
    run = gert_in(
        f"  - {{ id: a, type: tool, tool: sh, inputs: {{ do: \"{do}\" }}, artifacts: {{ v: {{ value: '{{{{ .out }}}}' }} }} }}\n"
    )
    assert run.code == 0, run.err
    ((_, data),) = run.events("contract_violation")
    assert data["kind"] == "artifact_too_large"


def test_secrets_are_masked_in_the_copy_and_in_values(gert_in):
    run = gert_in(FILES % ("\\\\377{{ .token }}", "{ f: { path: made.txt }, v: { value: 'the {{ .token }}' } }"))
    assert run.code == 0, run.err
    kept = run.kept
    assert kept["v"]["value"] == "the <REDACTED:token>"
    data = (run.directory / kept["f"]["value"]["file"]).read_bytes()
    assert data == b"\xff<REDACTED:token>"
    assert kept["f"]["value"] == file_of("made.txt", data)


@pytest.mark.parametrize("mode", ["dry-run", "probe"])
def test_a_plan_keeps_nothing(gert_in, mode):
    run = gert_in(FILES % ("kept", "{ f: { path: made.txt }, v: { value: 1 } }"), "--mode", mode, "--keep")
    assert run.code == 0, run.err
    assert run.events("run_summary") == run.events("contract_violation") == []


def test_a_replay_has_values_and_no_files(gert_in, tmp_path):
    scenario = tmp_path / "scenarios" / "b" / "one"
    scenario.mkdir(parents=True)
    (scenario / "scenario.yaml").write_text("tool_responses: { 'sh:do': [ { stdout: canned, exit_code: 0 } ] }\n")
    run = gert_in(
        FILES % ("x", "{ f: { path: made.txt }, v: { value: '{{ .out }}' } }"),
        "--mode",
        "replay",
        "--scenario",
        "one",
        "--keep",
    )
    assert run.code == 0, run.err
    assert [data["payload"] for _, data in run.events("run_summary")] == [{"value": "canned"}]
    assert not (tmp_path / "made.txt").exists()


@pytest.mark.parametrize(
    "artifacts", ["f", "{ k: f }", "{ k: { path: f, value: 1 } }", "{ k: {} }", "[1]", "{ 1x: { path: f } }"]
)
def test_other_shapes_are_refused(gert_in, artifacts, tmp_path):
    run = gert_in(FILES % ("x", artifacts))
    assert run.code == 1
    assert not (tmp_path / "made.txt").exists()


def test_an_unknown_name_in_an_artifact_is_found(gert_in):
    run = gert_in(FILES % ("x", "{ v: { value: '{{ .oat }}', schema: '{{ .any }}' } }"))
    assert [(d["rule"], d["hint"]) for d in run.document["error"]["diagnostics"]] == [
        ("unresolved-variable", "did you mean `.out`?")
    ]


def test_a_resumed_run_copies_nothing_twice(gert_in):
    steps = (
        "  - id: pick\n    type: branch\n    artifacts: { f: { path: made.txt }, v: { value: '{{ .a.exit_code }}' } }\n"
        "    branches: [ { condition: true, steps: [ { id: a, type: tool, tool: sh, inputs: { do: 'printf 1 > made.txt' }, artifacts: [made.txt] } ] } ]\n"
    )
    run = gert_in(steps)
    assert run.code == 0, run.err
    trace = Path(run.document["trace"])
    lines = trace.read_bytes().splitlines(keepends=True)
    kept = run.kept
    Path("made.txt").write_text("changed since")
    for size in range(1, len(lines)):
        state = run.directory / "state.json"
        state.unlink(missing_ok=True)
        trace.write_bytes(b"".join(lines[:size]))
        acted = b'"type":"step_complete"' in b"".join(x for x in lines[:size] if b"pick/0/a" in x)
        told = sum(b"run_summary" in line for line in lines[:size])
        code, _, err = run.gert("resume", "--run", run.id, "--json")
        assert code == 0, err
        if told == 3 or not acted:
            assert run.kept == kept, size
        names = sorted(path.name for path in (run.directory / "attachments").iterdir())
        assert names in (["made.txt"], ["made-2.txt", "made.txt"]), (size, names)
        Path("made.txt").write_text("changed since")


def test_a_missing_file_is_told_live_and_in_runs_show(gert_in):
    run = gert_in(FILES % ("x", "[nofile]"))
    message = "step a: artifact 'nofile': nofile does not exist (missing_artifact)"
    assert f"warning: {message}\n" in run.err
    assert f"  warning: {message}\n" in run.gert("runs", "show", run.id)[1]
    (told,) = json.loads(run.gert("runs", "show", run.id, "--json")[1])["warnings"]
    assert (told["step_key"], told["kind"], told["severity"]) == ("a", "missing_artifact", "warning")


def test_two_files_of_one_name_are_refused_and_the_hint_keeps_both(gert_in, gert, tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.txt").write_text(name)
    step = FILES % ("x", "[one/x.txt, two/x.txt]")
    (tmp_path / "b.yaml").write_text(f"{HEAD}{step}{END}")
    (found,) = json.loads(gert("validate", "b.yaml", "--json")[1])["diagnostics"]
    assert found["rule"] == "name-collision"
    assert found["message"] == "`one/x.txt` and `two/x.txt` would both be kept as `x.txt`"
    kept = found["hint"].split("`")[1].removeprefix("artifacts: ")
    assert set(gert_in(FILES % ("x", kept)).kept) == {"one", "two"}
    run = gert_in(FILES % ("x", "['{{ \"one\" }}/x.txt', two/x.txt]"))
    assert "step a: artifact 'x.txt': the step has kept another file of that name; give each a key" in run.err


def test_a_file_that_has_a_value_too_gets_a_hint_that_works(gert_in, gert, tmp_path):
    step = FILES % ("x", "{ k: { path: made.txt, value: 1 } }")
    (tmp_path / "b.yaml").write_text(f"{HEAD}{step}{END}")
    (found,) = json.loads(gert("validate", "b.yaml", "--json")[1])["diagnostics"]
    assert (found["message"], found["hint"]) == (
        "`value` is not a field here",
        "remove it: it does not go with `path`",
    )


def test_a_dry_run_shows_what_would_be_kept(gert_in, gert):
    gert_in(FILES % ("x", "{ k: { path: made.txt }, n: { value: 1 } }"))
    code, out, err = gert("exec", "b.yaml", "--mode", "dry-run")
    assert code == 0, err
    assert "    artifacts: k (made.txt), n (value)\n" in out


CHILD = """\
apiVersion: kernel/v0
meta: { name: child }
steps:
  - { id: c, type: assert, assert: [ { type: equals, value: 1, expected: 1 } ], artifacts: { in: { value: child } } }
  - { id: done, type: end, outcome: { category: resolved } }
"""
KEPT = "{ id: x, type: tool, tool: sh, inputs: { do: 'printf %s > in.txt' }, artifacts: { in: { path: in.txt } } }"


@pytest.mark.parametrize(
    ("around", "said", "names"),
    [
        (
            "type: block, for_each: { as: n, over: [p, q], key: '{{ .n }}' }, steps: [%s]",
            "{{ .n }}",
            ["in[p]", "in[q]"],
        ),
        ("type: repeat, repeat: { max: 2, steps: [%s] }", "{{ .repeat.index }}", ["in[0]", "in[1]"]),
        (
            "type: block, for_each: { as: n, over: [p], key: '{{ .n }}' }, steps: [ { id: r, type: repeat, repeat: { max: 2, steps: [%s] } } ]",
            "{{ .n }}{{ .repeat.index }}",
            ["in[p][0]", "in[p][1]"],
        ),
    ],
    ids=["items", "rounds", "rounds of items"],
)
def test_steps_inside_items_and_rounds_keep_each_under_a_name_of_its_own(gert_in, around, said, names):
    run = gert_in(f"  - {{ id: o, {around % (KEPT % said)} }}\n")
    assert run.code == 0, run.err
    kept = run.kept
    assert sorted(kept) == names
    files = [(run.directory / told["value"]["file"]).read_bytes() for told in kept.values()]
    assert len(set(files)) == 2
    shown = run.gert("runs", "show", run.id)[1]
    assert all(f"  artifact {name}: " in shown for name in names)


def test_a_step_that_runs_again_by_next_keeps_each_under_a_name_of_its_own(gert_in):
    run = gert_in(f"  - {(KEPT % 1)[:-2]}, next: {{ step: x, max: 1 }} }}\n")
    assert run.code == 0, run.err
    assert sorted(run.kept) == ["in", "in#2"]


def test_runbooks_that_are_included_keep_each_under_the_name_of_its_step(gert_in, tmp_path):
    (tmp_path / "child.yaml").write_text(CHILD)
    run = gert_in(
        "  - { id: own, type: tool, tool: sh, inputs: { do: 'true' }, artifacts: { in: { value: own } } }\n"
        "  - { id: r1, type: runbook, runbook: child.yaml }\n"
        "  - { id: r2, type: runbook, runbook: child.yaml, for_each: { as: n, over: [p, q], key: '{{ .n }}' } }\n"
    )
    assert run.code == 0, run.err
    assert {name: told["step_key"] for name, told in run.kept.items()} == {
        "in": "own",
        "in[r1]": "r1/0/c",
        "in[r2][p]": "r2[p]/0/c",
        "in[r2][q]": "r2[q]/0/c",
    }
