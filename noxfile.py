"""The sessions of the project: `nox` runs those that matter for correctness, `nox -l` lists all.

Run nox from the development environment (README): sessions that need no wheel use that environment itself; the others
build wheels and try them in environments of their own.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import nox
from nox.command import CommandFailed

ROOT = Path(__file__).parent
WHEELS = ROOT / ".nox" / "wheels"
CONSTRAINTS = WHEELS / "constraints.txt"
CHECKED = [
    "gert_core",
    "docs",
    "noxfile.py",
    "scripts",
    *(str(p) for d in ("plugins", "tool_packs") for p in sorted(Path(d).glob("*/src"))),
]

nox.needs_version = ">=2024.4"
nox.options.default_venv_backend = "uv|virtualenv"
nox.options.error_on_missing_interpreters = True
# The whole suite comes last, so that its closing lines are the last thing to read.
nox.options.sessions = [
    "lint",
    "types",
    "docs",
    "readme",
    "bare",
    "isolated",
    "third_party",
    "bundle",
    "lowest",
    "smoke",
    "tests",
]


def _share_pip_settings() -> None:
    """Let uv use the package index that pip is configured for."""
    if {"UV_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX"} & set(os.environ):
        return
    asked = subprocess.run(
        [sys.executable, "-m", "pip", "config", "get", "global.index-url"], capture_output=True, text=True, check=False
    )
    index = os.environ.get("PIP_INDEX_URL") or asked.stdout.strip()
    if index:
        os.environ["UV_DEFAULT_INDEX"] = index


_share_pip_settings()
# The suite starts gert thousands of times; where compiled modules may not be kept, each start compiles them all again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


# -- in the development environment -----------------------------------------------------------------------------


@nox.session(venv_backend="none")
def tests(session: nox.Session) -> None:
    """Core, command line, whole runs, faults, the repository's promises; `isolated` runs the tests of the members."""
    workers = (os.cpu_count() or 1) + 1  # one more than processors: tests wait for what they start much of the time
    pytest = [sys.executable, "-m", "pytest"]
    try:
        session.run(*pytest, "--cache-clear", "-n", str(workers), *(session.posargs or ["tests"]))
    except CommandFailed:
        failed = _last_failed(ROOT / ".pytest_cache")
        if session.posargs or not 0 < len(failed) <= _FEW:
            raise
        # Thousands of tests start real processes on a busy machine. Few that fail there get a second try one by one;
        # they are named either way, since a test that passes the second time is a fault of the test or a race in gert.
        session.warn(f"failed the first time, tried once more alone: {', '.join(failed)}")
        session.run(*pytest, "--last-failed", *failed)


@nox.session(venv_backend="none")
def lint(session: nox.Session) -> None:
    """Style and formatting."""
    session.run(sys.executable, "-m", "ruff", "check", ".")
    session.run(sys.executable, "-m", "ruff", "format", "--check", ".")


@nox.session(venv_backend="none")
def types(session: nox.Session) -> None:
    """Types, strictly."""
    session.run(sys.executable, "-m", "mypy", *CHECKED)


