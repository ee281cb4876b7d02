"""Every construct of the language in a small runbook of its own, with the scenario that replays it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import yaml
from crash import Bench

if TYPE_CHECKING:
    from pathlib import Path

MARK = """#!/bin/sh
# The mark is the effect: it is there, or it is not.
echo "$GERT_IDEMPOTENCY_KEY" >> "effects/$1"
case $1 in
  broken) exit 1 ;;
  odd) echo odd; exit 3 ;;
  shaky) [ "$(grep -c "$GERT_IDEMPOTENCY_KEY" effects/shaky)" -ge 2 ] || exit 1 ;;
  look) [ "$(sort -u effects/look | wc -l)" -ge 2 ] || { echo "not yet"; exit 0; } ;;
  push) [ "$2" != report ] || echo "a report" > report.txt ;;
esac
echo "$1 $2"
"""
TOOLS = """
apiVersion: tool/v0
meta: {name: NAME, binary: mark}
contract: {inputs: {what: {type: any}}, outputs: {said: {type: string}}, CONTRACT}
actions: {do: {argv: [mark, NAME, "{{ .what }}"], extract: {said: {from: stdout}}MORE}}
"""
READS = "effects: [network], writes: []"
CONTRACTS = {
    "push": ("effects: [pushes], writes: [registry]", ""),
    "look": (READS, ""),
    "broken": (READS, ""),
    "shaky": ("effects: [tags], writes: [tags], idempotent: true", ""),
    "odd": (READS, ", exit_codes: [0, 3]"),
    "slow": (READS, ", timeout: 2m"),
}
HERE = """
apiVersion: tool/v0
meta: {name: here, cwd: CWD}
contract: {effects: [], outputs: {dir: {type: string}, name: {type: string, required: false}}}
actions:
  do:
    argv: [sh, "{{ .tool.dir }}/here.sh"]
    extract: {dir: {from: stdout, pattern: "dir=(.*)"}, name: {from: stdout, pattern: "name=(.*)"}}
"""
TOKEN = """
apiVersion: tool/v0
meta: {name: token}
contract: {effects: [], deterministic: true, outputs: {token: {type: string, secret: true}}}
actions: {do: {argv: [echo, "abc-123-token"], extract: {token: {from: stdout}}}}
"""
CHILD = """
apiVersion: kernel/v0
meta: {name: child, inputs: {host: {type: string, required: true}}}
tools: [push]
steps:
  - {id: move, type: tool, tool: push, inputs: {what: "move {{ .host }}"}}
  - {type: end, outcome: {category: resolved, code: moved, meta: {moved: "{{ .move.said }}"}}}
"""


@dataclass(frozen=True, slots=True)
class Construct:
    """One construct: ``steps`` in front of the ``end``, which puts ``meta`` into the outcome.

    ``means`` is what the templates in ``meta`` come to, in a real run and in a replay with ``scenario``. ``answers``
    is what a person types. ``more`` is added to the runbook, ``files`` stand beside it.
    """

    steps: str
    meta: dict[str, str] = field(default_factory=dict)
    means: dict[str, Any] = field(default_factory=dict)
    scenario: dict[str, Any] = field(default_factory=dict)
    more: str = ""
    inputs: str = ""
    files: dict[str, str] = field(default_factory=dict)
    answers: str = ""
    end: bool = True
    again: tuple[str, ...] = ()
    """Steps that run, or ask, again in a run that is resumed."""

    def runbook(self) -> str:
        """Return the whole document."""
        tools = sorted(name for name in (*CONTRACTS, "here", "token") if f"tool: {name}" in self.steps + self.more)
        head = (
            "apiVersion: kernel/v0\n"
            f"meta: {{name: book, inputs: {{host: {{type: string, required: true}}{self.inputs}}}}}\n"
            f"tools: [{', '.join(tools)}]\nsteps:\n"
        )
        outcome = {"category": "resolved", "code": "done", "meta": self.meta}
        end = f"  - {{type: end, outcome: {yaml.safe_dump(outcome, default_flow_style=True, width=10**6).strip()}}}\n"
        return head + self.steps.strip("\n") + "\n" + (end if self.end else "") + self.more


def said(*texts: str, **more: Any) -> list[dict[str, Any]]:
    """Return the responses of a scenario that print these texts."""
    return [{"stdout": text, **more} for text in texts]


CONSTRUCTS: dict[str, Construct] = {}

_PUSHED = {"tool_responses": {"push": said("push a")}}

CONSTRUCTS |= {
    "description": Construct(
        steps='  - {id: a, type: tool, tool: push, inputs: {what: a}, description: "Push to {{ .host }}"}',
        meta={"a": "{{ .a.said }}"},
        means={"a": "push a"},
        scenario=_PUSHED,
    ),
    "retry": Construct(
        steps="""
  - {id: a, type: tool, tool: shaky, retry: {max: 9, delay: 10ms, backoff: 1}, inputs: {what: a}}
  - {id: b, type: tool, tool: push, retry: none, inputs: {what: b}, when: "{{ ge .a.attempts 1 }}", scope: b}
