"""Every command that is printed as what to do next does what it says: each kind of end is brought about and followed."""

from __future__ import annotations

import json
import re
import shlex
import signal

import pytest
from gertproc import Gert

TOOL = """\
apiVersion: tool/v0
meta: { name: NAME, transport: stdio }
contract: { effects: [network], CONTRACT }
actions: { do: { argv: [sh, -c, 'echo x >> did.NAME; test -e sick || exit 0; cat sick >&2; exit 3'] } }
"""
END = "  - { id: done, type: end, outcome: { category: resolved, code: fine } }\n"
READ, WRITE = "idempotent: true", "writes: [db]"
STORES = [(), ("--store", "sqlite:kept runs.db")]


@pytest.fixture
def gert(tmp_path):
    made = Gert(tmp_path, GERT_ACTOR="olga")
    made.write(tool_read=TOOL.replace("NAME", "read").replace("CONTRACT", READ))
    made.write(tool_write=TOOL.replace("NAME", "write").replace("CONTRACT", WRITE))
    return made


def book(gert: Gert, steps: str, meta: str = "", name: str = "book") -> None:
    text = f"apiVersion: kernel/v0\nmeta: {{ name: book{meta} }}\ntools: [read, write]\nsteps:\n{steps}{END}"
    gert.write(**{name: text})


def step(name: str, tool: str = "read", more: str = "") -> str:
    return f"  - {{ id: {name}, type: tool, tool: {tool}{more} }}\n"


class Advice:
    """What a result printed, and what its JSON has: the same commands."""

    def __init__(self, gert: Gert, said: str, *store: str) -> None:
        self.gert = gert
        self.lines = re.findall(r"^ +(next|or|and|then|more): (.*)$", said, re.MULTILINE)
        self.words: list[tuple[str, list[str]]] = []
        for lead, line in self.lines:
            if line.startswith("…"):
                (first,) = [words for _, words in self.words if "--reconcile" in words][:1]
                choice = re.match(r"…=(\w+)  # ", line)[1]
                self.words.append((lead, [re.sub("=(redo|done)$", f"={choice}", word) for word in first]))
            else:
                self.words.append((lead, shlex.split(line, comments=True)))
        self.more = [words for lead, words in self.words if lead == "more"]
        self.words = [(lead, words) for lead, words in self.words if lead != "more"]
        run = re.search(r"^ *run: (\S+)", said, re.MULTILINE)
        if run is not None:
            shown = gert("runs", "show", run[1], "--json", *store).document
            assert [words for _, words in self.words] == [one["command"] for one in shown["next"]]
            assert all(one["why"] for one in shown["next"])

    @property
    def leads(self) -> list[str]:
        return [lead for lead, _ in self.words]

    def run(self, number: int, *, code: int = 0, **environ: str):
        """Execute one of the commands as it is printed."""
        gert, *words = self.words[number][1]
        assert gert == "gert"
        said = self.gert(*words, **environ)
        assert said.code == code, said.all
        return said


def executed(gert: Gert, *words: str, code: int, store: tuple[str, ...] = (), **environ: str) -> Advice:
    said = gert("exec", "book.yaml", *words, *store, **environ)
    assert said.code == code, said.all
    advice = Advice(gert, said.out, *store)
    for words in advice.more:
        shown = gert(*words[1:])
        assert (shown.code, words[-1 - len(store)] in shown.out) == (0, True), shown.all
    return advice


def did(gert: Gert, tool: str) -> int:
    file = gert.root / f"did.{tool}"
    return len(file.read_text().split()) if file.exists() else 0


@pytest.mark.parametrize("store", STORES, ids=["directory", "store"])
def test_a_failed_step_is_run_again(gert, store):
    book(gert, step("look") + step("again"))
    (gert.root / "sick").write_text("down")
    advice = executed(gert, code=1, store=store)
    assert advice.leads == ["next"]
    (gert.root / "sick").unlink()
    assert "resolved (fine)" in advice.run(0).out
    assert did(gert, "read") == 3


