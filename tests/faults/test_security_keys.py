"""Keys and secrets: no tool, trace, error or crash shows one, whole or in part."""

from __future__ import annotations

import base64
import json
import os

import pytest
from gertproc import Gert

from gert_core.api import RunError
from gert_core.cli.errors import report_exception
from gert_core.plugin.registry import Registry
from gert_core.secrets import Masker
from gert_core.testing import GertRunner

KEY = base64.b64encode(b"the-signing-key-of-this-very-test").decode()
KEYS = {
    "GERT_TRACE_SIGNING_KEY": KEY,
    "GERT_TRACE_VERIFY_KEY_PROD": KEY[::-1].strip("=") + "A",
    "GERT_APPROVAL_SIGNING_KEY": base64.b64encode(b"approval-signing-key").decode(),
    "GERT_APPROVAL_VERIFY_KEY_ANN": base64.b64encode(b"approval-verify-key").decode(),
}
SECRET = "s3cr3t-" + "0123456789abcdef" * 4
TOOL = """\
apiVersion: tool/v0
meta: {name: spy, transport: stdio, binary: sh}
secrets: [{env: SPY_TOKEN}]
contract: {inputs: {script: {type: string}}, effects: [host], writes: []}
actions: {run: {argv: [sh, -c, "{{ .script }}"]}}
"""
BOOK = """\
apiVersion: kernel/v0
meta: {name: keys, inputs: {script: {type: string}}}
tools: [spy]
steps:
  - {id: spy, type: tool, tool: spy, inputs: {script: "{{ .script }}"}}
  - {type: end, outcome: {category: resolved, code: done}}
"""


@pytest.mark.parametrize("debug", ["", "1"])
def test_no_tool_trace_or_message_shows_a_key(tmp_path, debug):
    """A tool that prints its environment and fails finds no key of gert there, and nothing that is written has one."""
    gert = Gert(tmp_path, **KEYS, SPY_TOKEN=SECRET, GERT_DEBUG=debug)
    gert.write(tool_spy=TOOL, book=BOOK)
    said = gert("exec", "book.yaml", "--var", "script=env | tee env; cat /proc/self/environ; exit 3")
    assert said.code == 1
    seen = (tmp_path / "env").read_text()
    assert SECRET in seen, "its own secret is there"
    assert not [name for name in KEYS if name in seen]
    trace = (gert.run() / "trace.jsonl").read_text()
    for name, key in KEYS.items():
        assert key not in seen + trace + said.all, name
    assert SECRET not in trace + said.all
    assert "<REDACTED:SPY_TOKEN>" in trace


@pytest.mark.parametrize("debug", ["", "1"])
@pytest.mark.parametrize("kind", ["expected", "unexpected"])
def test_a_crash_shows_neither_keys_nor_secrets(monkeypatch, capsys, debug, kind):
    """Whatever ends a command, with GERT_DEBUG=1 and a full traceback too, keys and the run's secrets are hidden."""
    for name, key in KEYS.items():
        monkeypatch.setenv(name, key)
    monkeypatch.setenv("GERT_DEBUG", debug)
    text = f"cannot use {KEY} with {SECRET}"
    error = RunError(text) if kind == "expected" else ValueError(text)
    error.__cause__ = KeyError(f"{KEY} {SECRET}")
    error.mask = Masker({"SPY_TOKEN": SECRET}).mask_text
    assert report_exception(error, as_json=False) == 1
    said = capsys.readouterr()
    assert KEY not in said.out + said.err
    assert SECRET not in said.out + said.err
    assert "<REDACTED:GERT_TRACE_SIGNING_KEY>" in said.err
    assert ("direct cause" in said.err) == bool(debug)


BROKEN_STEP = """\
from gert_core import hookimpl
from gert_core.api import PURE, StepType
from gert_core.kit.models import StepModel

class Model(StepModel):
    text: str

def run(step, ctx):
    raise RuntimeError("found " + step.text)

@hookimpl
def gert_step_types():
    return [StepType(name="broken", model=Model, run=run, contract=PURE, summary="Fails.")]
"""


def test_the_traceback_of_a_plugin_is_masked(tmp_path, fake_dist, caplog):
    """GERT_DEBUG=1 shows where a plugin failed, and not the secret it failed with."""
    fake_dist.directory.joinpath("broken_step.py").write_text(BROKEN_STEP)
    import broken_step

    gert = GertRunner(directory=tmp_path, registry=Registry.build(extra_plugins=[broken_step]))
    gert.environ = {"SPY_TOKEN": SECRET, "GERT_DEBUG": "1"}
    ran = gert(
        "apiVersion: kernel/v0\n"
        "meta: {name: x, secrets: [{env: SPY_TOKEN}], inputs: {t: {type: string}}}\n"
        "steps: [{type: broken, text: '{{ .t }}'}, {type: end, outcome: {category: resolved, code: x}}]\n",
        inputs={"t": SECRET},
    )
    assert "RuntimeError" in caplog.text
    assert SECRET not in caplog.text
    assert SECRET not in ran.result.trace.read_text()
    assert ran.result.failures[0].kind == "plugin_failed"


@pytest.mark.parametrize(
    "script",
    [
        # The end of what a failing tool printed is kept: the cut goes through the middle of the secret.
        f"printf '%s' \"$SPY_TOKEN\"; head -c {16 * 1024 - 30} /dev/zero | tr '\\0' x; exit 3",
        # The last line of standard error is shown, shortened to 200 characters.
        'printf "%0180d%s" 0 "$SPY_TOKEN" >&2; exit 3',
    ],
)
def test_no_piece_of_a_secret_survives_being_shortened(tmp_path, script):
    """Excerpts are cut somewhere; eight characters of a secret that a cut leaves over are hidden as well."""
    gert = GertRunner(directory=tmp_path, registry=Registry.build())
    gert.environ = {"SPY_TOKEN": SECRET, "PATH": os.environ["PATH"]}
    ran = gert(BOOK, files={"tools/spy.tool.yaml": TOOL}, inputs={"script": script})
    assert ran.status in ("failed", "error")
    told = json.dumps([dict(e.data) for e in ran.events if e.type != "run_start" and e.type != "step_start"])
    told += "".join(f.message for f in ran.result.failures)
    pieces = [SECRET[i : i + 8] for i in range(len(SECRET) - 7)]
    assert not [piece for piece in pieces if piece in told]
    assert "<REDACTED" in told


def test_hiding_pieces_leaves_whole_values_to_the_mask():
    """Pieces are hidden for good; whole values keep the mask that a resumed run can undo."""
    masker = Masker({"A": "abcdefghijkl", "B": "xyz1"})
    hidden = masker.mask_fragments("whole abcdefghijkl, cut abcdefghi…, …efghijkl, xyz and abcdefg, then abcd")
    assert hidden == "whole abcdefghijkl, cut <REDACTED>…, …<REDACTED>, xyz and abcdefg, then <REDACTED>"
    assert masker.mask_text(hidden).startswith("whole <REDACTED:A>, cut <REDACTED>")
    strange = Masker({"R": "<REDACTED><REDACTED>"})
    assert strange.mask_fragments("a <REDACTED><REDA b") == "a <REDACTED> b"


@pytest.mark.parametrize("fragment", ["abcdefghi", "efghijkl"], ids=["beginning of the secret", "end of the secret"])
def test_a_fragment_at_the_very_start_of_a_message_is_masked(fragment):
    masker = Masker({"A": "abcdefghijkl"})
    assert masker.mask_fragments(f"{fragment} was refused") == "<REDACTED> was refused"
    assert masker.mask_fragments(fragment) == "<REDACTED>"
