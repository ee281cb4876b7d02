"""Where a run can go: ends, unreachable steps and jumps, through every kind of block."""

from __future__ import annotations

import pytest
from judging import compare, judged

from gert_core.plugin.registry import Registry
from gert_core.validation import validate_file


@pytest.fixture(scope="module")
def registry():
    return Registry.build()


CASES = {
    "an arm cannot jump out of an item": """
        steps:
          - id: each
            type: branch
            for_each: {as: item, over: [a, b]}
            branches:
              - condition: default
                next: after  #! next-cross-scope
                steps: [{type: tool, tool: ping, inputs: {host: a}}]
          - {id: between, type: tool, tool: ping, inputs: {host: a}}
          - {id: after, type: end, outcome: {category: resolved, meta: {x: "{{ .between.status }}"}}}
        """,
    "a plain list without an end": """
        steps:
          - {type: tool, tool: ping, inputs: {host: a}}
          - {id: last, type: tool, tool: ping, inputs: {host: b}}  #! end-unreachable
        """,
    "a guarded end is no end": """
        steps:
          - {type: end, when: "{{ eq .run.mode \\"real\\" }}", outcome: {category: resolved}}  #! end-unreachable
        """,
    "a guard that is always true is none": """
        steps:
          - {type: end, when: true, outcome: {category: resolved}}
        """,
    "a guarded end before an unguarded one": """
        steps:
          - {type: end, when: "{{ eq .run.mode \\"real\\" }}", outcome: {category: resolved}}
          - {type: end, outcome: {category: no_action}}
        """,
    "all arms end": """
        steps:
          - type: branch
            branches:
              - condition: "{{ eq .run.mode \\"real\\" }}"
                steps: [{type: end, outcome: {category: resolved}}]
              - condition: default
                steps: [{type: end, outcome: {category: no_action}}]
        """,
    "one arm of several does not end": """
        steps:
          - type: branch
            branches:
              - condition: "{{ eq .run.mode \\"real\\" }}"
                steps: [{type: end, outcome: {category: resolved}}]
              - condition: "{{ eq .run.mode \\"probe\\" }}"
                steps: []  #! end-unreachable
              - condition: default
                steps:
                  - {type: tool, tool: ping, inputs: {host: a}}  #! end-unreachable
        """,
    "no arm ends: said once, at the step": """
        steps:
          - type: branch  #! end-unreachable
            branches:
              - condition: "{{ eq .run.mode \\"real\\" }}"
                steps: [{type: tool, tool: ping, inputs: {host: a}}]
              - condition: default
                steps: [{type: tool, tool: ping, inputs: {host: b}}]
        """,
    "a guarded branch can be skipped": """
        steps:
          - type: branch  #! end-unreachable
            when: "{{ eq .run.mode \\"real\\" }}"
            branches:
              - condition: default
                steps: [{type: end, outcome: {category: resolved}}]
        """,
    "an end in a nested branch": """
        steps:
          - type: branch
            branches:
              - condition: default
                steps:
                  - type: branch
                    branches:
                      - condition: "{{ eq .run.mode \\"real\\" }}"
                        steps: [{type: end, outcome: {category: resolved}}]
                      - condition: default
                        steps:
                          - {type: tool, tool: ping, inputs: {host: a}}
                  - {type: end, outcome: {category: escalated}}
        """,
    "one concurrent block that ends is enough": """
        steps:
          - type: parallel
            branches:
              - steps: [{type: tool, tool: ping, inputs: {host: a}}]
              - steps: [{type: end, outcome: {category: resolved}}]
        """,
    "no concurrent block ends": """
        steps:
          - type: parallel  #! end-unreachable
            branches:
              - steps: [{type: tool, tool: ping, inputs: {host: a}}]
              - steps: [{type: tool, tool: service, action: state, inputs: {name: a}}]
        """,
    "a loop runs at least once": """
        steps:
          - type: repeat
            repeat: {max: 3}
            steps: [{type: end, outcome: {category: resolved}}]
        """,
    "a loop whose end is guarded": """
        steps:
          - type: repeat  #! end-unreachable
            repeat: {max: 3}
            steps: [{type: end, when: "{{ gt .repeat.index 1 }}", outcome: {category: resolved}}]
        """,
    "an end inside a for_each may never run": """
        meta: {name: x, inputs: {hosts: {type: list}}}
        steps:
          - type: branch  #! end-unreachable
            for_each: {as: host, over: "{{ .hosts }}"}
            branches:
              - condition: default
                steps: [{type: end, outcome: {category: resolved}}]
        """,
    "a for_each over a list that is written down runs": """
        steps:
          - type: branch
            for_each: {as: host, over: [a, b]}
            branches:
              - condition: default
                steps: [{type: end, outcome: {category: resolved}}]
        """,
    "continue_on_fail leads past a block that ends": """
        steps:
          - type: branch  #! end-unreachable
            continue_on_fail: true
            branches:
              - condition: default
                steps:
                  - {type: tool, tool: ping, inputs: {host: a}}
                  - {type: end, outcome: {category: resolved}}
        """,
    "a forward jump skips steps": """
        steps:
          - {type: tool, tool: ping, inputs: {host: a}, next: last}
          - {id: skipped, type: tool, tool: ping, inputs: {host: a}}  #! unreachable-step
          - {id: also, type: tool, tool: ping, inputs: {host: a}}
          - {id: last, type: end, outcome: {category: resolved}}
        """,
    "a guarded forward jump does not": """
        steps:
          - {type: tool, tool: ping, inputs: {host: a}, when: "{{ eq .run.mode \\"real\\" }}", next: last}
          - {id: between, type: tool, tool: ping, inputs: {host: a}}
          - {id: last, type: end, outcome: {category: resolved}}
        """,
    "two runs of unreachable steps are two findings": """
        steps:
          - {type: tool, tool: ping, inputs: {host: a}, next: middle}
          - {id: b, type: tool, tool: ping, inputs: {host: a}}  #! unreachable-step
          - {id: middle, type: tool, tool: ping, inputs: {host: a}, next: last}
          - {id: c, type: tool, tool: ping, inputs: {host: a}}  #! unreachable-step
          - {id: last, type: end, outcome: {category: resolved}}
        """,
    "after a bounded jump back the flow falls through": """
        steps:
          - {id: a, type: tool, tool: ping, inputs: {host: a}}
          - {id: b, type: tool, tool: ping, inputs: {host: a}, next: {step: a, max: 2}}  #! end-unreachable
        """,
    "the bound may be a template": """
        meta: {name: x, constants: {tries: 2}}
        steps:
          - {id: a, type: tool, tool: ping, inputs: {host: a}, next: {step: a, max: "{{ .tries }}"}}
          - {type: end, outcome: {category: resolved}}
        """,
    "a jump back without a bound": """
        steps:
          - {id: a, type: tool, tool: ping, inputs: {host: a}}
          - id: b
            type: tool
            tool: ping
            inputs: {host: a}
            next: {step: a}  #! next-backward-unbounded
          - {type: end, outcome: {category: resolved}}
        """,
    "an arm may go on at a later step": """
        steps:
          - id: fork
            type: branch
            branches:
              - condition: "{{ eq .run.mode \\"real\\" }}"
                steps: []
                next: last
              - condition: default
                steps: [{type: end, outcome: {category: no_action}}]
          - {id: skipped, type: tool, tool: ping, inputs: {host: a}}  #! unreachable-step
          - {id: last, type: end, outcome: {category: resolved}}
        """,
    "an arm cannot go back or into itself": """
        steps:
          - {id: first, type: tool, tool: ping, inputs: {host: a}}
          - id: fork
            type: branch
            branches:
              - condition: "{{ eq .run.mode \\"real\\" }}"
                steps: []
                next: first  #! next-backward-unbounded
              - condition: "{{ eq .run.mode \\"probe\\" }}"
                steps: [{id: inner, type: tool, tool: ping, inputs: {host: b}}]
                next: inner  #! next-cross-scope
              - condition: default
                steps: []
                next: lats  #! next-unknown
          - {id: last, type: end, outcome: {category: resolved}}
        """,
    "a sibling arm and an outer list are other lists": """
        steps:
          - id: fork
            type: branch
            branches:
              - condition: "{{ eq .run.mode \\"real\\" }}"
                steps: [{id: one, type: tool, tool: ping, inputs: {host: a}, next: two}]  #! next-cross-scope
              - condition: default
                steps: [{id: two, type: tool, tool: ping, inputs: {host: a}, next: last}]  #! next-cross-scope
          - {id: last, type: end, outcome: {category: resolved}}
        """,
    "nothing after an end": """
        steps:
          - type: branch
            branches:
              - condition: default
                steps:
                  - {type: end, outcome: {category: resolved}}
                  - {id: x, type: tool, tool: ping, inputs: {host: a}}  #! unreachable-step
          - {id: y, type: tool, tool: ping, inputs: {host: a}}  #! unreachable-step
        """,
}