def test_a_step_with_an_error_is_run_again(gert):
    script = "[sh, -c, 'echo x >> did.read']"
    gert.write(
        tool_read="apiVersion: tool/v0\nmeta: { name: read }\ncontract: { effects: [network], idempotent: true }\n"
        f'actions: {{ do: {{ argv: {script}, extract: {{ n: {{ from: stdout, pattern: "n=([0-9]+)" }} }} }} }}\n'
    )
    book(gert, step("look"))
    advice = executed(gert, code=1)
    assert gert("runs", "show", gert.run().name, "--json").document["status"] == "error"
    assert advice.leads == ["next"]
    advice.run(0, code=1)
    assert did(gert, "read") == 2


LOOK = """\
apiVersion: tool/v0
meta: { name: read }
contract: { effects: [host], idempotent: true, outputs: { state: { type: string } } }
actions: { do: { argv: [sh, -c, 'echo x >> did.read; cat state'], extract: { state: { from: stdout, pattern: "(.*)" } } } }
"""
CHECK = "  - { id: check, type: assert, assert: [{ type: equals, value: '{{ .state }}', expected: ok }] }\n"


def looking(gert: Gert, before: str = "", inputs: str = "") -> None:
    """Write a runbook that fails by what it finds, until that is mended."""
    gert.write(tool_read=LOOK)
    (gert.root / "state").write_text("bad")
    book(gert, before + step("look") + CHECK, f", inputs: {{ {inputs} }}" if inputs else "")


@pytest.mark.parametrize("store", STORES, ids=["directory", "store"])
def test_a_step_that_would_compute_the_same_again_is_not_retried_but_a_new_run_looks(gert, store):
    secret = "pw: { type: string, secret: true }"
    looking(gert, inputs=f"host: {{ type: string }}, tags: {{ type: list }}, n: {{ type: int, default: 3 }}, {secret}")
    words = ("--var", "host=a 'b", "--var", 'tags=["c d", 1]', "--var", "pw=hunter22")
    advice = executed(gert, *words, code=1, store=store)
    run = gert("runs", "list", "--json", *store).document["runs"][0]["run_id"]
    (command,) = [words for _, words in advice.words]
    given = ["--var", "host=a 'b", "--var", 'tags=["c d", 1]', "--var", "pw=…"]
    assert command == ["gert", "exec", str(gert.root / "book.yaml"), *given, *store]
    assert "# start a new run, which looks anew: in this one check fails again" in advice.lines[0][1]
    (gert.root / "state").write_text("ok")
    retried = gert("resume", "--run", run, "--var", "pw=hunter22", "--retry-failed", *store)
    assert (retried.code, did(gert, "read")) == (1, 1), "it takes what was found then"
    assert "next: gert exec" in retried.out
    again = gert(*[word.replace("pw=…", "pw=hunter22") for word in command[1:]])
    assert (again.code, did(gert, "read")) == (0, 2), again.all


def test_a_value_that_is_long_or_has_a_secret_is_left_out(gert):
    looking(gert, inputs="host: { type: string }, url: { type: string }, pw: { type: string, secret: true }")
    long = "x" * 300
    given = ("--var", f"host={long}", "--var", "url=http://me:hunter22@there/", "--var", "pw=hunter22")
    said = gert("exec", "book.yaml", *given)
    assert "--var 'host=…' --var 'url=…' --var 'pw=…'" in said.out
    assert long not in said.out


def test_a_new_run_is_started_with_the_same_policies_and_says_what_takes_effect_again(gert):
    looking(gert, before=step("change", "write"))
    gert.write(policy="apiVersion: policy/v0\nmeta: { name: p }\nrules: []\n")
    advice = executed(gert, "--policy", "policy.yaml", code=1)
    assert "# start a new run, which looks anew, and change again, which took effect before: " in advice.lines[0][1]
    assert advice.words[0][1][3:] == ["--policy", str(gert.root / "policy.yaml")]
    (gert.root / "state").write_text("ok")
    assert "resolved (fine)" in advice.run(0).out
    assert did(gert, "write") == 2


def test_a_check_that_was_mended_is_retried(gert):
    looking(gert)
    assert executed(gert, code=1).words[0][1][1] == "exec"
    file = gert.root / "book.yaml"
    file.write_text(file.read_text().replace("expected: ok", "expected: bad"))
    run = gert.run().name
    (command,) = [one["command"] for one in gert("runs", "show", run, "--json").document["next"]]
    assert command == ["gert", "resume", "--run", run, "--retry-failed", "--on-drift", "allow"]
    assert "resolved (fine)" in gert(*command[1:]).out
    assert did(gert, "read") == 1


