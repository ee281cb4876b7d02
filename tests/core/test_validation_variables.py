"""Which names are there at which point: promotion, arms, loops, jumps, scopes, exports."""

from __future__ import annotations

import pytest
from judging import compare, judged

from gert_core.plugin.registry import Registry


@pytest.fixture(scope="module")
def registry():
    return Registry.build()


CASES = {
    "outputs are promoted and stand under id and step": """
        steps:
          - {id: check, type: tool, tool: ping, inputs: {host: a}}
          - type: end
            outcome:
              category: resolved
              meta: {a: "{{ .latency }}", b: "{{ .check.latency }}", c: "{{ .step.check.latency }}", d: "{{ .check.status }}"}
        """,
    "only outputs that extract names exist": """
        steps:
          - {id: check, type: tool, tool: ping, inputs: {host: a}}
          - {type: end, outcome: {category: resolved, meta: {a: "{{ .check.body }}"}}}  #! unresolved-variable
        """,
    "evidence and the fields of a type": """
        steps:
          - {id: look, type: manual, instructions: Look., required_evidence: [{kind: text, name: seen}]}
          - {id: sure, type: assert, continue_on_fail: true, assert: [{type: exists, value: "{{ .seen }}"}]}
          - {id: bad, type: assert, assert: [{type: exists, value: "{{ .passed }}"}]}  #! unresolved-variable
          - {type: end, outcome: {category: resolved, meta: {a: "{{ .sure.passed }}", b: "{{ .look.seen }}"}}}
        """,
    "a step that comes later": """
        steps:
          - {id: a, type: tool, tool: ping, inputs: {host: "{{ .b.latency }}"}}  #! unresolved-variable
          - {id: b, type: tool, tool: ping, inputs: {host: x}}
          - {type: end, outcome: {category: resolved}}
        """,
    "a step itself": """
        steps:
          - {id: a, type: tool, tool: ping, inputs: {host: "{{ .a.latency }}"}}  #! unresolved-variable
          - {type: end, outcome: {category: resolved}}
        """,
    "a default makes anything possible": """
        steps:
          - {id: a, type: tool, tool: ping, inputs: {host: '{{ .b.latency | default "x" }}'}}
          - {id: b, type: tool, tool: ping, inputs: {host: '{{ .nothing | default "x" }}'}}
          - {type: end, outcome: {category: resolved}}
        """,
    "names inside functions, lists, maps and both spellings": """
        steps:
          - type: assert
            assert:
              - {type: equals, value: "{{ eq .one \\"x\\" }}", expected: true}  #! unresolved-variable
              - {type: in, value: a, expected: [b, "{{ .two }}"]}  #! unresolved-variable
              - {type: equals, value: {deep: [{er: "{{ .three }}"}]}, expected: 1}  #! unresolved-variable
              - {type: equals, value: "{{ four | upper }}", expected: 1}  #! unresolved-variable
              - {type: equals, value: "{{ .five | upper | lower }}", expected: 1}  #! unresolved-variable
          - {type: end, outcome: {category: resolved}}
        """,
    "an arm does not see its sibling; after the branch both may be there": """
        steps:
          - type: branch
            branches:
              - condition: "{{ eq .run.mode \\"real\\" }}"
                steps: [{id: a, type: tool, tool: ping, inputs: {host: x}}]
              - condition: default
                steps:
                  - {id: b, type: tool, tool: service, action: state, inputs: {name: "{{ .a.latency }}"}}  #! unresolved-variable
          - {type: end, outcome: {category: resolved, meta: {a: "{{ .latency }}", b: "{{ .b.state }}"}}}  #! maybe-undefined #! maybe-undefined
        """,
    "what an arm sets that always ends is never seen behind it": """
        steps:
          - type: branch
            branches:
              - condition: "{{ eq .run.mode \\"real\\" }}"
                steps:
                  - {id: a, type: tool, tool: ping, inputs: {host: x}}
                  - {type: end, outcome: {category: resolved, meta: {a: "{{ .latency }}"}}}
              - {condition: default, steps: []}
          - {type: end, outcome: {category: resolved, meta: {a: "{{ .latency }}"}}}  #! unresolved-variable
        """,
    "concurrent blocks do not see each other, what follows sees all": """
        steps:
          - type: parallel
            branches:
              - steps: [{id: a, type: tool, tool: ping, inputs: {host: x}}]
              - steps:
                  - {id: b, type: tool, tool: service, action: state, inputs: {name: "{{ .latency }}"}}  #! unresolved-variable
          - {type: end, outcome: {category: resolved, meta: {a: "{{ .latency }}", b: "{{ .state }}"}}}
        """,
    "conditions see what was before the blocks": """
        steps:
          - type: branch
            branches:
              - condition: "{{ eq .latency 3 }}"  #! unresolved-variable
                steps: [{id: a, type: tool, tool: ping, inputs: {host: x}}]
              - {condition: default, steps: []}
          - {type: end, outcome: {category: resolved}}
        """,
    "a repeat throws away what is not exported": """
        steps:
          - id: rounds
            type: repeat
            repeat: {max: 3, until: "{{ eq .state \\"active\\" }}"}
            steps:
              - {id: a, type: tool, tool: ping, inputs: {host: "x{{ .repeat.index }}"}}
              - {id: b, type: tool, tool: service, action: state, export: [state], inputs: {name: "{{ .latency }}"}}
          - type: end
            outcome:
              category: resolved
              meta:
                kept: "{{ .state }}"
                count: "{{ .rounds.iterations }}"
                lost: "{{ .latency }}"  #! unresolved-variable
                gone: "{{ .a.latency }}"  #! unresolved-variable
                index: "{{ .repeat.index }}"  #! loop-variable-leak
                record: "{{ .scope.repeat/rounds/0.latency }}"
        """,
    "until sees the steps of the round and the index, which nothing after the loop does": """
        steps:
          - type: repeat
            repeat:
              max: 3
              until: "{{ and (gt .repeat.round 1) (eq .latency 3) (eq .a.latency 3) }}"
            steps: [{id: a, type: tool, tool: ping, inputs: {host: x}}]
          - type: assert
            assert: [{type: equals, value: "{{ .latency }}", expected: 3}]  #! unresolved-variable
          - {type: end, outcome: {category: resolved}}
        """,
    "a nested repeat on another type": """
        steps:
          - id: a
            type: tool  #! not-acted-on
            repeat:
              max: 3
              until: "{{ eq .state \\"active\\" }}"
              steps:
                - {id: b, type: tool, tool: service, action: state, export: [state], inputs: {name: "{{ .repeat.index }}"}}
          - {type: end, outcome: {category: resolved, meta: {n: "{{ .a.iterations }}"}}}
        """,
    "a for_each leaves a list": """
        meta: {name: x, constants: {hosts: [a, b]}}
        steps:
          - {id: check, type: tool, tool: ping, for_each: {as: host, over: "{{ .hosts }}"}, inputs: {host: "{{ .host }}"}}
          - type: end
            outcome:
              category: resolved
              meta:
                good: '{{ index .check 0 "latency" }}'
                also: "{{ .check.0.latency }}"
                scalar: "{{ .check.latency }}"  #! unresolved-variable
                plain: "{{ .latency }}"  #! unresolved-variable
                item: "{{ .host }}"  #! loop-variable-leak
                absent: "{{ .check.0.nothing }}"  #! unresolved-variable
                compared: '{{ eq .check "200" }}'  #! unresolved-variable
                text: "{{ .check | upper }}"  #! unresolved-variable
                jinja: "{{ check == 3 }}"  #! unresolved-variable
                counted: "{{ len .check }}"
                shown: "all of them: {{ .check }}"
        """,
    "a for_each with a key leaves a map": """
        steps:
          - id: check
            type: tool
            tool: ping
            for_each: {as: host, over: [{name: a}, {name: b}], key: "{{ .host.name }}"}
            inputs: {host: "{{ .host.name }}"}
          - type: end
            outcome:
              category: resolved
              meta: {a: "{{ .check.a.latency }}", b: "{{ .check.a.nothing }}"}  #! unresolved-variable
        """,
    "the loop variable has the shape of the items": """
        meta:
          name: x
          constants: {hosts: [{name: a, port: 1}, {name: b}], map: {a: {port: 1}}}
        steps:
          - id: one
            type: tool
            tool: ping
            for_each: {as: host, over: "{{ .hosts }}"}
            inputs: {host: "{{ .host.name }}{{ .host.port }}{{ .host.nmae }}"}  #! unresolved-variable
          - id: two
            type: tool
            tool: ping
            for_each: {as: entry, over: "{{ .map }}"}
            inputs: {host: "{{ .entry.key }}{{ .entry.value.port }}{{ .entry.name }}"}  #! unresolved-variable
          - {type: end, outcome: {category: resolved}}
        """,
    "blocks in a for_each keep their names inside": """
        steps:
          - id: each
            type: branch
            for_each: {as: host, over: [a, b]}
            branches:
              - condition: default
                steps:
                  - {id: inner, type: tool, tool: ping, inputs: {host: "{{ .host }}"}}
                  - {type: assert, assert: [{type: exists, value: "{{ .latency }}{{ .inner.latency }}"}]}
          - {type: end, outcome: {category: resolved, meta: {a: "{{ .inner.latency }}", b: '{{ index .each 0 "latency" }}'}}}  #! unresolved-variable
        """,
    "scopes hold outputs by full path; separators are the same": """
        steps:
          - {id: a, type: tool, tool: ping, scope: round/0, inputs: {host: x}}
          - type: end
            outcome:
              category: resolved
              meta:
                a: "{{ .scope.round/0.latency }}"
                b: "{{ .scope.round.0.latency }}"
                c: "{{ .scope.round/0 }}"
                d: "{{ .scope.round/1.latency }}"  #! unresolved-variable
                e: "{{ .scope.round/0.latenzy }}"  #! unresolved-variable
                f: "{{ .latency }}"  #! unresolved-variable
                g: "{{ .a.latency }}"
        """,
    "a templated scope opens everything below its literal part": """
        meta: {name: x, inputs: {n: {type: int}}}
        steps:
          - {id: a, type: tool, tool: ping, scope: "round/{{ .n }}", inputs: {host: x}}
          - {type: end, outcome: {category: resolved, meta: {a: "{{ .scope.round/7.x }}", b: "{{ .scope.rounds/7.x }}"}}}  #! unresolved-variable
        """,
    "a scoped for_each": """
        steps:
          - {id: a, type: tool, tool: ping, scope: round/0, for_each: {as: h, over: [x], key: "{{ .h }}"}, inputs: {host: x}, export: [latency]}
          - {type: end, outcome: {category: resolved, meta: {a: "{{ .scope.round/0.x.latency }}", b: "{{ .latency.x }}", c: "{{ .scope.round/0.x.nope }}"}}}  #! unresolved-variable
        """,
    "a name that only guarded steps set may still be free": """
        meta: {name: x, inputs: {on: {type: bool}}}
        steps:
          - {id: a, type: tool, tool: ping, when: "{{ .on }}", inputs: {host: x}}
          - {id: b, type: tool, tool: ping, when: "{{ .on }}", inputs: {host: x}}
          - {id: c, type: tool, tool: ping, scope: one, inputs: {host: x}, export: [latency]}
          - {type: end, outcome: {category: resolved}}
        """,
    "exports": """
        meta: {name: x, inputs: {state: {type: string}}}
        steps:
          - {id: a, type: tool, tool: ping, scope: one, inputs: {host: x}, export: [latency]}
          - {id: b, type: tool, tool: ping, scope: two, inputs: {host: x}, export: [latency]}  #! export-collision
          - {id: c, type: tool, tool: service, action: state, scope: three, inputs: {name: x}, export: [state]}  #! export-collision
          - {id: d, type: tool, tool: ping, scope: four, inputs: {host: x}, export: [body]}  #! export-undeclared
          - {type: end, outcome: {category: resolved, meta: {a: "{{ .latency }}"}}}
        """,
    "exclusive arms never collide, and what may not have run is left to the run": """
        steps:
          - type: branch
            branches:
              - condition: "{{ eq .run.mode \\"real\\" }}"
                steps: [{id: a, type: tool, tool: ping, scope: one, inputs: {host: x}, export: [latency]}]
              - condition: default
                steps: [{id: b, type: tool, tool: ping, scope: two, inputs: {host: x}, export: [latency]}]
          - {id: c, type: tool, tool: service, action: state, when: "{{ gt .latency 1 }}", inputs: {name: x}}
          - {id: d, type: tool, tool: service, action: state, scope: three, inputs: {name: x}, export: [state]}
          - {type: end, outcome: {category: resolved}}
        """,
    "constants with structure, templates and cycles": """
        meta:
          name: x
          inputs: {host: {type: string}}
          constants:
            target: {name: "{{ .host }}", port: 443}
            url: "https://{{ .target.name }}"
            one: "{{ .two }}"
            two: "{{ .three }}"
            three: "{{ .one }}"  #! unresolved-variable
            typo: "{{ .hots }}"  #! unresolved-variable
            late: "{{ .closing.x }}"  #! unresolved-variable
        steps:
          - {id: closing, type: end, outcome: {category: resolved, meta: {a: "{{ .target.port }}", b: "{{ .target.prot }}"}}}  #! unresolved-variable
        """,
    "retry_count is there from the start of its list": """
        steps:
          - {id: a, type: tool, tool: ping, inputs: {host: "{{ .b.retry_count }}"}}
          - {id: b, type: tool, tool: ping, inputs: {host: "{{ .b.retry_count }}"}, next: {step: a, max: 2}}
          - {type: end, outcome: {category: resolved, meta: {n: "{{ .b.retry_count }}"}}}
        """,
    "a jump back does not define anything for the first pass": """
        steps:
          - {id: a, type: tool, tool: ping, inputs: {host: "{{ .b.state }}"}}  #! unresolved-variable
          - {id: b, type: tool, tool: service, action: state, inputs: {name: x}, next: {step: a, max: 2}}
          - {type: end, outcome: {category: resolved}}
        """,
    "unless the flow jumps over it first": """
        steps:
          - {id: start, type: tool, tool: ping, inputs: {host: x}, next: b}
          - {id: a, type: tool, tool: ping, inputs: {host: "{{ .b.state }}"}}
          - {id: b, type: tool, tool: service, action: state, inputs: {name: x}, next: {step: a, max: 2}}
          - {type: end, outcome: {category: resolved}}
        """,
    "an arm that jumps away leaves nothing behind for what it jumps over": """
        steps:
          - id: fork
            type: branch
            branches:
              - condition: "{{ eq .run.mode \\"real\\" }}"
                steps: [{id: a, type: tool, tool: ping, inputs: {host: x}}]
                next: last
              - condition: default
                steps: [{id: b, type: tool, tool: service, action: state, inputs: {name: x}}]
          - {id: between, type: tool, tool: service, action: restart, inputs: {name: "{{ .latency }}{{ .state }}"}}  #! unresolved-variable
          - {id: last, type: end, outcome: {category: resolved, meta: {a: "{{ .latency }}", b: "{{ .state }}"}}}  #! maybe-undefined #! maybe-undefined
        """,
    "the run itself": """
        steps:
          - {type: end, outcome: {category: resolved, meta: {a: "{{ .run.id }}{{ .run.actor }}{{ .run.mode }}{{ .run.runbook }}", b: "{{ .run.ids }}"}}}  #! unresolved-variable
        """,
    "a missing tool silences what its outputs would be": """
        tools: [ping, absent]  #! tool-not-found
        steps:
          - {id: a, type: tool, tool: absent, inputs: {x: 1}}
          - {type: end, outcome: {category: resolved, meta: {a: "{{ .a.what }}{{ .ever }}"}}}
        """,
    "extensions are never templates": """
        steps:
          - {type: end, extensions: {x-note: "{{ .nothing"}, outcome: {category: resolved}}
        extensions: {x-other: "{{ .nothing }}"}
        """,
    "statements and broken templates everywhere": """
        meta: {name: x, constants: {a: "{% if %}"}}  #! template-syntax
        steps:
          - type: branch
            branches:
              - {condition: "{{ eq .run.mode }", steps: []}  #! template-syntax
              - {condition: default, steps: []}
          - {id: b, type: tool, tool: ping, scope: "a/{{ .x", inputs: {host: "{{ }}"}}  #! template-syntax #! template-syntax
          - {type: end, outcome: {category: resolved}}
        """,
}


