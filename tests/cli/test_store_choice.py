"""Which store a command uses: ``--store``, ``GERT_STORE``, the project file, else the directory of runs."""

from __future__ import annotations

import json
import sqlite3

import pytest

from gert_core import host
from gert_core.hosting import asking

BOOK = """\
apiVersion: kernel/v0
meta:
  name: a
steps:
  - id: check
    type: assert
    assert:
      - {type: equals, value: "1", expected: "1"}
  - id: done
    type: end
    outcome: {category: resolved, code: ok}
"""


@pytest.fixture
def book(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GERT_STORE", raising=False)
    (tmp_path / "a.runbook.yaml").write_text(BOOK)
    return "a.runbook.yaml"


def first(gert, *options):
    """The first event of the latest run."""
    code, out, _ = gert("runs", "tail", "latest", "--json", *options)
    assert code == 0
    return json.loads(out.splitlines()[0])


def ids(gert, *options):
    return gert("runs", "list", "--ids", *options)[1].split()


def test_store_option_then_variable_then_project_then_directory(gert, book, tmp_path, monkeypatch):
    assert gert("exec", book)[0] == 0
    (tmp_path / "gert-project.yaml").write_text("store: sqlite:project.db\n")
    assert gert("exec", book)[0] == 0
    monkeypatch.setenv("GERT_STORE", "sqlite:variable.db")
    assert gert("exec", book)[0] == 0
    assert gert("exec", book, "--store", "sqlite:option.db")[0] == 0
    assert gert("exec", book, "--store", "file:other")[0] == 0
    places = [ids(gert, "--store", url) for url in ("file:runs", "sqlite:project.db", "sqlite:option.db", "file:other")]
    assert [len(found) for found in places] == [1, 1, 1, 1]
    assert ids(gert) == ids(gert, "--store", "sqlite:variable.db")
    monkeypatch.delenv("GERT_STORE")
    assert ids(gert) == places[1]
    assert len({found[0] for found in places} | set(ids(gert, "--store", "sqlite:variable.db"))) == 5


def test_paths_of_stores_begin_at_the_projects_root(gert, book, tmp_path, monkeypatch):
    (tmp_path / "gert-project.yaml").write_text("store: sqlite:kept/project.db\n")
    below = tmp_path / "below"
    below.mkdir()
    (tmp_path / "kept").mkdir()
    monkeypatch.chdir(below)
    assert gert("exec", f"../{book}")[0] == 0
    assert gert("exec", f"../{book}", "--store", "file:kept/runs")[0] == 0
    assert (tmp_path / "kept" / "project.db").is_file()
    assert len(list((tmp_path / "kept" / "runs").iterdir())) >= 1


def test_the_first_event_says_where_a_run_is_kept(gert, book, tmp_path):
    gert("exec", book, "--store", "sqlite:x.db")
    data = first(gert, "--store", "sqlite:x.db")["data"]
    assert (data["store"], data["run_directory"]) == (f"sqlite:{tmp_path}/x.db", None)
    gert("exec", book)
    data = first(gert)["data"]
    assert "store" not in data
    assert data["run_directory"].startswith(f"{tmp_path}/runs/")


@pytest.mark.parametrize("verb", [("exec", "a.runbook.yaml"), ("runs", "list"), ("resume", "latest"), ("approve", "t")])
def test_an_unknown_scheme_names_the_distribution(gert, book, verb):
    code, _, err = gert(*verb, "--store", "acme://x")
    assert code == 3
    assert err == (
        "error: no installed plugin provides run store 'acme'\n"
        "  hint: a distribution that provides it would be called gert-store-acme\n"
    )


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("x.db", "--store 'x.db' is not the address of a store: it has no scheme; write it as file:PATH"),
        ("u:pw@h", "--store 'u:pw@h' is not"),
        ("file:", "--store 'file:' names no directory"),
        ("sqlite:", "sqlite: names no file"),
    ],
)
def test_an_address_that_is_wrong_is_refused(gert, book, url, said):
    code, _, err = gert("runs", "list", "--store", url)
    assert (code, said in err) in {(2, True), (3, False)}, err
    assert code == 3 or said in err


