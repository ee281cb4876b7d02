"""``gert outcomes`` counts the same runs alike, in whichever store they are."""

from __future__ import annotations

import json

from store_shells import STORES, each

BOOK = """\
apiVersion: kernel/v0
meta: { name: disk-check, inputs: { code: { type: string } } }
tools: [flaky, look]
steps:
  - { id: see, type: tool, tool: look }
  - { id: try, type: tool, tool: flaky }
  - { id: ask, type: manual, instructions: Is it free?, required_evidence: [{ kind: text, name: note }] }
  - { type: end, outcome: { category: escalated, code: "{{ .code }}" } }
"""


def test_the_same_runs_give_the_same_outcomes_in_every_store(stores):
    def lives(shell):
        shell.write("book.yaml", BOOK)
        words = ("exec", "book.yaml", "--questions", "suspend", "--no-input")
        shell.gert(*words, "--var", "code=first", code=1)
        shell.gert("resume", "--run", "latest", "--retry-failed", "--questions", "suspend", "--no-input")
        shell.gert("answer", "latest", "ask", "note=yes")
        shell.gert("resume", "--run", "latest")
        shell.gert(*words, "--var", "code=second")
        found = {}
        for by in ("runbook", "actor"):
            said = shell.gert("outcomes", "--json", "--steps", "--since", "1h", "--by", by, "--runbook", "disk-check")
            found[by] = json.loads(said.stdout)
        missing = shell.gert("outcomes", "--runbook", "disk-chek", code=2)
        assert "did you mean `disk-check`?" in missing.stderr
        assert json.loads(shell.gert("outcomes", "--json", "--since", "2999-01-01").stdout)["runbooks"] == []
        return found

    found = each(stores, lives)
    for store in STORES:
        (part,) = found[store]["runbook"]["runbooks"]
        assert (part["runs"], part["statuses"]) == (2, {"answer_pending": 1, "completed": 1}), store
        assert part["outcomes"] == [{"category": "escalated", "code": "first", "count": 1}]
        rates = {step["step"]: (step["type"], step["runs"], step["failures"]) for step in part["steps"]}
        assert rates["try"] == ("tool", 3, 1)
        assert rates["see"] == ("tool", 2, 0)
        assert part["waiting"]["runs"] == 1
        assert found[store]["actor"]["actors"][0]["runs"] == 2
        assert found[store]["runbook"]["problems"] == []