@pytest.mark.parametrize("name", CASES)
def test_flow(name, registry, tmp_path):
    compare(tmp_path, CASES[name], registry=registry)


def test_the_message_says_which_path_does_not_end(registry, tmp_path):
    verdict = judged(tmp_path, CASES["one arm of several does not end"], registry=registry)
    assert [f"`arm {n}` of `_branch_1`" in d.message for n, d in zip((2, 3), verdict.diagnostics, strict=True)] == [
        True,
        True,
    ]


def test_an_unknown_step_type_silences_what_depends_on_it(registry, tmp_path):
    text = """
        steps:
          - {type: finish, outcome: {category: resolved}}  #! unknown-step-type
        """
    compare(tmp_path, text, registry=registry)


def test_flow_is_read_from_any_types_flow_not_from_its_name(sample_registry, tmp_path):
    """The sample types have other names than the standard ones."""
    text = """
        steps:
          - type: choose
            arms:
              - {condition: default, steps: [{type: stop}]}
          - {type: note, text: never}  #! unreachable-step
        """
    compare(tmp_path, text, registry=sample_registry)
    text = """
        steps:
          - type: choose
            arms:
              - {condition: "{{ eq .run.mode \\"real\\" }}", steps: [{type: stop}]}
              - condition: default
                steps:
                  - {type: note, text: on}  #! end-unreachable
        """
    compare(tmp_path, text, registry=sample_registry)
    text = """
        steps:
          - type: loop
            loop: {max: 2}
            steps: [{type: note, text: "{{ .loop.index }}"}]
          - {type: stop, code: "{{ .loop.index }}"}  #! loop-variable-leak
        """
    compare(tmp_path, text, registry=sample_registry)


def test_an_end_in_a_repeat_without_rounds_is_not_reached(tmp_path, registry):
    path = tmp_path / "book.yaml"
    end = "{ type: end, outcome: { category: resolved } }"
    for most, why in ((0, ["`r` may run no round of `iteration`"]), (1, [])):
        step = f"{{ id: r, type: repeat, repeat: {{ max: {most} }}, steps: [ {end} ] }}"
        path.write_text(f"apiVersion: kernel/v0\nmeta: {{ name: b }}\nsteps:\n  - {step}\n")
        found = validate_file(path, registry=registry).diagnostics
        assert [one.message.rpartition(": ")[2] for one in found] == why
