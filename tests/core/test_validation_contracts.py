"""Inputs, contracts, tools, names and heads against what is declared."""

from __future__ import annotations

import random

import pytest
from judging import compare, judged

from gert_core.api import Contract
from gert_core.contracts import conflict
from gert_core.plugin.registry import Registry


@pytest.fixture(scope="module")
def registry():
    return Registry.build()


CASES = {
    "inputs: types that can never fit": """
        meta: {name: x, inputs: {hosts: {type: list}, n: {type: int}, flag: {type: bool}, any: {type: any}, text: {type: string}}}
        steps:
          - {id: a, type: tool, tool: ping, inputs: {host: "{{ .hosts }}"}}  #! input-type
          - {id: b, type: tool, tool: ping, inputs: {host: "on {{ .hosts }}"}}
          - {id: c, type: tool, tool: ping, inputs: {host: "{{ .n }}", count: "{{ .flag }}"}}  #! input-type
          - {id: d, type: tool, tool: ping, inputs: {host: "{{ .any }}", count: "{{ .text }}"}}
          - {id: e, type: tool, tool: ping, inputs: {host: [a], count: 1.5}}  #! input-type #! input-type
          - {id: f, type: tool, tool: ping, inputs: {host: 3, count: "4"}}
          - {id: g, type: tool, tool: ping, inputs: {host: "{{ .f.latency }}", count: '{{ split "," .text }}'}}  #! input-type
          - {type: end, outcome: {category: resolved}}
        """,
    "inputs: null counts as not given": """
        steps:
          - {id: a, type: tool, tool: ping, inputs: {host: null, count: null}}  #! input-missing
          - {id: b, type: tool, tool: ping}  #! input-missing
          - {type: end, outcome: {category: resolved}}
        """,
    "inputs_from: constants, steps, lists of them": """
        meta:
          name: x
          inputs: {extra: {type: object}}
          constants: {target: {host: a}, other: {count: 2}, wrong: {count: [1]}, text: abc}
        steps:
          - {id: a, type: tool, tool: ping, inputs_from: target}
          - {id: b, type: tool, tool: ping, inputs_from: [target, other], inputs: {count: 1}}
          - {id: c, type: tool, tool: ping, inputs_from: text}  #! inputs-from-unknown
          - {id: d, type: tool, tool: ping, inputs_from: extra}
          - {id: e, type: tool, tool: ping, inputs_from: other}  #! input-missing
          - {id: f, type: tool, tool: ping, inputs_from: [target, wrong]}  #! input-type
          - {id: g, type: tool, tool: ping, inputs_from: a}  #! inputs-from-key #! input-missing
          - {id: h, type: tool, tool: ping, inputs_from: later}  #! inputs-from-unknown
          - {id: later, type: tool, tool: ping, inputs: {host: a}}
          - {type: end, outcome: {category: resolved}}
        """,
    "actions": """
        steps:
          - {id: a, type: tool, tool: ping, inputs: {host: a}}
          - {id: b, type: tool, tool: service, inputs: {name: a}}  #! action-unknown
          - {id: c, type: tool, tool: service, action: reboot, inputs: {name: a}}  #! action-unknown
          - {type: end, outcome: {category: resolved}}
        """,
    "no tools at all": """
        tools: []
        steps:
          - {id: a, type: tool, tool: ping, inputs: {host: a}}  #! tool-undeclared
          - {type: end, outcome: {category: resolved}}
        """,
    "contracts only tighten": """
        steps:
          - type: tool
            tool: ping
            inputs: {host: a}
            contract:
              effects: []  #! contract-relaxed
              reads: [network, dns]
              deterministic: true  #! contract-relaxed
              idempotent: false
              outputs: {latency: {type: string}}  #! contract-relaxed
          - {type: manual, instructions: Look., contract: {effects: [], writes: []}}
          - {type: end, outcome: {category: resolved}}
        """,
    "names": """
        meta:
          name: x
          inputs: {a: {type: string}, both: {type: string}, scope: {type: string}}  #! reserved-name
          constants: {b: 1, both: 2, step: 3}  #! name-collision #! reserved-name
        steps:
          - {id: a, type: tool, tool: ping, inputs: {host: x}}  #! name-collision
          - {id: b, type: tool, tool: ping, inputs: {host: x}}  #! name-collision
          - {id: latency, type: tool, tool: service, action: state, inputs: {name: x}}  #! name-collision
          - {id: repeat, type: tool, tool: ping, inputs: {host: x}}  #! reserved-name
          - {id: c, type: tool, tool: ping, for_each: {as: run, over: [1]}, inputs: {host: x}}  #! reserved-name
          - {id: d, type: tool, tool: ping, for_each: {as: b, over: [1]}, inputs: {host: x}}  #! constant-shadowed
          - {id: e, type: tool, tool: ping, for_each: {as: c, over: [1]}, inputs: {host: x}}  #! name-collision
          - {type: end, outcome: {category: resolved}}
        """,
    "constants are shadowed through tools, evidence and blocks, not through scopes and loops": """
        meta: {name: x, constants: {latency: 1, seen: 2}}
        steps:
          - {id: a, type: tool, tool: ping, scope: s, inputs: {host: x}}
          - {id: b, type: tool, tool: ping, for_each: {as: h, over: [1]}, inputs: {host: x}}
          - type: branch
            branches:
              - condition: default
                steps:
                  - {id: c, type: tool, tool: ping, inputs: {host: x}}  #! constant-shadowed
                  - {id: d, type: manual, instructions: x, required_evidence: [{kind: text, name: seen}]}  #! constant-shadowed
          - {type: end, outcome: {category: resolved}}
        """,
    "concurrent blocks: names in nested blocks clash, scopes and loops do not": """
        steps:
          - type: parallel
            branches:
              - steps:
                  - type: branch
                    branches:
                      - condition: default
                        steps: [{id: a, type: tool, tool: ping, inputs: {host: x}}]
              - steps: [{id: b, type: tool, tool: ping, inputs: {host: x}}]  #! parallel-output-clash
              - steps: [{id: c, type: tool, tool: ping, scope: s, inputs: {host: x}}]
              - steps: [{id: d, type: tool, tool: ping, for_each: {as: h, over: [1]}, inputs: {host: x}}]
              - steps: [{id: e, type: tool, tool: ping, scope: t, inputs: {host: x}, export: [latency]}]  #! parallel-output-clash
              - steps:
                  - type: repeat
                    repeat: {max: 2}
                    steps: [{id: f, type: tool, tool: ping, inputs: {host: x}}]
          - {type: end, outcome: {category: resolved}}
        """,
    "concurrent blocks: conflicts through nested blocks": """
        steps:
          - type: parallel
            branches:
              - label: reader
                steps: [{id: a, type: tool, tool: service, action: state, scope: a, inputs: {name: x}}]
              - label: other reader
                steps: [{id: b, type: tool, tool: service, action: state, scope: b, inputs: {name: x}}]
              - label: writer  #! parallel-conflict
                steps:
                  - type: repeat
                    repeat: {max: 2}
                    steps: [{id: c, type: tool, tool: service, action: restart, inputs: {name: x}}]
              - label: apart
                steps: [{id: d, type: tool, tool: ping, inputs: {host: x}}]
          - {type: end, outcome: {category: resolved}}
        """,
    "inputs of the runbook": """
        meta:
          name: x
          inputs:
            a: {type: int, default: many}  #! input-type
            b: {type: int, default: "4"}
            c: {type: list, default: {}}  #! input-type
            d: {type: string, from: provider/cmdb.host}  #! provider-unknown
            e: {type: string, from: promt}  #! provider-unknown
            f: {type: string, from: prompt}
            g: {type: string, from: file/values.yaml}
        """,
    "governance": """
        meta:
          name: x
          governance:
            rules:
              - {default: allow, risk: high}  #! governance-default
              - {risk: [low, high], action: allow, min_approvers: 2}  #! not-acted-on
              - {default: deny, action: allow}  #! governance-default
        """,
}