def test_a_check_that_is_run_again_with_what_it_reads_is_retried(gert):
    inside = "      - { id: look, type: tool, tool: read }\n    " + CHECK
    cleanup = "    finally: [{ id: tidy, type: tool, tool: write }]\n"
    gert.write(tool_read=LOOK, tool_write=TOOL.replace("NAME", "write").replace("CONTRACT", READ))
    (gert.root / "state").write_text("bad")
    book(gert, "  - id: part\n    type: block\n    steps:\n" + inside + cleanup)
    advice = executed(gert, code=1)
    assert advice.words[0][1][-1] == "--retry-failed"
    (gert.root / "state").write_text("ok")
    assert "resolved (fine)" in advice.run(0).out


def test_a_program_that_computes_and_could_not_be_started_is_run_again(gert):
    gert.write(
        tool_read="apiVersion: tool/v0\nmeta: { name: read }\n"
        "contract: { effects: [], writes: [], deterministic: true, idempotent: true }\n"
        "actions: { do: { argv: [./computes] } }\n"
    )
    book(gert, step("sum"))
    advice = executed(gert, "--no-preflight", code=1)
    assert advice.words[0][1][-1] == "--retry-failed"
    program = gert.root / "computes"
    program.write_text("#!/bin/sh\ntrue\n")
    program.chmod(0o700)
    assert "resolved (fine)" in advice.run(0).out


@pytest.mark.parametrize(("number", "code", "times"), [(0, 0, 2), (1, 0, 1), (2, 1, 1)], ids=["redo", "done", "failed"])
@pytest.mark.parametrize("store", STORES, ids=["directory", "store"])
def test_a_failed_write_is_decided_by_a_person(gert, number, code, times, store):
    book(gert, step("act", "write"))
    (gert.root / "sick").write_text("down")
    advice = executed(gert, code=1, store=store)
    assert advice.leads == ["next", "or", "or"]
    (gert.root / "sick").unlink()
    advice.run(number, code=code)
    assert did(gert, "write") == times


@pytest.mark.parametrize(("number", "code", "times"), [(1, 0, 1), (2, 0, 2), (3, 1, 1)], ids=["done", "redo", "failed"])
def test_an_interrupted_write_is_looked_at_and_decided_by_a_person(gert, number, code, times):
    dies = (
        TOOL.replace("NAME", "write").replace("CONTRACT", WRITE).replace("test -e sick", "test -e go || kill -9 $PPID")
    )
    gert.write(tool_write=dies.replace("cat sick >&2; exit 3", "exit 0"))
    book(gert, step("act", "write"))
    assert gert("exec", "book.yaml").code in (-signal.SIGKILL, 128 + signal.SIGKILL)
    (gert.root / "go").touch()
    run = gert.run().name
    advice = Advice(gert, f"run: {run}\n{gert('runs', 'show', run).err}")
    assert advice.leads == ["next", "then", "or", "or"]
    looked = advice.run(0)
    assert 'writes=["db"]' in looked.out, "what it may have changed is what a person has to look at"
    advice.run(number, code=code)
    assert did(gert, "write") == times


@pytest.mark.parametrize("policy", [False, True], ids=["runbook", "file"])
@pytest.mark.parametrize("store", STORES, ids=["directory", "store"])
def test_a_denied_step_is_explained(gert, policy, store):
    rules = "governance: { rules: [ { effects: [network], action: deny } ] }"
    book(gert, step("look"), meta="" if policy else f", {rules}")
    gert.write(
        strict="apiVersion: policy/v0\nmeta: { name: strict }\nrules: [ { effects: [network], action: deny } ]\n"
    )
    advice = executed(gert, *(["--policy", "strict.yaml"] if policy else []), code=1, store=store)
    assert advice.leads == ["next"]
    said = advice.run(0)
    assert re.match(r"look \(tool, \S+:5\)", said.out)
    assert re.search(r"decision: +deny", said.out)
    assert did(gert, "read") == 0


