"""Set one version everywhere: in every distribution, in the bounds between them, in the core and in the changelog.

``nox -s release -- 1.2.3`` calls it; ``--check`` writes nothing and fails if anything disagrees with that version.
"""

from __future__ import annotations

import argparse
import re
import sys
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parents[1]
CHANGELOG = ROOT / "CHANGELOG.md"
UNRELEASED = "## Unreleased\n"

# A requirement on a distribution of ours: bounded, or pinned as the bundle pins the core.
_REQUIREMENT = re.compile(r'"(gert(?:-[a-z0-9]+)*(?:\[[a-z,]+\])?)(==|>=)[0-9][^"]*"')
_OWN_VERSION = re.compile(r'^version = "[^"]*"$', re.MULTILINE)
_CORE_VERSION = re.compile(r'^__version__ = "([^"]*)"$', re.MULTILINE)


class ReleaseError(Exception):
    """Why there is no such release; nothing has been written."""


def bounds(version: str) -> str:
    """Return the versions that work together with a version: those of the same minor version."""
    major, minor, _ = version.split(".")
    return f">={major}.{minor},<{major}.{int(minor) + 1}"


def edits(version: str) -> dict[Path, str]:
    """Return every file that names the version, as it should be; the changelog is not among them."""
    found = {}
    members = [ROOT / "pyproject.toml", *_pyprojects("plugins"), *_pyprojects("tool_packs")]
    for file in members:
        found[file] = _once(_OWN_VERSION, f'version = "{version}"', _bounded(file, version), file)
    # The examples have versions of their own, as a stranger's plugin has; only what they need is ours.
    found |= {file: _bounded(file, version) for file in _pyprojects("examples")}
    core = ROOT / "gert_core" / "__init__.py"
    found[core] = _once(_CORE_VERSION, f'__version__ = "{version}"', core.read_text(encoding="utf-8"), core)
    return found


def changelog(version: str, day: str) -> str:
    """Return the changelog with its unreleased entries under the version's heading."""
    text = CHANGELOG.read_text(encoding="utf-8")
    if _heading(version, text):
        raise ReleaseError(f"CHANGELOG.md already has a section for {version}: choose the next version")
    head, mark, rest = text.partition(UNRELEASED)
    if not mark:
        raise ReleaseError(f"CHANGELOG.md has no heading {UNRELEASED.strip()!r}: add it above the entries")
    if not re.search(r"^- ", rest.partition("\n## ")[0], re.MULTILINE):
        raise ReleaseError(f"CHANGELOG.md has no entries under {UNRELEASED.strip()!r}: say what has changed")
    return f"{head}{UNRELEASED}\n## {version} ({day})\n{rest}"


def release(version: str) -> list[Path]:
    """Write the version everywhere and return the files that have changed; either all are written or none."""
    found = _CORE_VERSION.search((ROOT / "gert_core" / "__init__.py").read_text(encoding="utf-8"))
    current = found[1] if found else "0.0.0"
    if _numbers(version) < _numbers(current):
        raise ReleaseError(f"{version} is older than the current version {current}: choose a later one")
    wanted = {CHANGELOG: changelog(version, f"{datetime.now(UTC):%Y-%m-%d}"), **edits(version)}
    changed = _different(wanted)
    for file in changed:
        file.write_text(wanted[file], encoding="utf-8")
    return changed


def check(version: str) -> None:
    """Raise if a file disagrees with the version or the changelog has no section for it."""
    wrong = [file.relative_to(ROOT).as_posix() for file in _different(edits(version))]
    if not _heading(version, CHANGELOG.read_text(encoding="utf-8")):
        wrong.append(CHANGELOG.name)
    if wrong:
        raise ReleaseError(f"not at version {version}: {', '.join(wrong)}; run `nox -s release -- {version}`")


def main(arguments: list[str]) -> int:
    """Read the command line, do it and return the exit code."""
    parser = argparse.ArgumentParser(prog="nox -s release --", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if anything disagrees")
    parser.add_argument("version", help="three numbers, for example 1.2.3")
    asked = parser.parse_args(arguments)
    if not re.fullmatch(r"(0|[1-9]\d*)(\.(0|[1-9]\d*)){2}", asked.version):
        parser.error(f"{asked.version!r} is not a valid version: three numbers are needed, for example 1.2.3")
    try:
        if asked.check:
            check(asked.version)
            print(f"Every distribution is at version {asked.version}.")
            return 0
        changed = release(asked.version)
    except ReleaseError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(
        f"Version {asked.version} is written in {len(changed)} files. CONTRIBUTING.md, 'Release', has the next steps."
    )
    return 0


def _pyprojects(place: str) -> list[Path]:
    return sorted((ROOT / place).glob("*/pyproject.toml"))


def _bounded(file: Path, version: str) -> str:
    def requirement(found: re.Match[str]) -> str:
        return f'"{found[1]}=={version}"' if found[2] == "==" else f'"{found[1]}{bounds(version)}"'

    return _REQUIREMENT.sub(requirement, file.read_text(encoding="utf-8"))


def _once(pattern: re.Pattern[str], replacement: str, text: str, file: Path) -> str:
    text, count = pattern.subn(replacement, text)
    if count != 1:
        raise ReleaseError(f"{file.relative_to(ROOT)} states {count} versions instead of one: mend it first")
    return text


def _different(wanted: dict[Path, str]) -> list[Path]:
    return [file for file, text in wanted.items() if file.read_text(encoding="utf-8") != text]


def _heading(version: str, text: str) -> bool:
    return bool(re.search(rf"^## {re.escape(version)} \(\d{{4}}-\d\d-\d\d\)$", text, re.MULTILINE))


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