@pytest.mark.parametrize("name", CASES)
def test_variables(name, registry, tmp_path):
    compare(tmp_path, CASES[name], registry=registry)


def said(directory, text, *, registry):
    return [(d.message, d.hint or "") for d in judged(directory, text, registry=registry).diagnostics]


def test_messages_say_why_a_name_is_not_there(registry, tmp_path):
    later = said(tmp_path, CASES["a step that comes later"], registry=registry)[0]
    assert "which runs only later" in later[0]
    itself = said(tmp_path, CASES["a step itself"], registry=registry)[0]
    assert "itself, before it has run" in itself[0]
    lost = said(tmp_path, CASES["a repeat throws away what is not exported"], registry=registry)
    assert any("inside the loop `rounds` and does not exist after it" in m and "export" in h for m, h in lost)
    listed = said(tmp_path, CASES["a for_each leaves a list"], registry=registry)
    assert any("index .check 0 'latency'" in hint for _, hint in listed)
    path = said(
        tmp_path, CASES["an arm that jumps away leaves nothing behind for what it jumps over"], registry=registry
    )
    assert "on no path that leads here" in path[0][0]
    cycle = said(tmp_path, CASES["constants with structure, templates and cycles"], registry=registry)
    assert any("one → two → three → one" in message for message, _ in cycle)