@pytest.mark.parametrize("store", STORES, ids=["directory", "store"])
@pytest.mark.parametrize("answer", [0, 1], ids=["approve", "reject"])
def test_an_approval_is_given_and_the_run_goes_on(gert, store, answer):
    rules = ", governance: { rules: [ { effects: [network], action: require-approval, exclude_actor: false } ] }"
    book(gert, step("look"), meta=rules)
    advice = executed(gert, "--approval", "inbox", code=0, store=store)
    assert advice.leads == ["next", "or", "then"]
    advice.run(answer)
    said = advice.run(2, code=answer)
    assert did(gert, "read") == (answer == 0)
    assert ("resolved (fine)" in said.out) == (answer == 0)
    if answer:
        assert not Advice(gert, said.out, *store).words, "a run asks once for the approval of a step"


def test_several_approvals_are_given_one_by_one(gert):
    rules = ", governance: { rules: [ { effects: [network], action: require-approval, exclude_actor: false } ] }"
    forked = "\n".join(f"      - {{ steps: [ {step(name)[4:].strip()} ] }}" for name in ("left", "right"))
    book(gert, f"  - id: fork\n    type: parallel\n    branches:\n{forked}\n", meta=rules)
    advice = executed(gert, "--approval", "inbox", code=0)
    assert advice.leads == ["next", "or", "and", "or", "then"]
    for number in (0, 2):
        advice.run(number)
    assert "resolved (fine)" in advice.run(4).out


@pytest.mark.parametrize("store", STORES, ids=["directory", "store"])
def test_an_answer_is_given_and_the_run_goes_on(gert, store):
    book(gert, "  - { id: ask, type: manual, instructions: Look. }\n")
    advice = executed(gert, "--questions", "suspend", code=0, store=store)
    assert advice.leads == ["next", "then"]
    advice.run(0)
    assert "resolved (fine)" in advice.run(1).out


@pytest.mark.parametrize("store", STORES, ids=["directory", "store"])
def test_each_command_on_the_way_says_the_next_one(gert, store):
    """From the first result on, only what is printed is typed: approve one, answer one in part, then the rest."""
    rules = ", governance: { rules: [ { effects: [network], action: require-approval, exclude_actor: false } ] }"
    ask = "{ id: ask, type: manual, instructions: Look., required_evidence: [ { kind: text, name: a }, { kind: text, name: b } ] }"
    forked = f"      - {{ steps: [ {step('left')[4:].strip()} ] }}\n      - {{ steps: [ {ask} ] }}\n"
    book(gert, f"  - id: fork\n    type: parallel\n    branches:\n{forked}", meta=rules)
    advice = executed(gert, "--approval", "inbox", "--questions", "suspend", code=0, store=store)
    assert advice.leads == ["next", "or", "and", "then"]
    run = advice.words[2][1][2]
    said = advice.run(0)
    second = Advice(gert, f"run: {run}\n{said.out}", *store)
    assert [words[1] for _, words in second.words] == ["answer", "resume"]
    words = second.words[0][1][1:]
    at = words.index("fork/1/ask") + 1
    said = gert(*words[:at], "a=dust", *words[at:])
    assert "Still open: b." in said.out
    third = Advice(gert, f"run: {run}\n{said.out}", *store)
    assert [words[1] for _, words in third.words] == ["answer", "resume"]
    said = gert(*words[:at], "b=none", *words[at:], "--json")
    assert [one["command"][1] for one in said.document["next"]] == ["resume"]
    done = gert(*said.document["next"][0]["command"][1:])
    assert "resolved (fine)" in done.out, done.all


def test_a_declined_question_is_not_asked_for_again(gert):
    book(gert, "  - { id: ask, type: manual, instructions: Look., required_evidence: [ { kind: text, name: a } ] }\n")
    executed(gert, "--questions", "suspend", code=0)
    said = gert("answer", "latest", "ask", "--reject", "too dark")
    assert re.findall(r"^ +(\w+): gert (\w+)", said.out, re.MULTILINE) == [("next", "resume")]