@nox.session(venv_backend="none")
def docs(session: nox.Session) -> None:
    """The generated reference pages are up to date, and the site builds without a warning or a dead link."""
    session.run(sys.executable, "docs/generate.py", "--check")
    quiet = {"NO_MKDOCS_2_WARNING": "1"}  # an advertisement of the theme's, not a finding
    config = ["--config-file", "docs/mkdocs/mkdocs.yml", "--site-dir", str(ROOT / ".nox" / "site")]
    session.run(sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", *config, env=quiet)


@nox.session(venv_backend="none")
def bench(session: nox.Session) -> None:
    """Speed, as ratios; never part of the tests. `-- --wheels` measures starts and lists as users install gert."""
    if "--wheels" in session.posargs:
        place = ROOT / ".nox" / "bench-wheels"
        _bundle(session, place)
        others = [word for word in session.posargs if word != "--wheels"]
        session.run(sys.executable, "tests/bench/bench_speed.py", "--installed", str(place), *others)
        session.run(sys.executable, "tests/bench/bench_outcomes.py", "--installed", str(place))
        return
    for script in sorted(Path("tests/bench").glob("bench_*.py")):
        session.run(sys.executable, str(script), *session.posargs)


@nox.session(venv_backend="none")
def compare(session: nox.Session) -> None:
    """Speed against an earlier commit, interleaved: `nox -s compare -- COMMIT [--rounds N] [--only WORD]`.

    Both states are installed from their wheels: editable members make every start of Python longer, one by one.
    """
    commit, *others = session.posargs or ["HEAD~1"]
    place, now = ROOT / ".nox" / "compare", ROOT / ".nox" / "compare-now"
    session.run("git", "worktree", "add", "--quiet", "--force", "--detach", str(place), commit, external=True)
    try:
        for checkout, environment in ((place, place / ".venv"), (ROOT, now)):
            with session.chdir(checkout):
                _bundle(session, environment)
        session.run(sys.executable, "tests/bench/compare.py", "--installed", str(now), "--other", str(place), *others)
    finally:
        session.run("git", "worktree", "remove", "--force", str(place), external=True)


@nox.session(venv_backend="none")
def fuzz(session: nox.Session) -> None:
    """The property tests with many more examples."""
    session.run(sys.executable, "-m", "pytest", "-n", "auto", "tests", *session.posargs, env={"GERT_FUZZ": "1"})


@nox.session(venv_backend="none")
def browser(session: nox.Session) -> None:
    """The pictures that gert draws, in Chromium; needs the program `chromium`, or another one named by $CHROMIUM."""
    session.run(sys.executable, "-m", "pytest", "-n", "2", "tests/browser", *session.posargs, env={"GERT_BROWSER": "1"})


@nox.session(venv_backend="none")
def smoke(session: nox.Session) -> None:
    """One flow of `gert web` in Chromium; where it is missing and Debian's packages can be installed, it is."""
    program = os.environ.get("CHROMIUM", "chromium")
    if shutil.which(program) is None and program == "chromium" and os.geteuid() == 0 and shutil.which("apt-get"):
        quiet = {"DEBIAN_FRONTEND": "noninteractive"}
        for words in (["update", "-qq"], ["install", "-qq", "-y", "--no-install-recommends", "chromium"]):
            # A machine without the network of its distribution says so, and the flow is left out.
            session.run("apt-get", *words, env=quiet, external=True, silent=True, success_codes=[0, 100])
    if shutil.which(program) is None:
        session.log(f"left out: there is no {program} here")
        return
    session.run(sys.executable, "-m", "pytest", "-q", "plugins/gert-web/tests/test_browser.py")


@nox.session(venv_backend="none")
def release(session: nox.Session) -> None:
    """Write one version everywhere: `nox -s release -- 1.2.3`; with `--check` look whether it is there."""
    session.run(sys.executable, "scripts/release.py", *session.posargs)


@nox.session(venv_backend="none")
def keep_runs(session: nox.Session) -> None:
    """Keep runs of the present version in tests/data/kept_runs, which every later version verifies and resumes."""
    session.run(sys.executable, "scripts/keep_runs.py")


# -- from built wheels, in environments of their own ------------------------------------------------------------


@nox.session(venv_backend="none")
def build(session: nox.Session) -> None:
    """Every distribution as a wheel, in .nox/wheels."""
    shutil.rmtree(WHEELS, ignore_errors=True)
    uv = [sys.executable, "-m", "uv"]
    session.run(*uv, "build", "--quiet", "--all-packages", "--wheel", "--out-dir", str(WHEELS))
    # An index may hold distributions of the same names: ours are named by file, so that no other can slip in.
    built = {w.name.partition("-")[0].replace("_", "-"): w.resolve().as_uri() for w in sorted(WHEELS.glob("*.whl"))}
    CONSTRAINTS.write_text("".join(f"{name} @ {uri}\n" for name, uri in built.items()), encoding="utf-8")


@nox.session(venv_backend="none")
def dist(session: nox.Session) -> None:
    """Every distribution as a wheel and as a source archive, in dist: what is published."""
    shutil.rmtree(ROOT / "dist", ignore_errors=True)
    session.run(sys.executable, "-m", "uv", "build", "--quiet", "--all-packages", "--out-dir", "dist")


@nox.session(requires=["build"])
def bare(session: nox.Session) -> None:
    """The core alone: it starts, knows no step type and says who would provide one."""
    _install(session, "gert-core")
    _gert(session, "--version")
    said = _gert(session, "plugins", "why", "step:tool", success_codes=[1])
    assert "gert-step-tool" in said, said
    assert _gert(session, "plugins", "list", "--json").strip() == '{"plugins": []}'


@nox.session(venv_backend="none", requires=["build"])
def isolated(session: nox.Session) -> None:
    """Every plugin's own tests with the core alone; `nox -s isolated -- NAME...` takes some of them."""
    members = [m for m in _members() if m.name != "gert" and (not session.posargs or m.name in session.posargs)]
    members.sort(key=lambda member: sum(f.stat().st_size for f in member.glob("tests/**/*.py")), reverse=True)
    failed = []
    # Members side by side, each without helpers of its own: starting those takes longer than most of the tests do.
    # Below the checkout, whose settings of pytest hold there too.
    WHEELS.parent.mkdir(exist_ok=True)
    with (
        tempfile.TemporaryDirectory(dir=WHEELS.parent) as place,
        ThreadPoolExecutor(os.cpu_count()) as pool,
    ):
        for member, problem in zip(members, pool.map(partial(_alone, Path(place)), members), strict=True):
            if problem is None:
                session.log(f"{member.name}: ok")
            else:
                failed.append(member.name)
                session.warn(f"{member.name}:\n{problem}")
    if failed:
        session.error(f"failed alone: {', '.join(failed)}")


@nox.session(requires=["build"])
def third_party(session: nox.Session) -> None:
    """The example plugins, installed like anybody's against the built core, with their own tests."""
    for name, beside in (("policy_pack", ["gert"]), ("third_party_step", [])):
        _fresh(session)
        _install(session, str(ROOT / "examples" / name), "gert-core[testing]", *beside)
        _pytest(session, ROOT / "examples" / name)
    said = _gert(session, "plugins", "why", "step:sleep")
    assert "gert-step-sleep" in said, said


@nox.session(requires=["build"])
def bundle(session: nox.Session) -> None:
    """`pip install "gert[tools]"` gives everything: the shipped examples work outside of the checkout."""
    _install(session, "gert[tools]")
    said = _gert(session, "plugins", "list")
    assert not {"broken", "conflicting", "incompatible"} & set(said.split()), said
    # The README's first line, as somebody types it who installed gert and copied the examples.
    with session.chdir(_outside(session)):
        session.run("gert", *shlex.split(_first_line().rpartition("/gert ")[2]))
        session.run("gert", "test", "examples/runbooks", silent=True)
    # An installer of applications gives the command too (docs/how-to/install.md); it reads no project's settings.
    place = Path(session.create_tmp()).resolve() / "tool"
    env = {"UV_TOOL_DIR": str(place), "UV_TOOL_BIN_DIR": str(place / "bin"), "UV_SYSTEM_CERTS": "1"}
    uv = [sys.executable, "-m", "uv", "tool", "install", "--quiet", "--force", "-p", _python(session)]
    session.run(*uv, "-c", str(CONSTRAINTS), "gert[tools]", env=env, external=True)
    session.run(str(place / "bin" / "gert"), "plugins", "why", "tools:net", env=env, external=True)


@nox.session(venv_backend="none")
def readme(session: nox.Session) -> None:
    """The README's first line in a copy of the checkout, with an empty home and no settings but the index's."""
    with tempfile.TemporaryDirectory() as home:
        copy = Path(home) / "gert"
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(".git", ".venv", ".nox", ".*_cache", "__pycache__"))
        kept = {k: v for k, v in os.environ.items() if k.startswith(("PIP_", "UV_INDEX", "UV_DEFAULT_INDEX"))}
        env = {**kept, "HOME": home, "PATH": f"{sys.base_prefix}/bin:/usr/local/bin:/usr/bin:/bin"}
        began = time.monotonic()
        with session.chdir(copy):
            session.run("sh", "-c", _first_line(), env=env, include_outer_env=False, external=True)
        session.log(f"from a clone to an outcome: {time.monotonic() - began:.0f} s")


