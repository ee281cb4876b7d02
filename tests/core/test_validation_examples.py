"""The design documents' examples validate as written, their fragments once completed minimally."""

from __future__ import annotations

from pathlib import Path

import pytest
from judging import judged

from gert_core.api import Severity
from gert_core.plugin.registry import Registry
from gert_core.validation import validate_file

DATA = Path(__file__).parents[1] / "data"


@pytest.fixture(scope="module")
def registry():
    return Registry.build()


def errors(verdict):
    return [
        f"{d.file}:{d.line}:{d.column} {d.rule}: {d.message}"
        for d in verdict.diagnostics
        if d.severity is Severity.ERROR
    ]


@pytest.mark.parametrize(
    "name",
    [
        "k16/runbook.yaml",
        "k16/tools/health-check.tool.yaml",
        "mad/runbook.yaml",
        "mad/tools/llm.tool.yaml",
        "e11/runbook.yaml",
        "e11/tools/ai-search.tool.yaml",
    ],
)
def test_as_written(name, registry):
    verdict = validate_file(DATA / name, registry=registry, environ={})
    assert errors(verdict) == []
    assert verdict.valid


HEALTH = """
apiVersion: tool/v0
meta: {name: health-check, transport: stdio, binary: curl}
contract:
  inputs:
    url: {type: string}
    hostname: {type: string}
    port: {type: int}
    environment: {type: string}
    timeout: {type: int, default: 30}
  outputs: {status_code: {type: int}, body: {type: string}}
  effects: [network]
  writes: []
  reads: [network]
  idempotent: true
actions:
  check: {argv: ["curl", "{{ .url }}"], extract: {status_code: {from: stdout, pattern: "^(\\\\d+)$"}}}
"""
RESTART = """
apiVersion: tool/v0
meta: {name: restart-service, transport: stdio}
contract:
  inputs:
    service: {type: string}
    hostname: {type: string}
    port: {type: int}
    environment: {type: string}
    force: {type: bool}
  effects: [process]
  writes: [service]
actions:
  restart: {argv: ["systemctl", "restart", "{{ .service }}"]}
"""
TOOLS = {"health-check": HEALTH, "restart-service": RESTART}
END = "{type: end, outcome: {category: resolved}}"

