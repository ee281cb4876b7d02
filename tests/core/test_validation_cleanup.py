"""What validation knows about cleanup: where a run can go, which names exist, and what `finally` must not do."""

from __future__ import annotations

import pytest
from judging import compare

from gert_core.plugin.registry import Registry


@pytest.fixture(scope="module")
def registry():
    return Registry.build()


CASES = {
    "steps that end, and cleanup that does not handle": """
        steps:
          - id: b
            type: block
            steps: [{type: tool, tool: ping, inputs: {host: a}}, {type: end, outcome: {category: resolved}}]
            finally: [{type: tool, tool: ping, inputs: {host: a}}]
        """,
    "on_failure handles, so the run goes on behind the block": """
        steps:
          - id: b  #! end-unreachable
            type: block
            steps: [{type: tool, tool: ping, inputs: {host: a}}, {type: end, outcome: {category: resolved}}]
            on_failure: [{type: tool, tool: ping, inputs: {host: a}}]
        """,
    "both ways end": """
        steps:
          - id: b
            type: block
            steps: [{type: tool, tool: ping, inputs: {host: a}}, {type: end, outcome: {category: resolved}}]
            on_failure: [{type: end, outcome: {category: escalated}}]
            finally: [{type: tool, tool: ping, inputs: {host: a}}]
          - {id: late, type: tool, tool: ping, inputs: {host: a}}  #! unreachable-step
        """,
    "steps behind an end in a list of the block": """
        steps:
          - id: b
            type: block
            steps: [{type: tool, tool: ping, inputs: {host: a}}]
            on_failure:
              - {type: end, outcome: {category: escalated}}
              - {id: dead, type: tool, tool: ping, inputs: {host: a}}  #! unreachable-step
          - {type: end, outcome: {category: resolved}}
        """,
    "no end in finally, at any depth": """
        steps:
          - id: b
            type: block
            steps: [{id: one, type: tool, tool: ping, inputs: {host: a}}]
            finally:
              - id: c
                type: block
                steps: [{type: tool, tool: ping, inputs: {host: a}}]
                on_failure:
                  - {type: end, outcome: {category: escalated}}  #! end-in-finally
          - {type: end, outcome: {category: resolved}}
        """,
    "the failure exists in cleanup only": """
        steps:
          - id: b
            type: block
            steps: [{type: tool, tool: ping, inputs: {host: "{{ .failure.kind }}"}}]  #! unresolved-variable
            on_failure:
              - {type: tool, tool: ping, inputs: {host: "{{ .failure.kind }} {{ .failure.step }} {{ .failure.key }}"}}
              - {type: tool, tool: ping, inputs: {host: "{{ .failure.text }}"}}  #! unresolved-variable
            finally:
              - {type: tool, tool: ping, when: "{{ .failure }}", inputs: {host: "{{ .failure.message }} {{ .failure.status }}"}}
          - {type: end, outcome: {category: resolved, meta: {a: "{{ .failure.kind }}", b: "{{ .b.handled }}"}}}  #! unresolved-variable
        """,
    "cleanup sees what the steps may have set": """
        steps:
          - id: b
            type: block
            steps: [{id: one, type: tool, tool: ping, inputs: {host: a}}]
            on_failure: [{id: two, type: tool, tool: ping, inputs: {host: "{{ .one.latency | default 0 }} {{ .latency | default 0 }}"}}]
            finally: [{id: three, type: tool, tool: ping, inputs: {host: "{{ .two.latency | default 0 }} {{ .one.status }}"}}]
          - {type: end, outcome: {category: resolved, meta: {a: "{{ .one.latency | default 0 }} {{ .three.latency }}"}}}
        """,
    "the steps do not see the cleanup": """
        steps:
          - id: b
            type: block
            steps: [{id: one, type: tool, tool: ping, inputs: {host: "{{ .two.latency }}"}}]  #! unresolved-variable
            on_failure: [{id: two, type: tool, tool: ping, inputs: {host: a}}]
          - {type: end, outcome: {category: resolved}}
        """,
    "what only a way that ends sets is not there behind the block": """
        steps:
          - id: b
            type: block
            steps: [{id: one, type: tool, tool: ping, inputs: {host: a}}]
            on_failure:
              - {id: two, type: tool, tool: ping, inputs: {host: a}}
              - {type: end, outcome: {category: escalated}}
          - {type: end, outcome: {category: resolved, meta: {a: "{{ .one.latency }} {{ .two.latency }}"}}}  #! unresolved-variable
        """,
    "exports of steps and on_failure exclude each other": """
        steps:
          - id: b
            type: block
            steps: [{id: one, type: tool, tool: ping, inputs: {host: a}, export: [latency]}]
            on_failure: [{id: two, type: tool, tool: ping, inputs: {host: a}, export: [latency]}]
          - {type: end, outcome: {category: resolved, meta: {a: "{{ .latency }}"}}}
        """,
    "an export of on_failure and one behind the block": """
        steps:
          - id: b
            type: block
            steps: [{id: one, type: tool, tool: ping, inputs: {host: a}, export: [latency]}]
            on_failure: [{id: two, type: tool, tool: ping, inputs: {host: a}, export: [latency]}]
          - {id: three, type: tool, tool: ping, inputs: {host: a}, export: [latency]}  #! export-collision
          - {type: end, outcome: {category: resolved, meta: {a: "{{ .latency }}"}}}
        """,
    "steps inside have the scope of the block": """
        steps:
          - id: b
            type: block
            scope: round/0
            steps:
              - {id: one, type: tool, tool: ping, inputs: {host: a}}
              - {id: two, type: tool, tool: ping, scope: own, inputs: {host: a}}
          - {id: x, type: tool, tool: ping, inputs: {host: "{{ .latency }}"}}  #! unresolved-variable
          - {type: end, outcome: {category: resolved, meta: {a: "{{ .scope.round.0.latency }} {{ .scope.own.latency }}"}}}
        """,
    "a scope is reported once, where it is written": """
        steps:
          - id: b
            type: block
            scope: "a b"  #! scope-syntax
            steps: [{id: one, type: tool, tool: ping, inputs: {host: a}}, {id: two, type: tool, tool: ping, inputs: {host: a}}]
          - {type: end, outcome: {category: resolved}}
        """,
    "lists of cleanup without steps": """
        steps:
          - id: b
            type: block
            steps: []  #! missing-field
            on_failure: []  #! missing-field
          - {type: end, outcome: {category: resolved}}
        """,
    "a limit of cleanup where there is none": """
        steps:
          - id: b
            type: block
            cleanup_timeout: 5m  #! not-acted-on
            steps: [{id: one, type: tool, tool: ping, inputs: {host: a}}]
          - {type: end, outcome: {category: resolved}}
        """,
    "the name of the failure is reserved": """
        steps:
          - {id: failure, type: tool, tool: ping, inputs: {host: a}}  #! reserved-name
          - {type: end, outcome: {category: resolved}}
        """,
}


@pytest.mark.parametrize("name", CASES)
def test_cleanup(name, registry, tmp_path):
    compare(tmp_path, CASES[name], registry=registry)
