"""Every workspace member has the same shape, so that each can live alone."""

from __future__ import annotations

import re

import pytest
from repository import ROOT, member_directories, project_of

LIBRARIES = {"gert-http", "gert-jsonrpc"}
BUNDLE = "gert"
APART = {
    "gert-approval-http",
    "gert-approval-slack",
    "gert-approval-teams",
    "gert-mcp",
    "gert-notify-pagerduty",
    "gert-notify-slack",
    "gert-notify-webhook",
    "gert-store-postgres",
    "gert-transport-mcp",
    "gert-tui",
    "gert-web",
}
"""Plugins that need more than most people have; extras of the bundle bring them."""
SURFACES = {"gert-mcp", "gert-outcomes", "gert-tui", "gert-watch", "gert-web"}
"""Plugins that are a command, and called after it."""
PROGRAMS = {"gert-mcp", "gert-tui", "gert-web"}
"""Surfaces that are also a program of their own."""
KINDS = "step|store|transport|approval|input|signature|notify|policy|tools|command"

CORE_PROJECT = project_of(ROOT)["project"]
VERSION = CORE_PROJECT["version"]
MAJOR, MINOR, _ = VERSION.split(".")
BOUNDS = f">={MAJOR}.{MINOR},<{MAJOR}.{int(MINOR) + 1}"
HOME = "https://github.com/gert-project/gert"
# What a page of a package index shows, the same for the core and every member.
SHOWN = ("requires-python", "license", "license-files", "authors", "classifiers")
KEYS = ["name", "version", "description", "readme", *SHOWN, "dependencies", "urls"]
OPTIONAL = {"entry-points", "optional-dependencies", "scripts"}

distributions = pytest.mark.parametrize("directory", [ROOT, *member_directories()], ids=lambda d: d.name)
members = pytest.mark.parametrize("directory", member_directories(), ids=lambda d: d.name)


@members
def test_a_member_is_called_after_its_directory_by_the_naming_rule(directory):
    name = project_of(directory)["project"]["name"]
    assert name == directory.name
    assert name in LIBRARIES | SURFACES | {BUNDLE} or re.fullmatch(rf"gert-({KINDS})-[a-z0-9-]+", name)


@members
def test_a_members_project_table_has_the_agreed_keys_in_order(directory):
    data = project_of(directory)
    assert list(data) == ["build-system", "project", "tool"]
    assert data["build-system"] == project_of(ROOT)["build-system"]
    assert data["project"]["version"] == VERSION


@distributions
def test_a_distribution_says_whose_it_is_and_where_it_belongs(directory):
    project = project_of(directory)["project"]
    assert [key for key in project if key not in OPTIONAL] == KEYS
    assert {key: project[key] for key in SHOWN} == {key: CORE_PROJECT[key] for key in SHOWN}
    assert project["description"].endswith(".")
    sources = "gert_core" if directory == ROOT else directory.relative_to(ROOT).as_posix()
    assert project["urls"] == {
        "Homepage": HOME,
        "Documentation": f"{HOME}/tree/main/docs",
        "Source": f"{HOME}/tree/main/{sources}",
        "Issues": f"{HOME}/issues",
        "Changelog": f"{HOME}/blob/main/CHANGELOG.md",
    }
    # A wheel holds the licence of its own directory: a glob cannot leave it.
    assert (directory / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_the_core_says_who_wrote_it_under_which_licence_and_where_it_works():
    assert CORE_PROJECT["authors"] == [{"name": "The gert authors"}]
    assert (CORE_PROJECT["license"], CORE_PROJECT["license-files"]) == ("MIT", ["LICENSE"])
    versions = [c.rpartition(" ")[2] for c in CORE_PROJECT["classifiers"] if " :: Python :: 3." in c]
    assert versions == ["3.11", "3.12", "3.13", "3.14"]
    assert CORE_PROJECT["requires-python"] == f">={versions[0]}"
    assert "Operating System :: POSIX" in CORE_PROJECT["classifiers"]


@members
def test_a_members_dependencies_on_gert_are_bounded_and_come_from_the_workspace(directory):
    data = project_of(directory)
    ours = [d for d in data["project"]["dependencies"] if d.startswith("gert")]
    if directory.name == BUNDLE:
        assert data["project"]["dependencies"] == [f"gert-core[standard]=={VERSION}"]
    else:
        assert all(re.fullmatch(rf"gert-[a-z0-9-]+{re.escape(BOUNDS)}", d) for d in ours), ours
        assert directory.name in LIBRARIES or f"gert-core{BOUNDS}" in ours
    extra = [d for group in data["project"].get("optional-dependencies", {}).values() for d in group]
    ours += [d for d in extra if d.startswith("gert")]
    assert all(re.fullmatch(rf"gert-[a-z0-9-]+{re.escape(BOUNDS)}", d) for d in ours if directory.name != BUNDLE), ours
    sources = data["tool"].get("uv", {}).get("sources", {})
    assert sources == {re.match(r"[a-z0-9-]+", d)[0]: {"workspace": True} for d in ours}


@members
def test_every_dependency_of_a_member_has_a_lower_bound(directory):
    assert all(re.search(r">=|==", d) for d in project_of(directory)["project"]["dependencies"])


@members
def test_only_the_bundle_brings_the_core_s_command_again(directory):
    """Installers of applications offer the commands of what was asked for, not those of its dependencies.

    Some surfaces have one of their own, called after them.
    """
    own = {directory.name: f"{directory.name.replace('-', '_')}.script:main"} if directory.name in PROGRAMS else None
    expected = CORE_PROJECT["scripts"] if directory.name == BUNDLE else own
    assert project_of(directory)["project"].get("scripts") == expected


@members
def test_a_plugin_has_one_entry_point_named_after_it(directory):
    points = project_of(directory)["project"].get("entry-points", {})
    if directory.name in LIBRARIES | {BUNDLE}:
        assert points == {}
        return
    package = directory.name.replace("-", "_")
    assert points == {"gert.v0": {directory.name.removeprefix("gert-"): package}}


@members
def test_a_member_has_a_readme_types_and_tests(directory):
    assert (directory / "README.md").read_text(encoding="utf-8").startswith(f"# {directory.name}\n")
    if directory.name == BUNDLE:
        return
    assert (directory / "src" / directory.name.replace("-", "_") / "py.typed").exists()
    assert list((directory / "tests").glob("test_*.py")), "a member without tests proves nothing"


def test_the_core_states_lower_bounds_and_the_version_it_has():
    from gert_core import __version__

    assert __version__ == VERSION
    assert all(">=" in d for d in CORE_PROJECT["dependencies"])


def test_the_standard_extra_holds_every_standard_plugin():
    standard = CORE_PROJECT["optional-dependencies"]["standard"]
    plugins = [d.name for d in member_directories() if d.parent.name == "plugins"]
    expected = [f"{name}{BOUNDS}" for name in plugins if name not in LIBRARIES | {BUNDLE} | APART]
    assert standard == sorted(expected)
    assert set(project_of(ROOT)["tool"]["uv"]["sources"]) >= {re.match(r"[a-z0-9-]+", d)[0] for d in standard}


def test_requirements_dev_lists_exactly_the_members():
    lines = (ROOT / "requirements-dev.txt").read_text(encoding="utf-8").splitlines()
    editable = [line.removeprefix("-e ") for line in lines if line.startswith("-e ")]
    members_ = [f"./{d.relative_to(ROOT)}" for d in member_directories()]
    assert editable[0] == ".[testing]"
    assert sorted(editable[1:]) == sorted(members_)