""",
        meta={"a": "{{ .a.said }}"},
        means={"a": "shaky a"},
        scenario={"tool_responses": {"shaky": [{"exit_code": 1}, *said("shaky a")], "push": said("push b")}},
    ),
    "artifacts": Construct(
        steps="""
  - id: a
    type: tool
    tool: push
    inputs: {what: report}
    artifacts: {report: {path: report.txt}, said: {value: "{{ .said }}", schema: {type: string}}}
""",
        meta={"a": "{{ .a.said }}"},
        means={"a": "push report"},
        scenario={"tool_responses": {"push": said("push report")}},
    ),
    "statuses": Construct(
        steps="""
  - {id: a, type: tool, tool: push, inputs: {what: "{{ .b.status }}"}}
  - {id: b, type: tool, tool: broken, continue_on_fail: true, scope: b}
  - {id: c, type: tool, tool: push, when: false, scope: c}
""",
        meta={"was": "{{ .a.said }}", "are": "{{ .a.status }} {{ .step.b.status }} {{ .c.status }} {{ .b.exit_code }}"},
        means={"was": "push not_run", "are": "success failed skipped 1"},
        scenario={"tool_responses": {"push": said("push not_run"), "broken": [{"exit_code": 1}]}},
    ),
    "statuses of items": Construct(
        steps="""
  - id: each
    type: tool
    tool: odd
    for_each: {as: name, over: [a, b, c], key: "{{ .name }}"}
    when: '{{ ne .name "c" }}'
    continue_on_fail: true
    inputs: {what: "{{ .name }}"}
""",
        meta={
            "each": "{{ .each.a.status }} {{ .each.c.status }} {{ .step.each.failed }} {{ .step.each.skipped }}",
            "whole": "{{ .each }}",
        },
        means={"each": 'success skipped [] ["c"]', "whole": {"a": {"said": "odd"}, "b": {"said": "odd"}, "c": None}},
        scenario={"tool_responses": {"odd": [{"exit_code": 3, "stdout": "odd", "times": 2}]}},
    ),
    "export": Construct(
        steps="""
  - {id: a, type: tool, tool: push, scope: a, export: {first: said}, inputs: {what: a}}
  - {id: b, type: tool, tool: push, scope: b, export: [said], inputs: {what: b}}
""",
        meta={"both": "{{ .first }}, {{ .said }}"},
        means={"both": "push a, push b"},
        scenario={"tool_responses": {"push": said("push a", "push b")}},
    ),
    "principal": Construct(
        steps="""
  - id: each
    type: tool
    tool: push
    for_each: {as: agent, over: [{id: ann, role: critic}, {id: bo, role: author}], key: "{{ .agent.id }}"}
    principal: item
    inputs: {what: "{{ .agent.role }}"}
""",
        meta={"bo": "{{ .each.bo.said }}"},
        means={"bo": "push author"},
        scenario={"tool_responses": {"push": said("push critic", "push author")}},
    ),
    "block": Construct(
        steps="""
  - id: group
    type: block
    timeout: 5m
    when: '{{ eq .host "web" }}'
    scope: group
    steps:
      - {id: a, type: tool, tool: push, inputs: {what: a}}
      - {id: b, type: tool, tool: push, inputs: {what: b}, export: [said]}