@pytest.mark.parametrize("name", CASES)
def test_declared_and_used(name, registry, tmp_path):
    compare(tmp_path, CASES[name], registry=registry)


def test_an_inline_contract_is_what_inputs_are_matched_with(registry, tmp_path):
    text = """
        steps:
          - id: a
            type: extension
            extension: judge
            contract: {effects: [], writes: [], inputs: {items: {type: object, required: true}}, outputs: {winner: {type: string}}}
            inputs: {itms: {}}  #! input-unknown
            export: [winner]
          - {id: b, type: extension, extension: open, contract: {effects: [], writes: []}, inputs: {anything: 1}}
          - {type: end, outcome: {category: resolved, meta: {w: "{{ .winner }}", b: "{{ .b.x }}"}}}  #! unresolved-variable
        """
    compare(tmp_path, text, registry=registry)


def test_tool_files_are_judged_with_the_runbook(registry, tmp_path):
    tool = """
        apiVersion: tool/v0
        meta: {name: odd, transport: stdio, binary: /usr/bin/curl}
        secrets: [{env: ODD_TOKEN}]
        contract:
          inputs: {url: {type: string, required: true}, tries: {type: int, default: few}}
          outputs: {code: {type: int}}
          effects: [network]
          writes: [cache]
        actions:
          get:
            argv: ["wget", "{{ .ulr }}", "{{ .url.host }}", "{{ .tries"]
            stdin: "{{ .other | default \\"x\\" }}"
            env: {A: "{{ .nothing }}"}
            extract: {code: {from: stdout}, size: {from: stdout}}
            contract: {writes: []}
        """
    verdict = judged(
        tmp_path,
        "steps:\n  - {id: a, type: tool, tool: odd, inputs: {url: x}}\n  - {type: end, outcome: {category: resolved}}",
        registry=registry,
        tools={"odd": tool},
    )
    found = [(d.rule, d.line, d.column) for d in verdict.diagnostics]
    assert all(d.file == str(tmp_path / "tools" / "odd.tool.yaml") for d in verdict.diagnostics)
    assert found == [
        ("secret-missing", 4, 17),
        ("input-type", 6, 77),
        ("not-acted-on", 12, 12),
        ("unresolved-variable", 12, 24),
        ("unresolved-variable", 12, 38),
        ("template-syntax", 12, 54),
        ("unresolved-variable", 14, 18),
        ("not-acted-on", 15, 37),
        ("contract-relaxed", 16, 24),
    ]
    assert [need.to_json() for need in verdict.secrets] == [
        {"env": "ODD_TOKEN", "required": True, "present": False, "needed_by": ["odd"], "description": ""}
    ]