@pytest.mark.parametrize("store", STORES, ids=["directory", "store"])
def test_a_blocked_run_is_unblocked_and_goes_on(gert, store):
    book(gert, "  - { id: ask, type: manual, instructions: Look. }\n")
    said = gert("exec", "book.yaml", "--questions", "suspend", *store)
    run = re.search(r"run: (\S+)", said.out)[1]
    assert gert("runs", "block", run, "--key", "it's time", "--reason", "the change window", *store).code == 0
    shown = gert("runs", "show", run, *store)
    advice = Advice(gert, f"run: {run}\n{shown.err}", *store)
    assert advice.leads == ["next", "then"]
    said = advice.run(0)
    assert re.findall(r"^ +(\w+): gert (\w+)", said.out, re.MULTILINE)[-1][1] == "resume"
    assert "Answer pending" in advice.run(1).out, "it waits for what it waited for before"


@pytest.mark.parametrize(
    ("number", "code", "status"), [(0, 0, "completed"), (1, 1, "cancelled")], ids=["resume", "abort"]
)
def test_a_cancelled_run_goes_on_or_is_ended(gert, number, code, status):
    gert.write(
        tool_read=TOOL.replace("NAME", "read")
        .replace("CONTRACT", READ)
        .replace("test -e sick || exit 0", "test -e go || { kill -INT $PPID; sleep 9; }; exit 0")
    )
    book(gert, step("look"))
    advice = executed(gert, code=130)
    assert advice.leads == ["next", "or"]
    (gert.root / "go").touch()
    advice.run(number, code=code)
    assert gert("runs", "show", gert.run().name, "--json").document["status"] == status


def test_a_run_whose_runbook_changed_goes_on_when_that_is_meant(gert):
    book(gert, step("look"))
    (gert.root / "sick").write_text("down")
    executed(gert, code=1)
    (gert.root / "sick").unlink()
    book(gert, step("look") + "  # a remark\n")
    run = gert.run().name
    advice = Advice(gert, f"run: {run}\n{gert('runs', 'show', run).err}")
    assert advice.words[0][1][-2:] == ["--on-drift", "allow"]
    assert "resolved (fine)" in advice.run(0).out


PART = "apiVersion: kernel/v0\nmeta: { name: part }\ntools: [read]\nsteps:\n"
POLICY = "apiVersion: policy/v0\nmeta: { name: p }\nrules: [ { effects: [network], action: allow%s } ]\n"


@pytest.mark.parametrize(
    ("file", "changed", "named"),
    [
        ("tools/read.tool.yaml", "# other\n", "tool"),
        ("part.yaml", "# other\n", "runbook"),
        ("given.yaml", POLICY % ", min_approvers: 2", "policy"),
        ("floor.yaml", POLICY % ", min_approvers: 2", "policy"),
        ("gert-project.yaml", "name: x\n", "the list of policies"),
        ("given.yaml", f"# a remark\n{POLICY % ''}", None),
        ("gert-project.yaml", "name: x\npolicies: [floor.yaml]\n", None),
        ("tools/other.tool.yaml", TOOL, None),
    ],
    ids=["tool", "part", "given", "floor", "list", "remark", "name", "other"],
)
def test_every_document_that_changed_is_named(gert, file, changed, named):
    """What was read for the run is drift, and nothing else: the command resumes the run as it is printed."""
    book(gert, "  - { id: part, type: runbook, runbook: part.yaml }\n" + step("look"))
    end = "  - { type: end, outcome: { category: resolved, code: fine } }\n"
    gert.write(part=f"{PART}{step('inner')}{end}", given=POLICY % "", floor=POLICY % "")
    (gert.root / "gert-project.yaml").write_text("policies: [floor.yaml]\n")
    (gert.root / "sick").write_text("down")
    executed(gert, "--policy", "given.yaml", code=1)
    (gert.root / "sick").unlink()
    target = gert.root / file
    target.write_text(f"{target.read_text()}{changed}" if changed == "# other\n" else changed)
    run = gert.run().name
    advice = Advice(gert, f"run: {run}\n{gert('runs', 'show', run).err}")
    (shown,) = gert("runs", "show", run, "--json").document["next"]
    allowed = shown["command"][-2:] == ["--on-drift", "allow"]
    assert (allowed, f"although {named} " in shown["why"]) == (named is not None, named is not None), shown
    if named is not None and "list" not in named:
        assert file in shown["why"]
        assert gert(*[word for word in shown["command"][1:] if word not in ("--on-drift", "allow")]).code == 1
    assert "resolved (fine)" in advice.run(0).out


