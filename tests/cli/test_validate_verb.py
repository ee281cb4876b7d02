"""`gert validate` as people and machines call it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from gert_core.cli import main

DATA = Path(__file__).parents[1] / "data"

GOOD = """\
apiVersion: kernel/v0
meta: {name: good}
steps:
  - {type: end, outcome: {category: resolved}}
"""
BAD = """\
apiVersion: kernel/v0
meta:
  name: bad
  inputs: {hostname: {type: string}}
steps:
  - type: manual
    instructions: "Löök at {{ .hostnam }}"
  - {type: end, outcome: {category: resolved}}
"""
WARNED = """\
apiVersion: kernel/v0
meta:
  name: warned
  secrets: [{env: GERT_TEST_ABSENT_SECRET}]
steps:
  - {type: end, outcome: {category: resolved}}
"""


class Done(NamedTuple):
    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def here(tmp_path):
    (tmp_path / "good.yaml").write_text(GOOD, encoding="utf-8")
    (tmp_path / "bad.yaml").write_text(BAD, encoding="utf-8")
    (tmp_path / "warned.yaml").write_text(WARNED, encoding="utf-8")
    return tmp_path


@pytest.fixture
def gert(here, monkeypatch, capsys):
    monkeypatch.chdir(here)

    def run(*args):
        code = main(["validate", *args])
        said = capsys.readouterr()
        return Done(code, said.out, said.err)

    return run


def test_a_valid_runbook(gert):
    done = gert("good.yaml")
    assert (done.returncode, done.stdout, done.stderr) == (0, "✓ good.yaml: runbook good, 1 step: no findings\n", "")


def test_a_wrong_runbook_shows_line_and_caret(gert):
    done = gert("bad.yaml")
    assert done.returncode == 1
    assert done.stdout.split("\n") == [
        "bad.yaml",
        "     7:31  error  `.hostnam` is not defined  [unresolved-variable]",
        '           |     instructions: "Löök at {{ .hostnam }}"',
        "           |                               ^",
        "           hint: did you mean `.hostname`?",
        "",
        "✗ bad.yaml: runbook bad, 2 steps: 1 error",
        "",
    ]


def test_several_files_are_summed_up(gert):
    done = gert("good.yaml", "bad.yaml", "warned.yaml")
    assert done.returncode == 1
    assert done.stdout.split("\n")[-6:] == [
        "✓ good.yaml: runbook good, 1 step: no findings",
        "✗ bad.yaml: runbook bad, 2 steps: 1 error",
        "✓ warned.yaml: runbook warned, 1 step: 1 warning",
        "  requires 1 secret: GERT_TEST_ABSENT_SECRET (missing)",
        "3 documents, 1 not valid: 1 error and 1 warning",
        "",
    ]


def test_strict_lets_warnings_fail(gert, here):
    idle = GOOD.replace("{name: good}", "{name: idle, on_outcome: {escalated: {a: 1}}}")
    (here / "idle.yaml").write_text(idle, encoding="utf-8")
    assert gert("idle.yaml").returncode == 0
    done = gert("idle.yaml", "--strict")
    assert done.returncode == 1
    assert "✗ idle.yaml" in done.stdout


def test_strict_does_not_count_what_depends_on_the_machine(gert):
    done = gert("warned.yaml", "--strict")
    assert (done.returncode, "[secret-missing]" in done.stdout) == (0, True)
    assert "✓ warned.yaml" in done.stdout


def test_one_file_is_an_object_several_are_a_list(gert):
    one = gert("bad.yaml", "--json")
    data = json.loads(one.stdout)
    assert one.returncode == 1
    assert (data["file"], data["kind"], data["name"], data["valid"], data["steps"]) == (
        "bad.yaml",
        "runbook",
        "bad",
        False,
        2,
    )
    assert data["diagnostics"] == [
        {
            "rule": "unresolved-variable",
            "severity": "error",
            "phase": 3,
            "message": "`.hostnam` is not defined",
            "path": "steps[0].instructions",
            "file": "bad.yaml",
            "line": 7,
            "column": 31,
            "hint": "did you mean `.hostname`?",
        }
    ]
    several = gert("good.yaml", "warned.yaml", "--json")
    data = json.loads(several.stdout)
    assert [item["valid"] for item in data] == [True, True]
    assert data[1]["secrets"] == [
        {
            "env": "GERT_TEST_ABSENT_SECRET",
            "required": True,
            "present": False,
            "needed_by": ["runbook"],
            "description": "",
        }
    ]
    assert isinstance(json.loads(gert(".", "--json").stdout), list)


def test_sarif(gert, here):
    done = gert("bad.yaml", "warned.yaml", "--sarif", "out.sarif")
    assert done.returncode == 1
    log = json.loads((here / "out.sarif").read_text(encoding="utf-8"))
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    assert run["tool"]["driver"]["name"] == "gert"
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == ["secret-missing", "unresolved-variable"]
    first, second = run["results"]
    assert rules[first["ruleIndex"]]["id"] == first["ruleId"] == "unresolved-variable"
    assert (first["level"], second["level"]) == ("error", "warning")
    place = first["locations"][0]["physicalLocation"]
    assert place == {"artifactLocation": {"uri": "bad.yaml"}, "region": {"startLine": 7, "startColumn": 31}}
    assert gert("bad.yaml", "--sarif", "no/such/dir.sarif").returncode == 2


def test_a_directory(gert, here):
    shutil.copytree(DATA / "k16", here / "sub" / "k16", ignore=shutil.ignore_patterns("scenarios"))
    (here / "sub" / "compose.yaml").write_text("services: {}\n", encoding="utf-8")
    (here / "sub" / "broken.yaml").write_text("apiVersion: kernel/v0\nmeta: [\n", encoding="utf-8")
    (here / "sub" / ".hidden").mkdir()
    (here / "sub" / ".hidden" / "bad.yaml").write_text(BAD, encoding="utf-8")
    done = gert("sub", "--json")
    files = {item["file"]: item["valid"] for item in json.loads(done.stdout)}
    base = str(Path("sub") / "k16")
    assert files == {
        str(Path("sub") / "broken.yaml"): False,
        f"{base}/runbook.yaml": True,
        f"{base}/tools/health-check.tool.yaml": True,
        f"{base}/tools/restart-service.tool.yaml": True,
    }
    (here / "empty").mkdir()
    none = gert("empty")
    assert none.returncode == 2
    assert "no documents" in none.stderr


def test_a_shared_tools_findings_are_shown_once(gert, here):
    shutil.copytree(DATA / "k16", here / "k16")
    shutil.copy(here / "k16" / "runbook.yaml", here / "k16" / "second.yaml")
    done = gert("k16/runbook.yaml", "k16/second.yaml")
    assert done.stdout.count("health-check.tool.yaml\n") == 1
    assert done.returncode == 0


def test_missing_files_and_bad_flags_are_usage_errors(gert):
    done = gert("nowhere.yaml")
    assert done.returncode == 2
    assert done.stderr.startswith("error: cannot read nowhere.yaml")
    assert "Traceback" not in done.stderr
    as_json = gert("nowhere.yaml", "--json")
    assert json.loads(as_json.stdout)["error"]["kind"] == "usage"
    assert as_json.returncode == 2
    assert gert("good.yaml", "--frobnicate").returncode == 2
    assert gert().returncode == 2


def test_the_project_decides_and_can_itself_be_validated(gert, here):
    (here / "gert-project.yaml").write_text("providers: {cmdb: {binary: x}}\n", encoding="utf-8")
    (here / "r.yaml").write_text(
        GOOD.replace("{name: good}", "{name: good, inputs: {a: {type: string, from: cmdb.x}}}"), encoding="utf-8"
    )
    assert gert("r.yaml").returncode == 0
    (here / "gert-project.yaml").write_text("nmae: x\n", encoding="utf-8")
    broken = gert("r.yaml")
    assert broken.returncode == 2
    assert "gert-project.yaml" in broken.stderr
    itself = gert("gert-project.yaml")
    assert itself.returncode == 1
    assert "[unknown-field]" in itself.stdout


def test_long_wide_and_odd_lines_keep_the_caret_in_place():
    from gert_core.api import Diagnostic
    from gert_core.cli.render.diagnostics import one

    def caret(source, column):
        lines = list(one(Diagnostic(rule="r", message="m", file="f", line=1, column=column), source))
        return lines[1][13:], lines[2].index("^") - 13

    assert caret("ab{{ .x }}", 3) == ("ab{{ .x }}", 2)
    assert caret("日本{{ .x }}", 3) == ("日本{{ .x }}", 4)
    assert caret("\ta", 2) == (" a", 1)
    assert caret("a\x1b[31mb", 7)[0] == "a [31mb"
    shown, at = caret("x" * 500 + "{{ .y }}" + "z" * 500, 501)
    assert shown[at : at + 2] == "{{"
    assert len(shown) < 120


def test_validate_needs_neither_jinja_nor_jsonschema_nor_the_engine(here):
    script = (
        "import sys\nfrom gert_core.cli import main\n"
        "try:\n    main(['validate', 'good.yaml'])\nexcept SystemExit:\n    pass\n"
        "print([m for m in sys.modules if m.split('.')[0] in ('jinja2', 'jsonschema') or m.startswith('gert_core.engine')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=here, check=False, capture_output=True, text=True, encoding="utf-8"
    )
    assert done.stdout.splitlines()[-1] == "[]", done.stdout + done.stderr


def test_two_hints_about_a_step_type_are_two_sentences(here, gert):
    text = "apiVersion: kernel/v0\nmeta: { name: b }\nsteps:\n  - { id: a, type: maual }\n"
    (here / "book.yaml").write_text(text + "  - { type: end, outcome: { category: resolved } }\n")
    done = gert("book.yaml")
    assert done.returncode == 1
    said = "hint: did you mean `manual`? A distribution that provides it would be called gert-step-maual\n"
    assert said in done.stdout
