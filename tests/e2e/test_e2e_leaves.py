"""Leaf types of other distributions, used as processes: what they do themselves, without the engine's help, is safe."""

from __future__ import annotations

import signal

import pytest
from gertproc import Gert

from gert_core.testing.fake_dist import FakeDist

HEAD = """
import os, signal, sys, time
from pathlib import Path
from pydantic import Field
from gert_core import hookimpl
from gert_core.api import *
from gert_core.kit.models import StepModel, Templated
"""


class Lot(Gert):
    """A project with plugins of other distributions."""

    def __init__(self, root, **environ):
        site = root / "site"
        super().__init__(root, PYTHONPATH=str(site), **environ)
        self.site = FakeDist(directory=site)
        site.mkdir()

    def plugin(self, distribution, source):
        self.site.add(distribution, HEAD + source)

    def book(self, steps, **files):
        end = "\n  - { id: done, type: end, outcome: { category: resolved, code: ok } }"
        self.write(
            book=f"apiVersion: kernel/v0\nmeta: {{ name: book }}\nsteps:\n{steps.strip(chr(10))}{end}\n", **files
        )


@pytest.fixture
def gert(tmp_path):
    return Lot(tmp_path)


PUSH = """
class Push(StepModel):
    mark: str = Field(description="The file that shows that it was done.")

def run(step, ctx):
    with open(step.mark, "a") as file:
        file.write("x")
    if os.environ.get("DIE"):
        os.kill(os.getpid(), signal.SIGKILL)
    return Completed()

@hookimpl
def gert_step_types():
    return [StepType(name="push", model=Push, run=run, contract=Contract(%s), summary="Pushes.")]
"""


def test_a_leaf_that_acts_by_itself_is_not_run_twice_after_a_kill(gert):
    gert.plugin("gert-step-push", PUSH % 'effects=("git",), writes=("remote",)')
    gert.book("  - { id: p, type: push, mark: mark }")
    assert gert("exec", "book.yaml", DIE="1").code == -signal.SIGKILL
    assert (gert.root / "mark").read_text() == "x"
    said = gert("resume", "--run", gert.run().name)
    assert said.code == 1
    assert "cannot determine whether p took effect" in said.err
    assert (gert.root / "mark").read_text() == "x"


def test_a_leaf_that_acts_by_itself_and_may_be_repeated_is_run_again_as_another_attempt(gert):
    gert.plugin("gert-step-push", PUSH % 'effects=("git",), writes=("remote",), idempotent=True')
    gert.book("  - { id: p, type: push, mark: mark }")
    assert gert("exec", "book.yaml", DIE="1").code == -signal.SIGKILL
    assert gert("resume", "--run", gert.run().name).code == 0
    assert (gert.root / "mark").read_text() == "xx"
    assert [event["data"]["attempt"] for event in gert.events() if event["type"] == "step_attempt"] == [2]