@nox.session(requires=["build"])
def lowest(session: nox.Session) -> None:
    """The lowest direct versions every member claims to work with, pluggy's floor included."""
    claims = {
        str(text)
        for member in (ROOT, *_members())
        if member.name not in _RAISING
        for text in _project(member)["dependencies"]
        if not str(text).startswith("gert")
    }
    wheels = sorted(str(w) for w in WHEELS.glob("*.whl"))
    uv = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", _python(session)]
    session.run(*uv, "--resolution", "lowest-direct", *sorted(claims), external=True)
    session.run(*uv, "--no-deps", *wheels, external=True)
    session.run(*uv, *_TOOLS, external=True)
    chosen = session.posargs or ["tests/core", *(f"tests/cli/test_{name}.py" for name in _TYPED)]
    # The checkout must not be importable: the wheels are what is tested.
    place = _outside(session, ROOT / "tests")
    session.chdir(place)
    session.run("python", "-m", "pytest", "-n", "auto", *_PYTEST, "-p", "gert_core.testing", *chosen, silent=True)
    session.log("lowest: " + _versions(session, "pluggy", "pydantic", "typer", "jinja2", "importlib-metadata"))


# Where a version of a library shows: reading command lines, help, completion, schemas, plugins, and one run.
_TYPED = ("completion_verb", "help_layout", "plugins_verb", "reader", "schema_verb", "test_verb", "validate_verb")
# Their libraries need newer versions of the core's own; they import them on use, and `isolated` tries them.
_RAISING = ("gert-mcp", "gert-transport-mcp")
_TOOLS = ("pytest>=8", "pytest-xdist", "hypothesis")
_PYTEST = ("--import-mode=importlib", "-q", "-W", "error", "-o", "pythonpath=tests/support")


