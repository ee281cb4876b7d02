"""A runbook that asks for an approval before its only tool step acts, and the tool."""

from __future__ import annotations

BOOK = """\
apiVersion: kernel/v0
meta: { name: fix, governance: { rules: [{ effects: [network], action: require-approval }] } }
tools: [box]
steps:
  - { id: act, type: tool, tool: box }
  - { type: end, outcome: { category: resolved, code: acted } }
"""
TOOL = """\
apiVersion: tool/v0
meta: { name: box, transport: stdio }
contract: { effects: [network], writes: [box] }
actions: { do: { argv: [touch, done] } }
"""
