"""The mode of a run is never hidden, and what only looks ahead leaves nothing behind and promises nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from shell import Shell

WRITING = (
    "{ effects: [network], writes: [host], inputs: { text: { type: string } }, outputs: { stdout: { type: string } } }"
)
MODES = ("real", "dry-run", "probe", "replay")


@pytest.fixture
def shell(tmp_path):
    made = Shell(tmp_path)
    made.program("change", 'echo "$1"\n')
    made.tool("change", '[change, "{{ .text }}"]', contract=WRITING)
    made.write("here/scenario.yaml", "tool_responses: { change: [{ outputs: { stdout: done } }] }\n")
    made.book(
        """
        - { id: change, type: tool, tool: change, inputs: { text: two words } }
        - { id: done, type: end, outcome: { category: resolved, code: ok } }
        """,
        tools="change",
    )
    return made


def arguments(mode):
    return ("--mode", mode, *(("--scenario", "here") if mode == "replay" else ()))


def kept(shell):
    return sorted(path.name for path in (shell.root / "runs").glob("*")) if (shell.root / "runs").exists() else []


@pytest.mark.parametrize("mode", MODES)
def test_the_mode_is_in_the_result_line_and_in_every_json_result(shell, mode):
    plans = mode in ("dry-run", "probe")
    line = f"Possible outcome: resolved (ok) [{mode}]" if plans else f"✓ Outcome: resolved (ok) [{mode}]"
    said = shell.gert("exec", "book.yaml", *arguments(mode))
    assert line in said.stdout.splitlines()
    assert ("✓ Outcome" in said.stdout) is not plans
    found = shell.json("exec", "book.yaml", *arguments(mode), "--keep")
    assert found["mode"] == mode
    run = found["run_id"]
    assert f"  mode:     {mode}\n" in shell.gert("runs", "show", run).stdout
    for command in (
        ("runs", "show", run),
        ("runs", "artifacts", run),
        ("runs", "logs", run),
        ("trace", "show", found["trace"]),
        ("trace", "verify", found["trace"]),
    ):
        assert shell.json(*command)["mode"] == mode
    (listed,) = [one for one in shell.json("runs", "list", "--mode", mode)["runs"] if one["run_id"] == run]
    assert listed["mode"] == mode


def test_a_failed_run_and_a_pending_approval_say_the_mode_too(shell):
    shell.write(
        "strict.yaml",
        "apiVersion: policy/v0\nmeta: { name: strict }\nrules: [{ writes: [host], action: require-approval }]\n",
    )
    said = shell.gert("exec", "book.yaml", "--policy", "strict.yaml", "--approval", "inbox")
    assert "\nApproval pending [real]\n" in said.stdout
    assert "\n  then: gert resume --run" in said.stdout
    shell.tool("change", "[change, '{{ .text }}']", contract=WRITING)
    shell.program("change", "exit 3\n")
    assert "✗ Run failed [real]\n" in shell.gert("exec", "book.yaml", code=1).stdout


@pytest.mark.parametrize("mode", ["dry-run", "replay"])
def test_a_run_that_touches_nothing_keeps_no_directory_unless_asked(shell, mode):
    found = shell.json("exec", "book.yaml", *arguments(mode))
    assert found["trace"] is None
    assert not (shell.root / "runs").exists()
    said = shell.gert("exec", "book.yaml", *arguments(mode))
    assert " (not kept)\n" in said.stdout
    assert "trace:" not in said.stdout
    assert not (shell.root / "runs").exists()
    found = shell.json("exec", "book.yaml", *arguments(mode), "--keep")
    assert kept(shell) == [found["run_id"]]
    assert shell.gert("trace", "verify", found["trace"]).stdout
    traced = shell.json("exec", "book.yaml", *arguments(mode), "--trace", "elsewhere.jsonl")
    assert kept(shell) == sorted([found["run_id"], traced["run_id"]])
    assert (shell.root / "elsewhere.jsonl").exists()


@pytest.mark.parametrize("mode", ["real", "probe"])
def test_a_run_that_touches_something_is_kept(shell, mode):
    assert kept(shell) == []
    assert [shell.json("exec", "book.yaml", *arguments(mode))["run_id"]] == kept(shell)


def test_the_list_shows_real_runs_and_probes_and_others_by_mode(shell):
    ids = {mode: shell.json("exec", "book.yaml", *arguments(mode), "--keep")["run_id"] for mode in MODES}

    def listed(*options):
        return {run["run_id"] for run in shell.json("runs", "list", *options)["runs"]}

    assert listed() == {ids["real"], ids["probe"]}
    for mode in MODES:
        assert listed("--mode", mode) == {ids[mode]}
    assert listed("--mode", "dry-run, replay") == {ids["dry-run"], ids["replay"]}
    assert len(listed("-n", "1")) == 1
    table = shell.gert("runs", "list").stdout.splitlines()
    assert table[0].split()[:4] == ["RUN", "RUNBOOK", "MODE", "STATUS"]
    assert sorted(line.split()[2] for line in table[1:]) == ["probe", "real"]
    said = shell.gert("runs", "list", "--mode", "dry", code=2)
    assert "'dry' is not a list of modes" in said.stderr
    assert "real, dry-run, probe, replay" in said.stderr


def test_a_probe_is_not_resumed_and_no_hint_says_so(shell):
    run = shell.json("exec", "book.yaml", "--mode", "probe")["run_id"]
    assert shell.json("runs", "show", run)["resume_point"] is None
    shell.write(
        "strict.yaml",
        "apiVersion: policy/v0\nmeta: { name: strict }\nrules: [{ effects: [network], action: require-approval }]\n",
    )
    shell.tool("change", "[change, x]", contract="{ effects: [network], writes: [] }")
    shell.book(
        "- { id: change, type: tool, tool: change }\n- { id: done, type: end, outcome: { category: resolved } }",
        tools="change",
    )
    said = shell.gert("exec", "book.yaml", "--mode", "probe", "--policy", "strict.yaml", "--approval", "inbox")
    assert "Approval pending [probe]\n" in said.stdout
    assert "gert resume" not in said.stdout
    run = shell.json("runs", "list")["runs"][0]["run_id"]
    assert "gert resume" not in shell.gert("runs", "show", run).stderr


def plan(shell, steps, *args):
    """Return the title of every step that a dry-run shows, by id."""
    shell.book(steps, tools="change")
    said = shell.gert("exec", "book.yaml", "--mode", "dry-run", *args)
    titles = [line.strip()[2:] for line in said.stdout.splitlines() if line.strip()[:1] in ("·", "✓", "▸", "○")]
    return said.stdout, {title.split()[0]: "(maybe)" in title for title in titles}


def test_the_command_line_of_each_tool_step_is_shown(shell):
    for mode in ("dry-run", "probe"):
        said = shell.gert("exec", "book.yaml", "--mode", mode)
        assert "    command: change 'two words'\n" in said.stdout
    out, _ = plan(
        shell,
        """
        - { id: a, type: tool, tool: change, inputs: { text: one } }
        - { id: b, type: tool, tool: change, inputs: { text: "{{ .a.stdout }}" } }
        - { id: done, type: end, outcome: { category: resolved } }
        """,
    )
    assert "    input text = {{ .a.stdout }}\n    command: change '{{ .a.stdout }}'\n" in out


def test_a_secret_in_the_command_line_is_masked(shell):
    shell.write("gert-project.yaml", "name: p\n")
    shell.book(
        """
        - { id: change, type: tool, tool: change, inputs: { text: "{{ .token }}" } }
        - { id: done, type: end, outcome: { category: resolved } }
        """,
        tools="change",
        meta="inputs: { token: { type: string, secret: true } }",
    )
    said = shell.gert("exec", "book.yaml", "--mode", "dry-run", "--var", "token=very-hidden-value")
    assert "very-hidden-value" not in said.stdout + said.stderr
    assert "command: change " in said.stdout


def test_everything_after_a_step_that_was_not_run_is_maybe(shell):
    _, found = plan(
        shell,
        """
        - { id: first, type: assert, assert: [{ type: equals, value: 1, expected: 1 }] }
        - { id: change, type: tool, tool: change, inputs: { text: x } }
        - { id: after, type: assert, assert: [{ type: equals, value: 1, expected: 1 }] }
        - { id: done, type: end, outcome: { category: resolved } }
        """,
    )
    assert found == {"first": False, "change": False, "after": True, "done": True}


def test_what_catches_failures_is_certain_again_after_but_not_inside(shell):
    _, found = plan(
        shell,
        """
        - id: all
          type: block
          continue_on_fail: true
          steps:
            - { id: change, type: tool, tool: change, inputs: { text: x } }
            - { id: inside, type: assert, assert: [{ type: equals, value: 1, expected: 1 }] }
        - { id: next, type: assert, assert: [{ type: equals, value: 1, expected: 1 }] }
        - { id: leaf, type: tool, tool: change, continue_on_fail: true, inputs: { text: x } }
        - { id: last, type: assert, assert: [{ type: equals, value: 1, expected: 1 }] }
        - { id: done, type: end, outcome: { category: resolved } }
        """,
    )
    assert found == {
        "all": False, "change": False, "inside": True, "next": False, "leaf": False, "last": False, "done": False
    }  # fmt: skip


def test_branches_beside_it_are_reached_whatever_it_comes_to(shell):
    _, found = plan(
        shell,
        """
        - id: both
          type: parallel
          branches:
            - label: left
              steps:
                - { id: change, type: tool, tool: change, inputs: { text: x } }
                - { id: behind, type: assert, assert: [{ type: equals, value: 1, expected: 1 }] }
            - label: right
              steps:
                - { id: beside, type: assert, assert: [{ type: equals, value: 1, expected: 1 }] }
        - { id: done, type: end, outcome: { category: resolved } }
        """,
    )
    assert found == {"both": False, "change": False, "behind": True, "beside": False, "done": True}


def test_finally_is_reached_and_on_failure_may_be(shell):
    _, found = plan(
        shell,
        """
        - id: all
          type: block
          steps:
            - { id: change, type: tool, tool: change, inputs: { text: x } }
          on_failure:
            - { id: rescue, type: assert, assert: [{ type: equals, value: 1, expected: 1 }] }
          finally:
            - { id: tidy, type: assert, assert: [{ type: equals, value: 1, expected: 1 }] }
        - { id: done, type: end, outcome: { category: resolved } }
        """,
    )
    assert found == {"all": False, "change": False, "rescue": True, "tidy": False, "done": True}


def test_a_library_call_keeps_what_the_command_keeps(shell, monkeypatch):
    import gert_core

    monkeypatch.chdir(shell.root)
    result = gert_core.run(shell.root / "book.yaml", mode="dry-run")
    assert (result.mode, result.traced, json.loads(json.dumps(result.to_json()))["trace"]) == ("dry-run", False, None)
    assert not (shell.root / "runs").exists()
    assert gert_core.run(shell.root / "book.yaml", mode="dry-run", keep=True).traced


def test_the_mode_that_an_altered_trace_claims_is_not_told(shell):
    trace = shell.json("exec", "book.yaml")["trace"]
    lines = Path(trace).read_text().splitlines(keepends=True)
    Path(trace).write_text("".join([lines[0].replace('"mode":"real"', '"mode":"probe"'), *lines[1:]]))
    found = shell.json("trace", "verify", trace, code=1)
    assert (found["verdict"], found["mode"]) == ("altered", None)
    Path(trace).write_text("".join(lines[:-1]))
    found = shell.json("trace", "verify", trace, code=1)
    assert (found["verdict"], found["mode"]) == ("truncated", "real")