@pytest.mark.parametrize(
    ("file", "changed", "named"),
    [
        ("floor.yaml", POLICY % ", min_approvers: 2", True),
        ("gert-project.yaml", "policies: []\n", True),
        ("floor.yaml", f"# a remark\n{POLICY % ''}", False),
    ],
    ids=["rules", "list", "remark"],
)
def test_policies_of_an_included_runbook_with_a_project_of_its_own_are_named(gert, tmp_path, file, changed, named):
    book(gert, "  - { id: part, type: runbook, runbook: ../theirs/part.yaml }\n" + step("look"))
    theirs = gert.root / "theirs"
    (theirs / "tools").mkdir(parents=True)
    (gert.root / "ours").mkdir()
    for name in ("book.yaml", "tools"):
        (gert.root / name).rename(gert.root / "ours" / name)
    part = f"{PART}{step('inner')}  - {{ type: end, outcome: {{ category: resolved, code: fine }} }}\n"
    (theirs / "part.yaml").write_text(part)
    (theirs / "tools/read.tool.yaml").write_text((gert.root / "ours/tools/read.tool.yaml").read_text())
    (theirs / "floor.yaml").write_text(POLICY % "")
    (theirs / "gert-project.yaml").write_text("policies: [floor.yaml]\n")
    (gert.root / "ours/gert-project.yaml").write_text("{}\n")
    ours = Gert(gert.root / "ours", GERT_ACTOR="olga")
    (ours.root / "sick").write_text("down")
    executed(ours, code=1)
    (ours.root / "sick").unlink()
    (theirs / file).write_text(changed)
    run = ours.run().name
    (shown,) = ours("runs", "show", run, "--json").document["next"]
    assert ("although the policies of ../theirs/part.yaml changed" in shown["why"]) is named, shown
    assert (shown["command"][-2:] == ["--on-drift", "allow"]) is named
    if named:
        assert ours("resume", "--run", run, "--retry-failed").code == 1
    assert "resolved (fine)" in Advice(ours, f"run: {run}\n{ours('runs', 'show', run).err}").run(0).out


def test_what_cleanup_undid_is_run_again_when_that_is_meant(gert):
    book(
        gert,
        f"  - id: deploy\n    type: block\n    steps:\n    {step('act', 'write')}    {step('look')}    finally:\n    {step('undo')}",
    )
    gert.write(
        tool_read=TOOL.replace("NAME", "read")
        .replace("CONTRACT", READ)
        .replace("test -e sick || exit 0", "test $(cat did.read | wc -l) = 1 || exit 0")
    )
    (gert.root / "sick").write_text("down")
    (gert.root / "tools/write.tool.yaml").write_text(
        TOOL.replace("NAME", "write").replace("CONTRACT", WRITE).replace("sick", "ill")
    )
    advice = executed(gert, code=1)
    assert advice.leads == ["next"]
    assert advice.words[0][1][-2:] == ["--retry-failed", "--yes"]
    assert "resolved (fine)" in advice.run(0).out
    assert did(gert, "write") == 2


def test_cleanup_of_the_run_is_known_too(gert):
    book(gert, step("act", "write") + step("look"))
    text = (gert.root / "book.yaml").read_text()
    (gert.root / "book.yaml").write_text(f"{text}finally:\n{step('undo')}")
    gert.write(
        tool_read=TOOL.replace("NAME", "read")
        .replace("CONTRACT", READ)
        .replace("test -e sick || exit 0", "test $(cat did.read | wc -l) = 1 || exit 0")
    )
    (gert.root / "tools/write.tool.yaml").write_text(
        TOOL.replace("NAME", "write").replace("CONTRACT", WRITE).replace("sick", "ill")
    )
    (gert.root / "sick").write_text("down")
    advice = executed(gert, code=1)
    assert "--yes" in advice.words[0][1]
    assert "resolved (fine)" in advice.run(0).out


def look(gert: Gert, script: str) -> None:
    """Write the tool that looks; it counts how often it did."""
    gert.write(
        tool_look="apiVersion: tool/v0\nmeta: { name: look, transport: stdio }\n"
        "contract: { effects: [network], idempotent: true, outputs: { times: { type: int } } }\n"
        f"actions: {{ do: {{ argv: [sh, -c, '{script}'], extract: {{ times: {{ from: stdout, pattern: (\\d+) }} }} }} }}\n"
    )