def test_a_store_that_is_away_is_refused_without_its_password(gert, book):
    code, out, _ = gert("exec", book, "--store", "postgres://u:hunter22@127.0.0.1:1/db", "--json")
    error = json.loads(out)["error"]
    assert (code, error["kind"]) == (2, "store_unavailable")
    assert error["message"] == "postgres://u@127.0.0.1:1/db cannot be reached: Connection refused"


def test_a_password_in_the_project_file_is_refused(gert, book, tmp_path):
    (tmp_path / "gert-project.yaml").write_text("store: postgres://u:hunter22@h/db\n")
    for verb in (("exec", book), ("runs", "list"), ("validate", "gert-project.yaml")):
        code, out, err = gert(*verb)
        assert code == (1 if verb[0] == "validate" else 2)
        assert "store-credentials" in out + err
        assert "hunter22" not in out + err


def test_a_trace_elsewhere_is_for_directories(gert, book):
    code, _, err = gert("exec", book, "--store", "sqlite:x.db", "--trace", "t.jsonl")
    assert code == 2
    assert "--trace is for runs in directories, and this one would be kept in sqlite:" in err
    assert gert("exec", book, "--store", "file:elsewhere", "--trace", "t.jsonl")[0] == 0


TOOL = """\
apiVersion: tool/v0
meta: {name: env, transport: stdio, binary: sh}
actions:
  show:
    argv: [sh, "-c", "echo store=$GERT_STORE word=hunter22"]
    contract: {effects: [network], writes: []}
"""

TOOL_BOOK = """\
apiVersion: kernel/v0
meta:
  name: env
tools: [env]
steps:
  - {id: show, type: tool, tool: env, action: show}
  - {id: done, type: end, outcome: {category: resolved, code: ok}}
"""


@pytest.mark.parametrize("by", ["variable", "option"])
def test_tools_do_not_get_the_address_and_its_password_is_masked(gert, book, tmp_path, monkeypatch, by):
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "env.tool.yaml").write_text(TOOL)
    (tmp_path / "env.runbook.yaml").write_text(TOOL_BOOK)
    # SQLite has no use for it; the rules for addresses are the same for all.
    url = "sqlite:x.db?password=hunter22"
    if by == "variable":
        monkeypatch.setenv("GERT_STORE", url)
    code, out, err = gert("exec", "env.runbook.yaml", *(("--store", url) if by == "option" else ()))
    assert code == 0, (out, err)
    lines = b"\n".join(
        row[0] for row in sqlite3.connect(tmp_path / "x.db?password=hunter22").execute("SELECT line FROM gert_events")
    )
    assert b"store= word=<REDACTED:GERT_STORE>" in lines
    assert b"hunter22" not in lines


def test_hosts_name_a_store_by_its_address_or_give_it(book, tmp_path, monkeypatch):
    ran = host.run(book, store="sqlite:x.db")
    assert asking.status(ran.run_id, store="sqlite:x.db").status == "completed"
    assert [event.type for event in asking.stream(ran.run_id, store="sqlite:x.db")][-1] == "run_complete"
    monkeypatch.setenv("GERT_STORE", "sqlite:x.db")
    assert asking.status(ran.run_id).status == "completed"
    other = host.run(book)
    assert asking.progress(other.run_id).percent == 100
    assert asking.active() == []
    kept = host.run(book, store="file:runs")
    assert asking.status(kept.run_id, root=tmp_path / "runs").status == "completed"


GATE = """\
apiVersion: kernel/v0
meta: {name: gate}
steps:
  - {id: sure, type: manual, instructions: Pull the plug.}
  - {id: done, type: end, outcome: {category: resolved, code: ok}}
"""


def test_hosts_answer_and_resume_in_a_store(book, tmp_path):
    (tmp_path / "gate.runbook.yaml").write_text(GATE)
    url = "sqlite:x.db?password=hunter22"
    ran = host.run("gate.runbook.yaml", store=url, questions="suspend")
    assert host.answer(ran.run_id, "sure", {"confirm": "yes"}, store=url, by="ann") == []
    assert host.resume(ran.run_id, store=url).status == "completed"
