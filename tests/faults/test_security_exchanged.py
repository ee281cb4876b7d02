"""A program that is exchanged in the last moments before an approved step starts it, while it is read or after that."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from binding import TOOL, acted, approve, bound_gert, of, pending, program, resume

from gert_core.api import StepProblem
from gert_core.approvals.binding import bound_program
from gert_core.engine.cancel import Deadline, Stop

if TYPE_CHECKING:
    from gertproc import Gert

EVIL = "#!/bin/sh\\necho evil >> acted\\n"
RUNNER = "#!/bin/sh\necho good >> acted\n"


@pytest.fixture
def gert(tmp_path):
    return bound_gert(tmp_path)


class Writing(Deadline):
    """A deadline at whose looks a file is written to: between two parts of it that are read."""

    def __init__(self, stop: Stop, path, *, times: int) -> None:
        super().__init__(stop)
        self.path = path
        self.times = times

    @property
    def stopped(self) -> bool:
        if self.times:
            self.times -= 1
            with self.path.open("r+b") as file:
                file.write(b"#!/bin/sh -e")
            os.utime(self.path)
        return False


@pytest.mark.parametrize("times", [1, 2])
def test_a_program_that_is_written_to_while_it_is_read_is_read_again(tmp_path, times):
    file = tmp_path / "large"
    file.write_bytes(b"#!/bin/sh -x\n" + b"#" * 5_000_000)
    file.chmod(0o755)
    stop = Stop()
    found = bound_program(str(file), {}, deadline=Writing(stop, file, times=times))
    assert found == bound_program(str(file), {}, deadline=Deadline(stop))
    stop.close()


def test_a_program_that_is_written_to_all_the_time_is_not_approved(tmp_path):
    file = tmp_path / "large"
    file.write_bytes(b"#!/bin/sh -x\n" + b"#" * 5_000_000)
    file.chmod(0o755)
    stop = Stop()
    with pytest.raises(StepProblem, match="is written to while it is read") as raised:
        bound_program(str(file), {}, deadline=Writing(stop, file, times=100))
    assert (raised.value.kind, raised.value.acted) == ("approval_void", False)
    stop.close()


def exchanging(gert: Gert, name: str) -> subprocess.CompletedProcess:
    """Resume the run with a program that is exchanged when its ``step_start`` is written."""
    site = gert.root / "exchanging"
    site.mkdir()
    (site / "sitecustomize.py").write_text(
        "import os\nwrite_ = os.write\n"
        "def write(fd, data):\n"
        '    if b\'"type":"step_start"\' in bytes(data):\n'
        f"        open({name!r}, 'w').write('{EVIL}')\n"
        "    return write_(fd, data)\n"
        "os.write = write\n"
    )
    path = os.pathsep.join((str(site), *filter(None, [gert.environ.get("PYTHONPATH")])))
    argv = [sys.executable, "-m", "gert_core", "resume", "--run", gert.run().name, "--json"]
    return subprocess.run(
        argv, cwd=gert.root, env={**gert.environ, "PYTHONPATH": path}, check=False, capture_output=True, text=True
    )


def test_a_program_exchanged_after_the_last_comparison_is_not_started(gert):
    approve(gert, pending(gert))
    said = exchanging(gert, "act")
    assert said.returncode == 1, said.stdout
    assert "run is not what was approved with the step: its program was exchanged after that" in said.stdout
    assert acted(gert) == []
    assert of(gert, "step_complete")[-1]["failure"]["kind"] == "approval_void"


def test_a_runner_exchanged_after_the_last_comparison_is_not_started(gert):
    program(gert, RUNNER)
    head = (gert.root / "book.yaml").read_text().partition("tools:")[0]
    step = "{id: act, type: extension, extension: ./act, contract: {effects: [danger], writes: [production]}}"
    gert.write(book=f"{head}steps:\n  - {step}\n  - {{type: end, outcome: {{category: resolved, code: acted}}}}\n")
    approve(gert, pending(gert))
    said = exchanging(gert, "act")
    assert said.returncode == 1, said.stdout
    assert "its program was exchanged after that" in said.stdout
    assert acted(gert) == []


def test_a_tool_that_is_listed_by_its_path_runs_when_it_is_approved(gert):
    """Its name in the runbook is another one than that of the file it was found in."""
    gert.write(tool_act=TOOL, book=(gert.root / "book.yaml").read_text().replace("[act]", "[./tools/act.tool.yaml]"))
    approve(gert, pending(gert))
    assert resume(gert)["status"] == "completed"
    assert acted(gert) == ["one"]