_FEW = 3
"""How many tests may get a second try."""


def _bundle(session: nox.Session, environment: Path) -> None:
    """Install the bundle from wheels of the checkout that is the current directory, as users do."""
    build(session)
    uv = [sys.executable, "-m", "uv"]
    session.run(*uv, "venv", "--quiet", "--clear", "--python", sys.executable, str(environment))
    install = ["pip", "install", "--quiet", "--compile-bytecode", "--python", str(environment), "-c", str(CONSTRAINTS)]
    session.run(*uv, *install, "gert[tools]")


def _last_failed(cache: Path) -> list[str]:
    """Return the tests that failed in the last run of pytest; nothing when it could not even collect them."""
    try:
        text = (cache / "v" / "cache" / "lastfailed").read_text(encoding="utf-8")
    except FileNotFoundError:
        return []
    names = sorted(json.loads(text))
    return names if all("::" in name for name in names) else []


def _first_line() -> str:
    found = re.search(r"^.* && \.venv/bin/gert .*$", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert found, "README has lost its first line"
    return found[0]


def _members() -> list[Path]:
    return sorted(f.parent for place in ("plugins", "tool_packs") for f in (ROOT / place).glob("*/pyproject.toml"))


def _project(member: Path) -> dict[str, Any]:
    data: dict[str, Any] = tomllib.loads((member / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return data


def _alone(place: Path, member: Path) -> str | None:
    """Run the tests of a member in an environment that has nothing else; return what was said when they fail."""
    extra = "[testing]" if "testing" in _project(member).get("optional-dependencies", {}) else ""
    venv, outside = place / f"{member.name}-venv", place / member.name
    python = venv / "bin" / "python"
    wanted = [f"{member.name}{extra}", "gert-core[testing]", *_TOOLS]
    commands = [[sys.executable, "-m", "uv", "venv", "--quiet", "--python", sys.executable, str(venv)]]
    commands += [[*commands[0][:3], "pip", "install", "--quiet", "-p", str(python), "-c", str(CONSTRAINTS), *wanted]]
    if (member / "tests").is_dir():
        _copy(outside, member / "tests")
        cache = f"cache_dir={outside / 'cache'}"  # else members would share the one of the checkout
        commands += [[str(python), "-m", "pytest", *_PYTEST, "-o", cache, "-p", "gert_core.testing", "tests"]]
    where = outside / member.relative_to(ROOT)
    where.mkdir(parents=True, exist_ok=True)
    env = {**os.environ, "VIRTUAL_ENV": str(venv), "PATH": f"{venv / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    for command in commands:
        ended = subprocess.run(command, cwd=where, env=env, capture_output=True, text=True, check=False)
        failed = _last_failed(outside / "cache")
        if ended.returncode and 0 < len(failed) <= _FEW:
            print(f"{member.name}: failed the first time, tried once more: {', '.join(failed)}")
            again = [*command[:-1], "--last-failed", "tests"]
            ended = subprocess.run(again, cwd=where, env=env, capture_output=True, text=True, check=False)
        if ended.returncode:
            return f"{shlex.join(command)}\n{ended.stdout}{ended.stderr}"
    for folder in (venv, outside):
        shutil.rmtree(folder)
    return None


def _fresh(session: nox.Session) -> None:
    """Take everything out of the environment again; making a new one would take longer."""
    session.run(
        "python",
        "-c",
        "import shutil, site; shutil.rmtree(site.getsitepackages()[0]); "
        "import pathlib; pathlib.Path(site.getsitepackages()[0]).mkdir()",
        silent=True,
    )


def _install(session: nox.Session, *requirements: str) -> None:
    session.install("--quiet", "-c", str(CONSTRAINTS), *requirements)


def _python(session: nox.Session) -> str:
    return str(Path(session.bin) / "python")


def _gert(session: nox.Session, *arguments: str, success_codes: list[int] | None = None) -> str:
    with session.chdir(session.create_tmp()):
        said = session.run("gert", *arguments, silent=True, success_codes=success_codes or [0])
    return str(said)


def _outside(session: nox.Session, *folders: Path) -> Path:
    """A copy of folders, and of what tests read, where the checkout is not on the way."""
    place = Path(session.create_tmp()).resolve() / "outside"
    shutil.rmtree(place, ignore_errors=True)
    _copy(place, *folders)
    return place


def _copy(place: Path, *folders: Path) -> None:
    for folder in (*folders, ROOT / "docs", ROOT / "examples"):
        target = place / folder.relative_to(ROOT)
        shutil.copytree(folder, target, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)


def _pytest(session: nox.Session, member: Path) -> None:
    if not (member / "tests").is_dir():
        return
    place = _outside(session, member / "tests")
    with session.chdir(place / member.relative_to(ROOT)):
        session.run("python", "-m", "pytest", *_PYTEST, "-p", "gert_core.testing", "tests", silent=True)


def _versions(session: nox.Session, *names: str) -> str:
    code = f"from importlib.metadata import version; print(' '.join(n + ' ' + version(n) for n in {names!r}))"
    return str(session.run("python", "-c", code, silent=True)).strip()