@pytest.mark.parametrize(
    "value",
    [
        '"{{ ^.hst }}"',
        "'a {{ eq ^.hst \"x\" }}'",
        '"{{ .run.id }} {{ ^.hst }} {{ .hst }}"',
        '"\\u00e9\\t{{ ^.hst }}"',
        '"{{ ^hst }}"',
        "a-{{^.hst}}",
    ],
)
def test_the_place_is_the_variable_itself(value, registry, tmp_path):
    """The caret stands where the variable is meant to be found."""
    line = f"      host: {value}"
    text = (
        "steps:\n  - type: tool\n    tool: ping\n    inputs:\n"
        + line.replace("^", "")
        + ("\n  - {type: end, outcome: {category: resolved}}\n")
    )
    first = judged(tmp_path, text, registry=registry).diagnostics[0]
    assert (first.rule, first.line, first.column) == ("unresolved-variable", 5, line.index("^") + 1)


def test_the_place_in_a_block_of_text(registry, tmp_path):
    text = """
        steps:
          - type: manual
            instructions: |
              First line.
              Look at {{ .nowhere }} now.
          - type: manual
            instructions: >
              Folded
              text about
              {{ .nothing }}.
          - {type: end, outcome: {category: resolved}}
        """
    verdict = judged(tmp_path, text, registry=registry)
    assert [(d.line, d.column) for d in verdict.diagnostics] == [(5, 18), (10, 10)]
