"""``gert graph``: the steps of a runbook as text, Mermaid, DOT and SVG, and with what became of them in a run."""

from __future__ import annotations

import json
import re
from xml.etree import ElementTree as ET

import pytest
from gertproc import Gert

BOOK = """\
apiVersion: kernel/v0
meta: { name: ways, description: Every kind of way, inputs: { hosts: { type: list, default: [a, b] } } }
tools: [box]
steps:
  - { id: look, type: tool, tool: box, action: read, retry: { max: 3 } }
  - { id: fix, type: tool, tool: box, action: write, next: { step: look, max: 2 }, when: '{{ eq .look.exit_code 9 }}' }
  - id: choose
    type: branch
    branches:
      - { condition: '{{ eq .look.exit_code 0 }}', label: well, steps: [], next: all }
      - condition: default
        label: ill
        steps: [{ id: repair, type: tool, tool: box, action: read, description: Take a look, continue_on_fail: true }]
  - id: all
    type: dag
    nodes:
      - { name: first, steps: [{ id: one, type: tool, tool: box, action: read }] }
      - { name: second, depends_on: [first], steps: [{ id: two, type: tool, tool: box, action: read, scope: two }] }
  - id: again
    type: repeat
    repeat: { max: 4, until: '{{ eq .repeat.index 1 }}' }
    steps: [{ id: round, type: tool, tool: box, action: read, for_each: { as: host, over: '{{ .hosts }}' } }]
  - id: guarded
    type: block
    steps: [{ id: inner, type: runbook, runbook: ./child.yaml }]
    on_failure: [{ id: undo, type: tool, tool: box, action: read }]
  - { type: end, outcome: { category: resolved, code: done } }
finally: [{ id: last, type: tool, tool: box, action: read }]
"""
CHILD = """\
apiVersion: kernel/v0
meta: { name: child }
steps:
  - { id: seen, type: assert, assert: [{ type: equals, value: 1, expected: 1 }] }
  - { type: end, outcome: { category: resolved } }
"""
TOOL = """\
apiVersion: tool/v0
meta: { name: box }
contract: { effects: [host] }
actions:
  read: { argv: ["true"], contract: { effects: [host], idempotent: true, deterministic: true } }
  write: { argv: ["true"], contract: { effects: [host], writes: [file] } }
"""
TEXT = """\
ways (ways.yaml)
Every kind of way
├─ look: tool box read
│     up to 3 attempts, after 2s, 4s
├─ fix: tool box write
│     when eq .look.exit_code 9
│     ↩ goes on at look (max 2)
├─ ◇ choose: branch
│  ├─ well: if eq .look.exit_code 0: nothing to do
│  │     ↩ goes on at all
│  └─ ill: default
│     └─ repair: tool box read
│           goes on after a failure
│           Take a look
├─ ‖ all: dag
│  ├─ first
│  │  └─ one: tool box read
│  └─ second: after first
│     └─ two: tool box read
│           scope two
├─ ▣ again: repeat
│  └─ iteration: max 4, until eq .repeat.index 1
│     └─ round: tool box read
│           for each host in .hosts
├─ ▣ guarded: block
│  ├─ steps
│  │  └─ ▣ inner: runbook
│  │     └─ runbook ./child.yaml
│  │        ├─ seen: assert 1 is 1
│  │        └─ ■ end resolved
│  └─ on_failure: after a failure
│     └─ undo: tool box read
├─ ■ end resolved (done)
└─ finally: in any case
   └─ last: tool box read
"""
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def gert(tmp_path):
    made = Gert(tmp_path)
    made.write(ways=BOOK, child=CHILD, tool_box=TOOL)
    return made


def test_the_text_is_a_tree_of_steps_blocks_and_jumps(gert):
    said = gert("graph", "ways.yaml")
    assert (said.code, said.out, said.err) == (0, TEXT, "")


def test_no_line_is_wider_than_eighty_columns(gert):
    long = BOOK.replace("Take a look", "Take a look at everything there is " * 8).replace(
        "eq .look.exit_code 9", "and (eq .look.exit_code 9) " * 6 + "true"
    )
    gert.write(ways=long)
    lines = gert("graph", "ways.yaml").out.splitlines()
    assert max(map(len, lines)) <= 80
    assert "".join(line.strip("│├└─ ") + " " for line in lines).count("everything there is") == 8