FRAGMENTS = {
    "K6.1 when": f"""
        meta: {{name: x, inputs: {{status: {{type: string}}}}}}
        steps:
          - id: restart
            type: tool
            tool: restart-service
            when: "{{{{ eq .status \\"unhealthy\\" }}}}"
          - {END}
        """,
    "K6.2 branch": f"""
        meta: {{name: x, inputs: {{severity: {{type: string}}}}}}
        steps:
          - type: branch
            branches:
              - condition: "{{{{ eq .severity \\"critical\\" }}}}"
                label: critical_path
                steps:
                  - {END}
              - condition: default
                label: standard_path
                steps:
                  - {END}
        """,
    "K6.3 next": f"""
        steps:
          - id: diagnose
            type: tool
            tool: health-check
          - id: apply_fix
            type: tool
            tool: restart-service
            next: verify_fix
          - id: verify_fix
            type: assert
            continue_on_fail: true
            assert:
              - {{type: equals, value: "{{{{ .diagnose.status_code }}}}", expected: "200"}}
            next: {{ step: diagnose, max: 3 }}
          - {END}
        """,
    "K6.4 for_each": """
        meta: {name: x, inputs: {nodes: {type: list}}}
        steps:
          - id: check_node
            type: tool
            tool: health-check
            for_each:
              as: node
              over: "{{ .nodes }}"
              parallel: true
            inputs: {url: "{{ .node }}"}
          - type: end
            outcome: {category: resolved, meta: {first: '{{ index .check_node 0 "status_code" }}'}}
        """,
    "K6.4 keyed": """
        meta:
          name: x
          inputs: {question: {type: string}, agents: {type: list}}
        steps:
          - id: agent_responses
            type: extension
            extension: llm-agent
            contract: {effects: [network], writes: [], outputs: {answer: {type: string}}}
            for_each:
              as: agent
              over: "{{ .agents }}"
              key: "{{ .agent.id }}"
              parallel: true
            inputs:
              prompt: "{{ .question }}"
          - type: end
            outcome: {category: resolved, meta: {a: "{{ .agent_responses.skeptic.answer }}"}}
        """,
    "K6.5 repeat": f"""
        steps:
          - id: debate
            type: repeat
            repeat:
              max: 3
              until: '{{{{ eq .consensus "reached" }}}}'
            steps:
              - id: argue
                type: extension
                extension: llm-agent
                contract: {{effects: [network], writes: []}}
                scope: "round/{{{{ .repeat.index }}}}"
              - id: evaluate
                type: extension
                extension: judge
                contract: {{effects: [network], writes: [], outputs: {{consensus: {{type: string}}}}}}
                export: ["consensus"]
          - {END}
        """,
    "nested repeat": f"""
        steps:
          - id: debate
            type: repeat
            repeat:
              max: 3
              until: '{{{{ eq .consensus "reached" }}}}'
              steps:
                - id: evaluate
                  type: extension
                  extension: judge
                  contract: {{effects: [network], writes: [], outputs: {{consensus: {{type: string}}}}}}
                  export: ["consensus"]
          - {END}
        """,
    "K7 constants and inputs_from": f"""
        meta:
          name: x
          inputs: {{hostname: {{type: string}}}}
          constants:
            health_endpoint: "/healthz"
            max_retries: 3
            target_config:
              port: 443
              protocol: https
              timeout: 30
            service_target:
              hostname: "{{{{ .hostname }}}}"
              port: 443
              environment: production
            auth_config: {{environment: staging}}
        steps:
          - id: check
            type: tool
            tool: health-check
            inputs_from: service_target
            inputs:
              timeout: "{{{{ .target_config.timeout }}}}"
          - id: restart
            type: tool
            tool: restart-service
            inputs_from: [service_target, auth_config]
            inputs:
              force: true
          - {END}
        """,
    "K7 scope, export and visibility": f"""
        meta: {{name: x, inputs: {{question: {{type: string}}}}}}
        steps:
          - id: round_0_agent_a
            type: extension
            extension: llm-agent
            contract: {{effects: [network], writes: [], outputs: {{answer: {{type: string}}}}}}
            scope: "round/0"
            inputs:
              prompt: "{{{{ .question }}}}"
          - id: summarize
            type: extension
            extension: reducer
            contract:
              effects: []
              writes: []
              outputs: {{decision: {{type: string}}, scores: {{type: object}}}}
            scope: "round/1"
            export: ["decision", "scores"]
          - id: blind_review
            type: extension
            extension: llm-agent
            contract: {{effects: [network], writes: []}}
            visibility:
              allow: ["question", "scope.round/0.*"]
              deny: ["scope.round/0.agent_b.*"]
            inputs: {{a: "{{{{ .scope.round/0.answer }}}}", b: "{{{{ .decision }}}}{{{{ .scores }}}}"}}
          - {END}
        """,
    "K9 and E3 governance": """
        meta:
          name: x
          governance:
            rules:
              - risk: critical
                action: require-approval
                min_approvers: 2
              - risk: high
                action: require-approval
              - contract:
                  writes: [production]
                action: require-approval
              - effects: [kubernetes]
                writes: [production]
                action: require-approval
                min_approvers: 2
              - effects: [network]
                action: allow
              - contract_violations: deny
              - default: allow
        """,
    "K10 extensions": f"""
        meta:
          name: my-runbook
          extensions:
            x-team: platform-eng
            x-custom-metadata:
              anything: goes here
        steps:
          - id: step1
            type: tool
            tool: health-check
            extensions:
              x-slo-target: 99.9
              x-dashboard: https://grafana/d/abc
          - {END}
        """,
    "E3 contract on a step": f"""
        steps:
          - type: extension
            extension: mover
            contract:
              effects: [network]
              writes: [service]
              reads: [service_status]
              idempotent: true
              deterministic: false
          - {END}
        """,
    "E12 secrets": """
        meta:
          name: deploy-service
          secrets:
            - env: DEPLOY_TOKEN
              description: "Deploy token for production"
            - env: SLACK_WEBHOOK
              description: "Slack webhook for notifications"
              required: false
        """,
    "E14 on_outcome": """
        meta:
          name: x
          on_outcome:
            escalated:
              webhook: https://hooks.slack.com/services/xxx
              pagerduty_severity: critical
            resolved:
              webhook: https://hooks.slack.com/services/xxx
        """,
}


@pytest.mark.parametrize("name", FRAGMENTS)
def test_fragments(name, registry, tmp_path):
    verdict = judged(tmp_path, FRAGMENTS[name], registry=registry, tools=TOOLS)
    assert errors(verdict) == []


def test_the_secrets_of_e12_in_a_tool(registry, tmp_path):
    file = tmp_path / "az-cli.tool.yaml"
    file.write_text(
        """
apiVersion: tool/v0
meta:
  name: az-cli
  binary: az
secrets:
  - env: AZURE_CLIENT_SECRET
    description: "Azure service principal secret"
    required: true
  - env: AZURE_TENANT_ID
    description: "Azure tenant ID"
    required: true
contract: {effects: [azure], writes: []}
actions:
  show: {argv: ["az", "account", "show"]}
""",
        encoding="utf-8",
    )
    verdict = validate_file(file, registry=registry, environ={"AZURE_TENANT_ID": "x"})
    found = [(d.rule, d.line, d.column) for d in verdict.diagnostics if d.rule != "program-missing"]  # az
    assert found == [("secret-missing", 7, 10)]
    assert [(s.env, s.required, s.present) for s in verdict.secrets] == [
        ("AZURE_CLIENT_SECRET", True, False),
        ("AZURE_TENANT_ID", True, True),
    ]


def test_providers_of_the_project_are_known(registry, tmp_path):
    from gert_core.documents.project import find_project

    (tmp_path / "gert-project.yaml").write_text(
        "providers:\n  cmdb: {transport: jsonrpc, binary: gert-cmdb-provider}\n", encoding="utf-8"
    )
    text = """
        meta:
          name: x
          inputs:
            hostname: {type: string, from: cmdb.server.hostname}
            same: {type: string, from: provider/cmdb.server.hostname}
            zone: {type: string, from: prompt}
            threshold: {type: int, default: 200}
        """
    judged(tmp_path, text, registry=registry)
    verdict = validate_file(tmp_path / "runbook.yaml", registry=registry, project=find_project(tmp_path), environ={})
    assert errors(verdict) == []
