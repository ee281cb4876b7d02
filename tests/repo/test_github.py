"""Workflows, issue forms and templates: valid, with commands, sessions and versions that exist."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys

import pytest
import yaml
from repository import ROOT, project_of

GITHUB = ROOT / ".github"
HOME = "https://github.com/gert-project/gert"
WORKFLOWS = sorted(GITHUB.glob("workflows/*.yml"))
FORMS = [GITHUB / "ISSUE_TEMPLATE" / name for name in ("bug.yml", "idea.yml")]
PAGES = [ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *sorted(GITHUB.rglob("*.md"))]


def load(file):
    return yaml.safe_load(file.read_text(encoding="utf-8"))


def jobs(file):
    return load(file)["jobs"]


def commands(file):
    return [step["run"] for job in jobs(file).values() for step in job.get("steps", []) if "run" in step]


@pytest.fixture(scope="module")
def sessions():
    done = subprocess.run([sys.executable, "-m", "nox", "-l"], cwd=ROOT, capture_output=True, text=True, check=True)
    return set(re.findall(r"^[*-] (\w+)", done.stdout, re.MULTILINE))


def sessions_named(text):
    """The sessions that commands ask for: ``nox -s NAME...``, up to the arguments of the sessions themselves."""
    for found in re.findall(r"\bnox -s ([^`\n]*)", text):
        for word in shlex.split(found.replace("${", "").replace("}", "")):
            if word in {"--", "&&", "|"}:
                break
            yield word


def test_there_are_checks_and_a_release():
    assert [file.name for file in WORKFLOWS] == ["checks.yml", "release.yml"]


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda f: f.name)
def test_a_workflow_is_one(file):
    data = load(file)
    # YAML 1.1 reads the key `on` as true.
    assert set(data) <= {"name", True, "permissions", "concurrency", "jobs"}
    assert data["permissions"] == {"contents": "read"}, "what a job needs beyond that, it asks for itself"
    for job in data["jobs"].values():
        assert job.get("uses") or (job["runs-on"] and job["steps"])
        needs = job.get("needs", [])
        assert set([needs] if isinstance(needs, str) else needs) <= set(data["jobs"])
        for step in [job, *job.get("steps", [])]:
            assert "uses" in step or "run" in step or step is job
            used = step.get("uses", "")
            assert not used.startswith("./") or (ROOT / used).exists()
            assert not used or used.startswith("./") or re.fullmatch(r"[\w-]+/[\w.-]+@[\w./-]+", used), used


@pytest.mark.parametrize("file", [*WORKFLOWS, ROOT / "CONTRIBUTING.md", ROOT / "README.md"], ids=lambda f: f.name)
def test_the_sessions_that_are_named_exist(file, sessions):
    named = set(sessions_named(file.read_text(encoding="utf-8")))
    assert named
    assert named <= sessions


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda f: f.name)
def test_commands_of_workflows_are_those_of_the_readme(file):
    """CI sets up as everybody does and runs sessions, so that what fails there can be run here."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for command in commands(file):
        if command.startswith("python3"):
            assert f"{command} && .venv/bin/nox\n" in readme
        else:
            assert command == ".ci/run" or command.startswith(".venv/bin/nox -s ")
    assert (ROOT / ".ci" / "run").exists()


def test_every_python_we_claim_is_checked():
    everything, newer = jobs(GITHUB / "workflows" / "checks.yml").values()
    first = everything["steps"][1]["with"]["python-version"]
    assert everything["steps"][-1]["run"] == ".ci/run"
    classifiers = project_of(ROOT)["project"]["classifiers"]
    claimed = [c.rpartition(" ")[2] for c in classifiers if c.startswith("Programming Language :: Python :: 3.")]
    assert [first, *newer["strategy"]["matrix"]["python"]] == claimed


def test_nothing_is_published_unchecked():
    found = jobs(GITHUB / "workflows" / "release.yml")
    assert found["checks"]["uses"] == "./.github/workflows/checks.yml"
    assert "workflow_call" in load(GITHUB / "workflows" / "checks.yml")[True]
    assert (found["build"]["needs"], found["publish"]["needs"]) == ("checks", "build")
    told = " ".join(commands(GITHUB / "workflows" / "release.yml"))
    assert told.index("release -- --check") < told.index("-s dist")
    assert found["publish"]["permissions"] == {"id-token": "write"}


@pytest.mark.parametrize("file", FORMS, ids=lambda f: f.name)
def test_an_issue_form_is_one(file):
    form = load(file)
    assert form["name"]
    assert form["description"]
    fields = [field for field in form["body"] if field["type"] != "markdown"]
    assert {field["type"] for field in fields} <= {"textarea", "input", "dropdown", "checkboxes"}
    identifiers = [field["id"] for field in fields]
    assert len(set(identifiers)) == len(identifiers)
    assert all(field["attributes"]["label"] for field in fields)
    assert all(field["attributes"]["options"] for field in fields if field["type"] == "dropdown")


def test_commands_that_issue_forms_ask_for_exist():
    from gert_core.cli.commands.completion import entries

    paths = {entry.path for entry in entries()}
    for file in FORMS:
        for command in re.findall(r"`gert ([a-z ]+)`", file.read_text(encoding="utf-8")):
            assert command in paths, command


def test_links_of_pages_and_forms_lead_somewhere():
    contacts = load(GITHUB / "ISSUE_TEMPLATE" / "config.yml")["contact_links"]
    addresses = [link["url"] for link in contacts]
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        assert not re.search(r"/tmp/|/work/|/root/|/home/", text), page
        addresses += re.findall(r"https?://[^\s)>\"]+", text)
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
            assert (page.parent / target).exists(), f"{page}: {target}"
    assert all(address.startswith(HOME) for address in addresses), addresses
    for address in addresses:
        found = re.fullmatch(rf"{HOME}/(?:blob|tree)/main/(.+)", address)
        assert not found or (ROOT / found[1]).exists(), address
