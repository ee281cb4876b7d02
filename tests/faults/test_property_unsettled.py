"""Random runs whose documents change between processes: no approval is got past, and without changes none is in the way."""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, assume, event, given, settings
from hypothesis import strategies as st
from unsettled_books import BOOK, YES, Chance, Maker
from unsettled_changes import Changer
from unsettled_lives import Life, new_lab
from unsettled_oracle import Oracle, blocks

FUZZ = bool(os.environ.get("GERT_FUZZ"))
EXAMPLES = 3000 if FUZZ else 25
SETTINGS = settings(
    max_examples=EXAMPLES,
    derandomize=not FUZZ,
    deadline=None,
    database=None,
    phases=[Phase.explicit, Phase.generate],  # a whole life is run for each example: to shrink one takes minutes
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        for name in ("fsync", "fdatasync"):  # no machine dies here, and thousands of runs are kept
            patch.setattr(os, name, lambda _: None)
        yield new_lab(tmp_path_factory.mktemp("lab"))


def begin(lab, documents) -> Life:
    root = lab.directory
    return Life(lab=lab, directory=Path(tempfile.mkdtemp(dir=root)), documents=documents)


def go_on(life: Life, chance: Chance) -> None:
    """Answer some tickets, change some documents, and resume in some way."""
    for ticket in life.open_tickets():
        if (answer := chance.pick([True, None, False])) is not None:
            life.answer(ticket, approved=answer)
    now = life.processes[-1].documents
    documents = chance.pick([now, life.documents])
    if chance.one_in(2) or documents == life.documents:
        documents = Changer(chance, documents).change() if not chance.one_in(4) else documents
    state = life.state()
    options = {
        "allow_drift": documents != life.documents,
        "retry_failed": chance.one_in(2) or str(state.status) == "failed",
        "yes": not chance.one_in(4),
        "reconcile": {one.key: chance.pick(["redo", "done"]) for one in state.unknown_outcomes},
    }
    kill = chance.number(2, 25) if chance.one_in(5) else 0
    life.process(documents, kill=kill, pw=chance.pick([YES, YES, YES, "no-thanks"]), **options)


def live(lab, chance: Chance) -> Life | None:
    """Run a random runbook, and go on with it a few times; None for one that could not begin."""
    documents = Maker(chance).documents()
    life = begin(lab, documents)
    lab.sick = frozenset(f"s{chance.number(1, 9)}" for _ in range(chance.number(0, 2)))
    options = {"preflight": False} if chance.one_in(2) else {}
    life.process(documents, kill=chance.number(2, 30) if chance.one_in(4) else 0, **options)
    if life.trace is None:
        return None
    for _ in range(chance.number(1, 4)):
        lab.sick = frozenset() if chance.one_in(2) else lab.sick
        go_on(life, chance)
    return life


def live_on(lab, chance: Chance) -> Life | None:
    """Run a random runbook with everything approved until a step of it fails or dies, and go on with it then."""
    documents = Maker(chance).documents()
    life = begin(lab, documents)
    lab.sick = frozenset(f"s{chance.number(1, 9)}" for _ in range(chance.number(1, 3)))
    process = life.process(documents, preflight=False)
    for _ in range(6):
        if life.trace is None:
            return None
        if process.ended != "approval_pending":
            break
        for ticket in life.open_tickets():
            life.answer(ticket, approved=True)
        process = life.process(documents, kill=chance.number(2, 12) if chance.one_in(4) else 0)
    for _ in range(chance.number(1, 3)):
        lab.sick = frozenset() if chance.one_in(2) else lab.sick
        go_on(life, chance)
    return life


@SETTINGS
@given(seed=st.integers(0, 2**32))
def test_no_change_of_documents_gets_a_run_past_an_approval_that_it_passed(lab, seed):
    life = live_on(lab, Chance(seed))
    assume(life is not None)
    for process in life.processes:
        event(process.ended[:30])
    Oracle(life).check()


@SETTINGS
@given(seed=st.integers(0, 2**32))
def test_no_change_of_documents_gets_a_run_past_an_approval(lab, seed):
    life = live(lab, Chance(seed))
    assume(life is not None)
    for process in life.processes:
        event(process.ended[:30])
    Oracle(life).check()


def expected(documents, steps, times: int = 1) -> Counter[str]:
    """How often each tool acts when everything is approved and nothing fails."""
    found: Counter[str] = Counter()
    for step in steps:
        count = times * len(step.get("for_each", {}).get("over", [0]))
        if step["type"] == "tool":
            found[step["inputs"]["value"]] += count
        lists = blocks(documents, step)
        if step["type"] == "block":
            lists = [lists[0], lists[2]]
        elif step["type"] == "branch":
            lists = lists[:1]
        elif step["type"] == "repeat":
            lists = lists[: step["repeat"]["max"]]
        for one in lists:
            found += expected(documents, one, count)
    return found


def live_unchanged(lab, chance: Chance) -> None:
    """Run a random runbook with everything approved, and hold it to its end and its effects."""
    documents = Maker(chance, safe=True).documents()
    life = begin(lab, documents)
    lab.sick = frozenset()
    process = life.process(documents)
    for _ in range(60):
        if process.ended != "approval_pending":
            break
        for ticket in life.open_tickets():
            life.answer(ticket, approved=True)
        process = life.process(documents)
    assert process.ended == "completed", process.ended
    Oracle(life).check()
    book = documents[BOOK]
    wanted = expected(documents, [*book["steps"], *book.get("finally", [])])
    assert Counter(one["inputs"]["value"] for one in life.effects()) == wanted


@SETTINGS
@given(seed=st.integers(0, 2**32))
def test_a_run_with_all_approvals_comes_to_its_end_and_acts_once(lab, seed):
    live_unchanged(lab, Chance(seed))