WAITING = """\
  - id: ready
    type: wait
    until: "{{ ge .ask.times 5 }}"
    every: 300ms
    timeout: 500ms
    steps: [{ id: ask, type: tool, tool: look }]
"""
COUNT = "echo x >> did.look; wc -l < did.look"


@pytest.mark.parametrize(
    ("script", "told"),
    [(COUNT, "not true after 3 rounds"), (f"{COUNT}; test $(wc -l < did.look) != 3", "the last look failed")],
    ids=["every look succeeded", "the last look failed"],
)
def test_a_wait_whose_time_was_up_looks_again(gert, script, told):
    look(gert, script)
    book(gert, WAITING)
    text = (gert.root / "book.yaml").read_text()
    (gert.root / "book.yaml").write_text(text.replace("[read, write]", "[look]"))
    advice = executed(gert, code=1)
    assert told in gert("runs", "show", "latest").out
    assert did(gert, "look") == 3
    said = advice.run(0)
    assert "resolved (fine)" in said.out
    assert did(gert, "look") == 5, "the first look of the retry is the fourth, and the next one is good"
    assert "steps: 3 done" in said.out


INNER = """\
apiVersion: kernel/v0
meta: { name: inner }
tools: [look, write]
steps:
  - { id: ask, type: tool, tool: look }
  - { id: act, type: tool, tool: TOOL }
  - { type: end, when: "{{ ge .ask.times 2 }}", outcome: { category: resolved, code: inner } }
  - { type: end, outcome: { category: escalated, code: inner } }
"""


@pytest.mark.parametrize("tool", ["look", "write"])
def test_a_runbook_whose_outcome_was_not_accepted_is_run_again(gert, tool):
    look(gert, "test -e good && echo 2 || echo 1; echo x >> did.look")
    gert.write(inner=INNER.replace("TOOL", tool))
    book(gert, "  - { id: part, type: runbook, runbook: ./inner.yaml, accept: [resolved] }\n")
    advice = executed(gert, code=1)
    (gert.root / "good").touch()
    run = gert("runs", "list", "--ids").out.strip()
    if tool == "write":
        refused = gert("resume", "--run", run, "--retry-failed")
        assert refused.code == 1
        assert "part/0/act would run again: it writes, is not idempotent and succeeded" in refused.err
        assert "the step around failed by itself" in refused.err
    assert advice.words[0][1][4:] == ["--retry-failed", *(["--yes"] if tool == "write" else [])]
    assert "resolved (fine)" in advice.run(0).out
    assert did(gert, "write") == (2 if tool == "write" else 0)


def test_a_step_that_failed_by_itself_is_counted(gert):
    look(gert, COUNT)
    gert.write(inner=INNER.replace("TOOL", "look"))
    book(gert, "  - { id: part, type: runbook, runbook: ./inner.yaml, accept: [no_action] }\n")
    assert "steps: 3 done, 1 skipped, 1 failed" in gert("exec", "book.yaml").out


def test_nothing_is_advised_where_nothing_is_left_to_do(gert):
    book(gert, step("look"))
    assert not executed(gert, code=0).words
    (gert.root / "sick").write_text("down")
    said = gert("exec", "book.yaml", "--mode", "dry-run")
    assert not Advice(gert, said.out.replace("run:", "")).words


def test_a_run_that_another_process_executes_is_left_alone(gert):
    """A lease that is held, or was lost to another process: who resumes is refused, so nothing is advised."""
    store = ("--store", "sqlite:kept.db")
    gert.write(
        tool_read=TOOL.replace("NAME", "read")
        .replace("CONTRACT", READ)
        .replace("test -e sick || exit 0", "kill -9 $PPID; exit 0")
    )
    book(gert, step("look"))
    gert("exec", "book.yaml", *store)
    (run,) = gert("runs", "list", "--json", *store).document["runs"]
    shown = gert("runs", "show", run["run_id"], "--json", *store).document
    assert (shown["status"], shown["next"]) == ("running", []), json.dumps(shown)