""",
        meta={"both": '{{ .scope.group.said | default "" }}, {{ .said | default "" }}', "group": "{{ .group.status }}"},
        means={"both": "push b, push b", "group": "success"},
        scenario={"inputs": {"host": "web"}, "tool_responses": {"push": said("push a", "push b")}},
    ),
    "on_failure": Construct(
        steps="""
  - id: risky
    type: block
    steps:
      - {id: a, type: tool, tool: push, inputs: {what: a}, scope: a}
      - {id: b, type: tool, tool: broken, scope: b}
    on_failure:
      - {id: undo, type: tool, tool: push, scope: undo, inputs: {what: "{{ .failure.step }} {{ .failure.kind }}"}}
    finally:
      - {id: free, type: tool, tool: push, scope: free, inputs: {what: "{{ .failure.status | default `none` }}"}}
""",
        meta={"handled": "{{ .risky.handled }}", "undo": '{{ .undo.said | default "" }}', "free": "{{ .free.said }}"},
        means={"handled": True, "undo": "push b exit_code", "free": "push failed"},
        scenario={
            "tool_responses": {
                "push": said("push a", "push b exit_code", "push failed"),
                "broken": [{"exit_code": 1}],
            }
        },
    ),
    "on_failure of the run": Construct(
        steps="  - {id: a, type: tool, tool: broken}",
        end=False,
        more="""
  - {type: end, outcome: {category: escalated}}
on_failure:
  - {id: undo, type: tool, tool: push, inputs: {what: "{{ .failure.step }} {{ .run.status }}"}}
  - {type: end, outcome: {category: resolved, code: done, meta: {undo: "{{ .undo.said }}"}}}
""",
        means={"undo": "push a failed"},
        scenario={"tool_responses": {"push": said("push a failed"), "broken": [{"exit_code": 1}]}},
    ),
    "finally of the run": Construct(
        steps="  - {id: a, type: tool, tool: push, inputs: {what: a}, scope: a}",
        meta={"a": "{{ .a.said }}"},
        means={"a": "push a"},
        more='finally:\n  - {id: free, type: tool, tool: push, scope: free, inputs: {what: "{{ .run.status }}"}}\n',
        scenario={"tool_responses": {"push": said("push a", "push completed")}},
    ),
    "wait for": Construct(
        steps="""
  - {id: pause, type: wait, for: 10ms}
  - {id: a, type: tool, tool: push, inputs: {what: a}}
""",
        meta={"a": "{{ .a.said }}"},
        means={"a": "push a"},
        scenario=_PUSHED,
    ),
    "wait until": Construct(
        steps="""
  - id: ready
    type: wait
    until: '{{ eq .ask.said "look yes" }}'
    every: 10ms
    timeout: 5m
    steps: [{id: ask, type: tool, tool: look, inputs: {what: "yes"}}]
""",
        meta={"ask": "{{ .ask.said }}"},
        means={"ask": "look yes"},
        scenario={"tool_responses": {"look": said("not yet", "look yes")}},
    ),
    "wait for steps": Construct(
        steps="""
  - id: ready
    type: wait
    every: 10ms
    timeout: 5m
    steps:
      - {id: ask, type: tool, tool: look, inputs: {what: "yes"}}
      - {id: check, type: assert, assert: [{type: contains, value: "{{ .ask.said }}", expected: "yes"}]}
""",
        meta={"ask": "{{ .ask.said }}"},
        means={"ask": "look yes"},
        scenario={"tool_responses": {"look": said("not yet", "look yes")}},
    ),
    "repeat": Construct(
        steps="""
  - id: rounds
    type: repeat
    repeat: {max: 5, until: '{{ eq .turn.said "push 1" }}'}
    steps:
      - {id: turn, type: tool, tool: push, inputs: {what: "{{ .repeat.index }}"}, export: {last: said}}
  - {id: none, type: repeat, repeat: {max: 0}, steps: [{id: never, type: tool, tool: push, scope: never}]}
""",
        meta={"last": "{{ .last }}", "rounds": "{{ .rounds.iterations }} {{ .none.iterations }}"},
        means={"last": "push 1", "rounds": "2 0"},
        scenario={"tool_responses": {"push": said("push 0", "push 1")}},
    ),
    "runbook": Construct(
        steps="""
  - {id: child, type: runbook, runbook: ./child.yaml, inputs: {host: "{{ .host }}"}, export: {moved: outcome.meta.moved}}