def test_conflicts_are_the_ones_the_contracts_give(registry, tmp_path):
    """The linear search for conflicts agrees with the pairwise definition."""
    rng = random.Random(7)
    tags = ["a", "b", "c"]
    for case in range(12):
        picks = [(rng.sample(tags, rng.randint(0, 2)), rng.sample(tags, rng.randint(0, 1))) for _ in range(4)]
        tools = {
            f"t{n}": f"""
            apiVersion: tool/v0
            meta: {{name: t{n}, transport: stdio}}
            contract: {{effects: [x], reads: {reads}, writes: {writes}}}
            actions: {{run: {{argv: ["true"]}}}}
            """
            for n, (reads, writes) in enumerate(picks)
        }
        branches = "".join(f"      - steps: [{{type: tool, tool: t{n}}}]\n" for n in range(4))
        text = (
            f"steps:\n  - type: parallel\n    branches:\n{branches}  - {{type: end, outcome: {{category: resolved}}}}\n"
        )
        directory = tmp_path / str(case)
        directory.mkdir()
        verdict = judged(directory, text, registry=registry, tools=tools)
        contracts = [Contract(reads=tuple(reads), writes=tuple(writes)) for reads, writes in picks]
        waiting = {n for n in range(4) for m in range(n) if conflict(contracts[m], contracts[n])}
        assert {d.line - 4 for d in verdict.diagnostics if d.rule == "parallel-conflict"} == waiting
