"""Recordings of runs in every store: by exec, by the resume that ends a run, and of runs that are over."""

from __future__ import annotations

from store_shells import each

META = "governance: { rules: [{ writes: [box], action: require-approval }] }"
STEPS = """
- { id: look, type: tool, tool: look, action: do }
- { id: change, type: tool, tool: change, action: do, inputs: { what: one } }
"""


def test_runs_are_recorded_from_every_store(stores):
    def life(shell):
        shell.book(STEPS, tools="look, change", meta=META)
        pending = shell.json("exec", "book.yaml", "--record", "one", "--approval", "inbox")
        assert pending["record"] == {"written": False, "path": pending["record"]["path"], "problem": None}
        shell.gert("approve", pending["pending"][0]["ticket_id"], "--as", "alice")
        ran = shell.json("resume", "latest")
        assert ran["record"]["written"] is True, ran["record"]
        assert shell.json("scenario", "record", "latest", "--name", "two")["record"]["written"] is True
        assert "2 passed" in shell.gert("test", "book.yaml", "--all").stdout
        assert "2 unchanged" in shell.gert("diff", "book.yaml").stdout
        places = [shell.root / "scenarios" / "book" / name for name in ("one", "two")]
        traces = [(place / "trace.jsonl").read_bytes() for place in places]
        assert traces[0] == traces[1]
        shell.gert("trace", "verify", str(places[0] / "trace.jsonl"))
        return [(places[0] / name).read_text().splitlines()[1:] for name in ("scenario.yaml", "test.yaml")]

    found = each(stores, life)
    assert found["sqlite"] == found["file"]
    assert found["postgres"] == found["file"]
