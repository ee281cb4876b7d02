"""Random runbooks, crashed and suspended anywhere: every second life ends as the first would have."""

from __future__ import annotations

import os
import random
import shutil

import pytest
from lab import Lab
from random_lives import GATE, TOOLS, Life, Maker

from gert_core.api import RunError
from gert_core.engine.resume.plan import RunFinished
from gert_core.trace.verify import verify

SEEDS = range(250 if os.environ.get("GERT_FUZZ") else 4)


def told_by(ran):
    """Everything about a run that must not depend on how often it died."""
    failures = [(f.key, f.status, f.kind) for f in ran.result.failures]
    return ran.status, ran.result.outcome, failures, dict(ran.steps), ran.result.variables.names_visible()


@pytest.mark.parametrize("seed", SEEDS)
def test_crashes_and_suspensions_anywhere_change_nothing(tmp_path, seed):
    lab = Lab(tmp_path)
    text = "\n".join(Maker(seed).steps(2, "", top=True))
    life = Life(lab)
    first = lab(text, tools=TOOLS, meta=GATE, approval="inbox", trace_sync="none")
    whole = life.to_the_end(first)
    assert whole.status in ("completed", "failed"), [f.message for f in whole.result.failures]
    expected = told_by(whole)
    effects = sorted(call.key for call in lab.calls)
    home = whole.result.trace.parent
    kept = home.with_name("kept")
    shutil.copytree(home, kept)
    lines = whole.result.trace.read_bytes().splitlines(keepends=True)
    picks = random.Random(seed).sample(range(1, len(lines)), min(len(lines) - 1, 8))
    for count in sorted(picks):
        shutil.rmtree(home)
        shutil.copytree(kept, home)
        (home / "state.json").unlink(missing_ok=True)
        whole.result.trace.write_bytes(b"".join(lines[:count]))
        lab.calls.clear()
        try:
            ran = life.to_the_end(lab.runner.resume(whole.result.run_id))
        except RunFinished as finished:
            assert finished.result.status == whole.status  # noqa: PT017 - one of two good ways to end
            continue
        except RunError as error:
            raise AssertionError(f"seed {seed}, crash after event {count}: {error.message}\n{text}") from None
        told = f"seed {seed}, crash after event {count}"
        assert told_by(ran) == expected, told
        assert {call.key for call in lab.calls} <= set(effects), told
        verdict = verify(ran.result.trace, key_for=lambda *_: None, schemes=lambda _: None)
        assert str(verdict.status) == "unsigned", told