""",
        files={"child.yaml": CHILD},
        meta={"moved": "{{ .moved }}", "how": "{{ .child.outcome.category }} {{ .child.outcome.code }}"},
        means={"moved": "push move web", "how": "resolved moved"},
        scenario={"inputs": {"host": "web"}, "tool_responses": {"push": said("push move web")}},
    ),
    "runbook that is not accepted": Construct(
        steps="""
  - id: try
    type: block
    steps: [{id: child, type: runbook, runbook: ./child.yaml, inputs: {host: x}, accept: [no_action]}]
    on_failure: [{id: note, type: tool, tool: push, inputs: {what: "{{ .failure.kind }}"}, scope: note}]
""",
        files={"child.yaml": CHILD},
        meta={"note": '{{ .note.said | default "" }}'},
        means={"note": "push outcome_not_accepted"},
        scenario={"tool_responses": {"push": said("push move x", "push outcome_not_accepted")}},
    ),
    "for_each until": Construct(
        steps="""
  - id: each
    type: tool
    tool: push
    for_each: {as: name, over: [a, b, c], until: '{{ eq .each.said "push b" }}'}
    inputs: {what: "{{ .name }}"}
""",
        meta={"each": '{{ pluck .each "said" }}'},
        means={"each": ["push a", "push b"]},
        scenario={"tool_responses": {"push": said("push a", "push b")}},
    ),
    "for_each of a block": Construct(
        steps="""
  - id: each
    type: block
    for_each: {as: name, over: [a, b], key: "{{ .name }}"}
    steps:
      - {id: one, type: tool, tool: push, scope: one, inputs: {what: "{{ .name }} 1"}}
      - {id: two, type: tool, tool: push, scope: two, inputs: {what: "{{ .name }} 2"}}
""",
        meta={"b": "{{ .each.b.one.said }}, {{ .each.b.two.said }}, {{ .each.b.two.status }}"},
        means={"b": "push b 1, push b 2, success"},
        scenario={"tool_responses": {"push": said("push a 1", "push a 2", "push b 1", "push b 2")}},
    ),
    "approval": Construct(
        steps="""
  - {id: gate, type: approval, message: "Go on with {{ .host }}?", timeout: 1h}
  - {id: soft, type: approval, message: And this?, on_reject: fail}
  - {id: a, type: tool, tool: push, inputs: {what: "{{ .gate.approver_id }}"}}
""",
        meta={"a": "{{ .a.said }} {{ .soft.approvers }}"},
        means={"a": 'push bob ["bob"]'},
        scenario={
            "approvals": {name: [{"approved": True, "approver_id": "bob"}] for name in ("gate", "soft")},
            "tool_responses": {"push": said("push bob")},
        },
    ),
    "dag": Construct(
        steps="""
  - id: graph
    type: dag
    max_parallel: 2
    nodes:
      - {name: build, steps: [{id: build, type: tool, tool: push, scope: build, inputs: {what: build}}]}
      - {name: sign, steps: [{id: sign, type: approval, message: Publish it?}]}
      - name: publish
        depends_on: [build, sign]
        steps: [{id: publish, type: tool, tool: push, scope: publish, inputs: {what: "{{ .build.said }}"}}]
""",
        meta={"publish": "{{ .publish.said }}", "done": "{{ .graph.completed }}"},
        means={"publish": "push push build", "done": ["build", "sign", "publish"]},
        scenario={"tool_responses": {"push": said("push build", "push push build")}},
    ),
    "inputs": Construct(
        steps='  - {id: a, type: tool, tool: push, inputs: {what: "{{ .size }} {{ index .hosts 1 }}"}}',
        inputs=", size: {type: int, min: 1, max: 9, default: 3}, kind: {type: string, enum: [a, b], default: a},"
        ' release: {type: string, pattern: "[0-9]+", default: "42"}, hosts: {type: list, from: file/hosts.yaml}',
        files={"hosts.yaml": "[web-1, web-2]\n"},
        meta={"a": "{{ .a.said }}", "release": "{{ .release }}{{ .kind }}"},
        means={"a": "push 3 web-2", "release": "42a"},
        scenario={
            "inputs": {"host": "web", "hosts": ["web-1", "web-2"]},
            "tool_responses": {"push": said("push 3 web-2")},
        },
    ),
    "functions": Construct(
        steps="""
  - id: each
    type: tool
    tool: push
    for_each: {as: n, over: "{{ range 1 3 }}"}
    inputs: {what: "{{ .n }}"}