def test_the_picture_has_every_step_once_and_is_the_same_each_time(gert):
    first, second = gert("graph", "ways.yaml", "--format", "svg").out, gert("graph", "ways.yaml", "--format", "svg").out
    assert first == second
    root = ET.fromstring(first)
    names = [box.find(f"{SVG}text").text for box in root.iter(f"{SVG}g") if "step" in (box.get("class") or "")]
    assert sorted(names) == sorted(
        [
            "look",
            "fix",
            "choose",
            "repair",
            "all",
            "one",
            "two",
            "again",
            "round",
            "guarded",
            "inner",
            "seen",
            "resolved",
            "undo",
            "last",
            "resolved (done)",
        ]
    )
    dashed = [box for box in root.iter(f"{SVG}g") if "guarded" in (box.get("class") or "").split()]
    assert [box.find(f"{SVG}text").text for box in dashed] == ["fix"]
    texts = [text.text for text in root.iter(f"{SVG}text")]
    for wanted in (
        "next, max 2",
        "next all",
        "first",
        "second: after first",
        "when eq .look.exit_code 9",
        "for each host in .hosts",
    ):
        assert wanted in texts
    assert any("max 4, until eq" in text for text in texts)
    assert not list(root.iter(f"{SVG}script"))
    assert "href" not in first
    assert "url(#tip)" in first


def shown_in(svg: str) -> dict[str, str]:
    """The classes of each step's box."""
    boxes = [box for box in ET.fromstring(svg).iter(f"{SVG}g") if "step" in (box.get("class") or "").split()]
    return {box.find(f"{SVG}text").text: box.get("class") for box in boxes}


def test_a_run_colours_the_steps_by_what_became_of_them(gert):
    assert gert("exec", "ways.yaml").code == 0
    said = gert("graph", "ways.yaml", "--run", "latest", "--format", "svg")
    classes = shown_in(said.out)
    assert classes["look"].endswith(" good")
    assert classes["fix"].endswith(" skipped")
    assert classes["repair"].endswith(" idle")
    assert classes["seen"].endswith(" good")
    assert classes["undo"].endswith(" idle")
    assert classes["last"].endswith(" good")
    text = gert("graph", "ways.yaml", "--run", "latest").out
    assert re.fullmatch(r"ways \(ways.yaml\), run \S+: completed", text.splitlines()[0])
    assert "├─ ✓ look: tool box read" in text
    assert "├─ ○ fix: tool box write" in text
    assert "└─ repair: tool box read" in text
    assert "success, 4 times" in text
    assert "✓ end" not in text.replace("✓ ■ end", "")
    document = json.loads(gert("graph", "ways.yaml", "--run", "latest", "--json").out)
    assert document["run_status"] == "completed"
    assert document["blocks"][0]["steps"][0]["status"] == "success"


def test_a_changed_runbook_and_a_foreign_run_are_told(gert):
    gert("exec", "ways.yaml")
    gert.write(ways=BOOK + "# changed\n", other=CHILD)
    assert "warning: the runbook has changed since this run" in gert("graph", "ways.yaml", "--run", "latest").err
    said = gert("graph", "other.yaml", "--run", "latest")
    assert said.code == 2
    assert "is one of the runbook 'ways', not of 'child'" in said.err
    said = gert("graph", "ways.yaml", "--run", "nobody")
    assert said.code == 2
    assert "nobody" in said.err


def test_a_failed_step_is_shown_as_one(gert):
    gert.write(tool_box=TOOL.replace('read: { argv: ["true"]', 'read: { argv: ["false"]'))
    assert gert("exec", "ways.yaml").code == 1
    said = gert("graph", "ways.yaml", "--run", "latest").out
    assert "├─ ✗ look: tool box read" in said
    assert "✗ last: tool box read" in said


WAITING = """\
apiVersion: kernel/v0
meta: { name: waiting }
tools: [box]
steps:
  - id: both
    type: parallel
    branches:
      - { label: left, steps: [{ id: look, type: tool, tool: box, action: read }] }
      - { label: right, steps: [{ id: gate, type: approval, message: Go on? }] }
  - { id: never, type: end, outcome: { category: resolved, code: done } }
"""


