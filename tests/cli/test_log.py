"""``GERT_LOG`` shows what gert logs, without secrets; without it only warnings are seen, and ``logging`` costs nothing."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

SECRET = "hunter-2-hunter-2"
KEY = "c2VjcmV0LWtleS1vZi1nZXJ0"
PLUGIN = f'''
import logging
from gert_core import hookimpl
from gert_core.api import PURE, StepType
from gert_core.kit.models import StepModel

class Model(StepModel):
    pass

def run(step, ctx):
    logging.getLogger("gert.zoo").debug("fed with %s", "{SECRET}\\x1b[2J and {KEY}")
    raise RuntimeError("{SECRET}")

@hookimpl
def gert_step_types():
    return [StepType(name="zoo", model=Model, run=run, contract=PURE, summary="Fails.")]
'''
OBSERVER = """
from gert_core import hookimpl

@hookimpl
def gert_trace_event(event):
    raise RuntimeError("no")
"""
BOOK = """
apiVersion: kernel/v0
meta: { name: logged, secrets: [{ env: ZOO_TOKEN }] }
steps:
  - { id: feed, type: zoo }
  - { id: done, type: end, outcome: { category: resolved } }
"""
END = """
apiVersion: kernel/v0
meta: { name: plain }
steps:
  - { id: done, type: end, outcome: { category: resolved } }
"""


@pytest.fixture
def program(fake_dist, tmp_path):
    """Runs gert as a program, with the fake distributions installed."""
    (tmp_path / "book.yaml").write_text(BOOK)
    (tmp_path / "end.yaml").write_text(END)

    def run(*args, **environ):
        return subprocess.run(
            [sys.executable, "-m", "gert_core", *args],
            capture_output=True,
            text=True,
            check=False,
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(fake_dist.directory), **environ},
        )

    return run


def test_debug_shows_plugins_being_loaded_and_nothing_does_by_default(program):
    assert "debug gert.plugin: loaded plugin" in program("plugins", "list", GERT_LOG="debug").stderr
    assert "gert.plugin" not in program("plugins", "list", GERT_LOG="info").stderr
    assert program("plugins", "list").stderr == ""


def test_secrets_and_keys_are_masked_and_control_characters_escaped(program, fake_dist):
    fake_dist.add("gert-step-zoo", PLUGIN)
    keys = {"ZOO_TOKEN": SECRET, "GERT_TRACE_SIGNING_KEY": KEY}
    done = program("exec", "book.yaml", GERT_LOG="debug", **keys)
    assert done.returncode == 1, done.stderr
    fed = next(line for line in done.stderr.splitlines() if line.startswith("debug gert.zoo"))
    assert fed == "debug gert.zoo: fed with <REDACTED:ZOO_TOKEN>\\u001b[2J and <REDACTED:GERT_TRACE_SIGNING_KEY>"
    assert "debug gert.engine: Traceback" in done.stderr
    assert SECRET not in done.stdout + done.stderr
    assert KEY not in done.stdout + done.stderr


@pytest.mark.parametrize("environ", [{}, {"GERT_LOG": "error"}])
def test_a_dropped_observer_is_a_warning(program, fake_dist, environ):
    fake_dist.add("gert-watch-zoo", OBSERVER)
    done = program("exec", "end.yaml", **environ)
    assert done.returncode == 0, done.stderr
    shown = "trace observer watch-zoo (gert-watch-zoo 1.0) failed and was dropped: RuntimeError('no')" in done.stderr
    assert shown is not bool(environ)


def test_another_level_is_a_usage_error(program):
    done = program("plugins", "list", GERT_LOG="loud")
    assert done.returncode == 2
    assert "GERT_LOG takes debug, info, warning, error, not 'loud'" in done.stderr


def test_a_host_keeps_its_own_settings(gert, monkeypatch):
    import logging

    logger = logging.getLogger("gert")
    before = (list(logger.handlers), logger.level)
    monkeypatch.setenv("GERT_LOG", "debug")
    assert "loaded plugin" in gert("plugins", "list")[2]
    assert (list(logger.handlers), logger.level) == before