""",
        inputs=", list: {type: list, default: [{n: 2, k: x}, {n: 1, k: y}]}",
        meta={
            "where": '{{ where .list "k" "x" }}',
            "kernel": '{{ sum (pluck .list "n") }} {{ first (sort (pluck .list "n")) }} {{ last (lines "a\\nb") }}',
            "more": '{{ regexReplace "[0-9]" "-" "a1b" }} {{ keys (index .list 0) | join "," }}',
            "jinja": "{{ list | map(attribute='n') | max }} {{ list | selectattr('k', 'eq', 'y') | map(attribute='n') | list }}",
            "each": '{{ uniq (pluck .each "status") }}',
        },
        means={
            "where": [{"n": 2, "k": "x"}],
            "kernel": "3 1 b",
            "more": "a-b n,k",
            "jinja": "2 [1]",
            "each": ["success"],
        },
        scenario={"tool_responses": {"push": said("push 1", "push 2")}},
    ),
    "exit_codes": Construct(
        steps="""
  - {id: a, type: tool, tool: odd, inputs: {what: a}}
  - {id: b, type: tool, tool: slow, timeout: 30s, inputs: {what: b}, scope: b}
""",
        meta={"a": "{{ .a.said }} {{ .a.exit_code }} {{ .b.said }}"},
        means={"a": "odd 3 slow b"},
        scenario={"tool_responses": {"odd": said("odd", exit_code=3), "slow": said("slow b")}},
    ),
    "cwd": Construct(
        steps="  - {id: a, type: tool, tool: here}",
        meta={"a": '{{ .a.dir }} {{ .a.name | default "unnamed" }}'},
        means={"a": "tools unnamed"},
        scenario={"tool_responses": {"here": said("dir=tools")}},
    ),
    "secret output": Construct(
        steps="""
  - {id: a, type: tool, tool: token}
  - {id: b, type: tool, tool: look, inputs: {what: "{{ .a.token }}"}}
""",
        meta={"b": "{{ .b.status }}"},
        again=("a",),
        means={"b": "success"},
        scenario={"tool_responses": {"token": said("abc-123-token"), "look": said("look")}},
    ),
    "choice": Construct(
        steps="""
  - id: ask
    type: manual
    instructions: Which one?
    required_evidence: [{kind: choice, name: colour, options: [red, blue]}]
  - {id: a, type: tool, tool: push, inputs: {what: "{{ .colour }}"}}
""",
        meta={"a": "{{ .a.said }}"},
        means={"a": "push blue"},
        answers="blue\n",
        again=("ask",),
        scenario={"evidence": {"ask": {"colour": "blue"}}, "tool_responses": {"push": said("push blue")}},
    ),
}


def bench(root: Path, name: str) -> Bench:
    """Return the directory of one construct, with its scenario."""
    construct = CONSTRUCTS[name]
    files = {"runbook.yaml": construct.runbook(), "bin/mark": MARK, "tools/here.sh": "echo dir=${PWD##*/}\n"}
    for tool, (contract, more) in CONTRACTS.items():
        text = TOOLS.replace("NAME", tool).replace("CONTRACT", contract).replace("MORE", more)
        files[f"tools/{tool}.tool.yaml"] = text
    files |= {"tools/here.tool.yaml": HERE.replace("CWD", "tool"), "tools/token.tool.yaml": TOKEN, **construct.files}
    scenario = {"inputs": {"host": "web"}, **construct.scenario}
    files["scenarios/runbook/same/scenario.yaml"] = yaml.safe_dump(scenario)
    files["scenarios/runbook/same/test.yaml"] = yaml.safe_dump(
        {"expected_outcome": "resolved", "expected_code": "done"}
    )
    made = Bench(root, answers=construct.answers, told=told)
    made.write(files)
    return made


def told(step_id: str, inputs: dict[str, Any]) -> dict[str, Any]:
    """What a person finds out about a step that took effect before gert could write it down."""
    return {"said": f"push {inputs['what']}"}