def test_nothing_of_a_suspended_run_is_shown_as_running(gert):
    gert.write(waiting=WAITING)
    assert gert("exec", "waiting.yaml", "--approval", "inbox").code == 0
    classes = shown_in(gert("graph", "waiting.yaml", "--run", "latest", "--format", "svg").out)
    assert {name: classes[name].split()[-1] for name in ("both", "look", "gate")} == {
        "both": "waiting", "look": "good", "gate": "waiting",
    }  # fmt: skip
    assert "├─ … ‖ both: parallel" in gert("graph", "waiting.yaml", "--run", "latest").out
    shown = json.loads(gert("runs", "show", "latest", "--json").out)
    assert {step["step_key"]: step["status"] for step in shown["steps"]} == {
        "both": "open", "both/0/look": "success", "both/1/gate": "open",
    }  # fmt: skip


def test_mermaid_and_dot_have_every_way(gert):
    mermaid = gert("graph", "ways.yaml", "--format", "mermaid").out
    assert mermaid.startswith("flowchart TD\n")
    for line in (
        '  s1["look: tool box read<br>up to 3 attempts, after 2s, 4s"]',
        '  s2 -->|"next, max 2"| s1',
        '  s3 -->|"well: if eq .look.exit_code 0"| s5',
        '  s3 -->|"default"| s4',
        "  s6 --> s7",
        '  s9 -->|"again"| s9',
        "  s13 --> s15",
        '  s0 -.->|"in any case"| s16',
        "  class s2 guarded",
    ):
        assert line in mermaid.splitlines(), line
    dot = gert("graph", "ways.yaml", "--format", "dot").out
    assert dot.startswith('digraph "ways" {')
    assert dot.endswith("}\n")
    for line in ('  s2 -> s1 [label="next, max 2", constraint=false];', "  s6 -> s7;", '  s3 -> s4 [label="default"];'):
        assert line in dot.splitlines(), line
    assert 'style="rounded,filled,dashed"' in dot


def test_a_file_is_written_in_the_format_of_its_name(gert):
    for name, start in {"a.svg": "<svg ", "a.mmd": "flowchart", "a.dot": "digraph", "a.txt": "ways ("}.items():
        said = gert("graph", "ways.yaml", "-o", name)
        assert (said.code, said.out) == (0, "")
        assert (gert.root / name).read_text().startswith(start)
    said = gert("graph", "ways.yaml", "-o", "missing/a.svg")
    assert said.code == 2
    assert "cannot write missing/a.svg: No such file or directory" in said.err


def test_mistakes_are_explained(gert):
    said = gert("graph", "ways.yaml", "--format", "svgg")
    assert said.code == 2
    assert "there is no format 'svgg'" in said.err
    assert "did you mean `svg`?" in said.err
    gert.write(broken=BOOK.replace("type: branch", "type: brunch"))
    said = gert("graph", "broken.yaml")
    assert said.code == 1
    assert "broken.yaml is not a valid runbook, so it has no graph" in said.err
    assert "there is no step type 'brunch'" in said.err


HOSTILE = "</text><script>alert(1)</script>\\\" ]-->|x|\\e[31m{{ '{{' }} \u202e &#x26; #quot; %"


def test_no_text_of_the_author_is_more_than_text(gert):
    quoted = json.dumps(HOSTILE.replace("\\e", "\x1b"))
    gert.write(
        evil=f"""\
apiVersion: kernel/v0
meta: {{ name: {quoted}, description: {quoted} }}
steps:
  - {{ id: a, type: assert, description: {quoted}, assert: [{{ type: equals, value: 1, expected: 1 }}] }}
  - id: b
    type: branch
    branches: [{{ condition: default, label: {quoted}, steps: [{{ id: c, type: manual, instructions: x }}] }}]
"""
    )
    for name in ("text", "mermaid", "dot", "svg"):
        said = gert("graph", "evil.yaml", "--format", name)
        assert said.code == 0, said.err
        assert "\x1b" not in said.out
        assert "\u202e" not in said.out
        assert "u001b" in said.out
    svg = gert("graph", "evil.yaml", "--format", "svg").out
    root = ET.fromstring(svg)
    assert {child.tag.removeprefix(SVG) for child in root.iter()} <= {
        "svg", "title", "style", "defs", "marker", "path", "g", "rect", "text", "circle"
    }  # fmt: skip
    mermaid = gert("graph", "evil.yaml", "--format", "mermaid").out
    labels = re.findall(r'"([^"]*)"', mermaid)
    assert labels
    assert not any(re.search(r"[<>\[\]{}|]", label.replace("<br>", "")) for label in labels)
    dot = gert("graph", "evil.yaml", "--format", "dot").out
    outside = re.sub(r'"(?:[^"\\]|\\.)*"', "", dot)
    assert "script" not in outside
    assert "alert" not in outside
