"""What newcomers meet first: contributing, security, installation, editors and hooks say what is true."""

from __future__ import annotations

import configparser
import os
import re
import shutil
import sys
from fnmatch import fnmatch

import pytest
import yaml
from pages import Session, blocks
from repository import ROOT, checkout_files, copy_checkout, member_directories, project_of

INSTALL = ROOT / "docs" / "how-to" / "install.md"
CONTRIBUTING = ROOT / "CONTRIBUTING.md"
HOOKS = ROOT / ".pre-commit-config.yaml"


def read(file):
    return file.read_text(encoding="utf-8")


@pytest.fixture
def checkout(tmp_path):
    """A shell in a copy of the checkout, with the environment that runs this test as its ``.venv``."""
    session = Session(tmp_path)
    session.cwd = copy_checkout(session.work / "gert")
    (session.cwd / ".venv").symlink_to(sys.prefix)
    session.environ["PYTHONPATH"] = f"{session.cwd}{os.pathsep}{session.environ['PYTHONPATH']}"
    return session


def test_what_contributing_says_works(checkout):
    for block in blocks(CONTRIBUTING):
        if block.language == "console":
            checkout.play(block)


def test_a_plugin_added_by_the_book_becomes_a_member(checkout):
    """Contributing's steps, with the edits it describes in words."""
    (steps,) = (b for b in blocks(CONTRIBUTING) if "gert new plugin" in b.text)
    checkout.play(steps)
    root = checkout.cwd
    for name in ("requirements-dev.txt", "pyproject.toml"):
        lines = read(root / name).splitlines()
        added = [(n, line) for n, line in enumerate(lines) if "gert-step-parallel" in line]
        for number, line in reversed(added):
            lines.insert(number + 1, line.replace("step-parallel", "step-pause"))
        (root / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    said = checkout.run_command(".venv/bin/pytest tests/repo/test_members.py")
    assert checkout.status == 0, said


def test_setting_up_is_the_same_everywhere():
    second = next(line for line in read(ROOT / "README.md").splitlines() if line.endswith("&& .venv/bin/nox"))
    (first, *_) = (b.text for b in blocks(CONTRIBUTING) if b.language == "sh")
    assert first.strip() == second.removesuffix(" && .venv/bin/nox")


def test_the_install_page_names_distributions_that_exist():
    ours = {d.name: set(project_of(d)["project"].get("optional-dependencies", {})) for d in member_directories()}
    ours["gert-core"] = set(project_of(ROOT)["project"]["optional-dependencies"])
    ours["gert-policy-acme"] = set()  # somebody else's
    named = re.findall(r"(?<![\w/@])(gert(?:-[a-z0-9]+)*)(?:\[([a-z]+)\])?(?=[\s\"`])", install_commands())
    assert {name for name, _ in named} >= {"gert", "gert-core", "gert-step-tool", "gert-policy-acme"}
    for name, extra in named:
        assert name in ours, name
        assert not extra or extra in ours[name], f"{name}[{extra}]"
    for path, extra in re.findall(r'"(plugins/[a-z-]+)\[([a-z]+)\]"', read(INSTALL)):
        assert extra in ours[(ROOT / path).name]


def install_commands():
    text = read(INSTALL)
    return "\n".join(
        [*re.findall(r"^.*\binstall .*$|^\| `gert.*$", text, re.MULTILINE), *re.findall(r"`[^`\n]+`", text)]
    )


def test_the_install_page_says_whether_there_is_a_release():
    released = re.search(r"^## \d+\.\d+\.\d+ \(", read(ROOT / "CHANGELOG.md"), re.MULTILINE)
    assert ("not on the package index yet" in read(INSTALL)) == (released is None)


def test_every_file_is_as_the_editor_settings_say():
    settings = configparser.ConfigParser()
    settings.read_string("[top]\n" + read(ROOT / ".editorconfig"))
    assert settings["top"]["root"] == "true"
    everywhere = settings["*"]
    assert everywhere["charset"] == "utf-8"
    wrong = []
    # Data of tests is kept as it was written: the trace of a run that was killed ends in the middle of a line.
    data = ROOT / "tests" / "data"
    files = [f for f in checkout_files() if f.suffix not in {".pyc", ".png"} and not f.is_relative_to(data)]
    assert len(files) > 400
    for file in files:
        text = file.read_bytes().decode("utf-8")
        if ("\r" in text) or (text and not text.endswith("\n")) or re.search(r"[ \t]$", text, re.MULTILINE):
            wrong.append(file.relative_to(ROOT).as_posix())
    assert not wrong
    # Every further section is about files there are.
    for section in set(settings.sections()) - {"top", "*"}:
        names = [f"*.{end}" for end in section.removeprefix("*.").strip("{}").split(",")]
        assert all(any(fnmatch(f.name, name) for f in files) for name in names), section
    assert settings["*.py"]["max_line_length"] == str(project_of(ROOT)["tool"]["ruff"]["line-length"])


def test_hooks_use_the_development_environment():
    config = yaml.safe_load(read(HOOKS))
    assert [repo["repo"] for repo in config["repos"]] == ["local"], "a pinned copy would disagree with nox one day"
    hooks = config["repos"][0]["hooks"]
    assert {hook["language"] for hook in hooks} == {"system"}
    assert all(hook["entry"].startswith(".venv/bin/") for hook in hooks)
    assert {stage for hook in hooks for stage in hook["stages"]} == set(config["default_install_hook_types"])


if shutil.which("git"):

    def test_hooks_find_what_they_are_for(checkout):
        """A commit of a badly written module is refused, and one of what is here is not."""
        root = checkout.cwd
        (root / ".gitignore").write_text(".venv\n", encoding="utf-8")
        quiet = {"GIT_CONFIG_GLOBAL": os.devnull, "PRE_COMMIT_HOME": str(checkout.home / "pre-commit")}
        identity = {
            f"GIT_{who}_{what}": "x@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
        }
        checkout.environ |= {**quiet, **identity}

        def run(command, *, ok=True):
            said = checkout.run_command(command)
            assert (checkout.status == 0) is ok, said
            return said

        run("git init -q . && git add -A . && git commit -q -m x")
        run(".venv/bin/pre-commit install")
        with (root / "noxfile.py").open("a", encoding="utf-8") as file:
            file.write("print(nowhere)\n")
        assert "F821" in run("git commit -q -a -m 'Print nothing'", ok=False)
        run("git checkout -q noxfile.py")
        with (root / "noxfile.py").open("a", encoding="utf-8") as file:
            file.write("\n\n# The end.\n")
        said = run("git commit -a -m 'Say that it ends'")
        assert re.search(r"ruff check\.+Passed", said)
