"""Find runbooks that have scenarios, and the scenarios of a runbook."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct, field

from gert_core.api.errors import GertError, UsageError
from gert_core.documents.runbook import API_VERSION
from gert_core.documents.scenario import RECORDED, SCENARIO_FILE, TEST_FILE, directory_name, load_scenario
from gert_core.documents.yaml import MAX_BYTES
from gert_core.kit.files import read_named

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gert_core.documents.scenario import Scenario

DIRECTORY: Final = "scenarios"
_SUFFIXES: Final = (".yaml", ".yml")
_HEAD: Final = re.compile(rf"^apiVersion\s*:\s*[\"']?{re.escape(API_VERSION)}[\"']?\s*(?:#.*)?$", re.MULTILINE)


class FoundRunbooks(Struct, kw_only=True):
    """Runbooks in the order of the arguments, each once, and warnings about the places searched."""

    runbooks: list[Path] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    only: dict[Path, list[Path]] = field(default_factory=dict)
    """By a runbook (as it is resolved) the scenarios of it that were named by their directories."""


class ScenarioCandidate(Struct, frozen=True, kw_only=True):
    """A scenario directory with its scenario, or with the ``problem`` that prevented reading it."""

    name: str
    directory: Path
    scenario: Scenario | None = None
    problem: GertError | None = None

    @property
    def golden(self) -> bool:
        """Whether its test is golden."""
        return self.scenario is not None and self.scenario.test is not None and self.scenario.test.golden

    @property
    def tags(self) -> frozenset[str]:
        """The tags of its test."""
        test = self.scenario.test if self.scenario is not None else None
        return frozenset(test.tags) if test is not None else frozenset()

    @property
    def recorded(self) -> bool:
        """Whether it is a recording of a run."""
        return RECORDED in self.tags

    @property
    def testable(self) -> bool:
        """Whether there is a test (or one that cannot be read)."""
        return self.scenario is None or self.scenario.test is not None


def scenarios_directory(runbook: Path) -> Path:
    """Return the directory of a runbook's scenarios."""
    return runbook.parent / DIRECTORY / runbook.stem


def find_runbooks(paths: Iterable[Path]) -> FoundRunbooks:
    """Return the files as given, and for directories every runbook below that has scenarios."""
    found = FoundRunbooks()
    seen: set[Path] = set()
    for path in paths:
        if not path.exists():
            raise UsageError(f"{path} does not exist", file=str(path), hint="give runbooks, or directories of them")
        below = _given(path, found)
        if not below:
            raise UsageError(
                f"there is no runbook with scenarios under {path}",
                file=str(path),
                hint=f"scenarios of NAME.yaml are in {DIRECTORY}/NAME/ beside it",
            )
        for runbook in below:
            if runbook.resolve() not in seen:
                seen.add(runbook.resolve())
                found.runbooks.append(runbook)
    return found


def _given(path: Path, found: FoundRunbooks) -> list[Path]:
    """Return the runbooks that a path stands for: itself, those of scenarios in it, or those below it."""
    if not path.is_dir():
        return [path]
    named = [path] if (path / SCENARIO_FILE).is_file() else []
    below = [] if named else list(_below(path, found.warnings))
    if not named and not below:  # a directory of recordings
        named = [entry for entry in _directories(path) if (entry / SCENARIO_FILE).is_file()]
    for directory in named:
        runbook = runbook_of_scenario(directory, load_scenario(directory))
        if runbook is None or not runbook.is_file():
            told = "does not say which runbook it is for" if runbook is None else f"is for {runbook}, which is missing"
            raise UsageError(f"{directory} {told}", file=str(directory), hint="write its path as `runbook:`")
        below.append(runbook)
        found.only.setdefault(runbook.resolve(), []).append(directory)
    return below


def runbook_of_scenario(directory: Path, scenario: Scenario) -> Path | None:
    """Return the runbook of a scenario: the one that it names, else the one whose scenarios it is among."""
    if scenario.model.runbook is not None:
        return Path(os.path.normpath(directory / scenario.model.runbook))
    stem = Path(os.path.abspath(directory)).parent  # noqa: PTH100 - `..` is left out, links are not followed
    if stem.parent.name != DIRECTORY:
        return None
    beside = [stem.parent.parent / f"{stem.name}{suffix}" for suffix in _SUFFIXES]
    return next((file for file in beside if file.is_file()), None)


def _below(directory: Path, warnings: list[str]) -> Iterator[Path]:
    for folder, names, _ in os.walk(directory):
        here = DIRECTORY in names
        names[:] = sorted(name for name in names if name != DIRECTORY and not name.startswith("."))
        if not here:
            continue
        for stem in _directories(Path(folder, DIRECTORY)):
            beside = [Path(folder, stem.name + suffix) for suffix in _SUFFIXES]
            runbooks = [file for file in beside if is_runbook(file)]
            if not runbooks and any(_is_scenario(entry) for entry in _directories(stem)):
                warnings.append(f"{stem} contains scenarios, but there is no runbook {beside[0]}")
            yield from runbooks


def is_runbook(file: Path) -> bool:
    """Return whether a file is a runbook, by the line that says so."""
    if not file.is_file():
        return False
    try:
        return _HEAD.search(read_named(file, most=MAX_BYTES).decode("utf-8", "replace")) is not None
    except OSError:
        return False


def _is_scenario(directory: Path) -> bool:
    return (directory / SCENARIO_FILE).is_file() or (directory / TEST_FILE).is_file()


def _directories(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in entries if _is_directory(entry) and not entry.name.startswith("."))
    except OSError:
        return []
    return [folder / name for name in names]


def _is_directory(entry: os.DirEntry[str]) -> bool:
    return Path(entry.path).is_dir() if entry.is_symlink() else entry.is_dir()  # a link may lead to itself


def candidates_of(runbook: Path) -> list[ScenarioCandidate]:
    """Return every scenario of a runbook, sorted by name; one that cannot be read has the reason."""
    return [_read(entry) for entry in _directories(scenarios_directory(runbook)) if _is_scenario(entry)]


def candidates_for(runbook: Path, found: FoundRunbooks) -> list[ScenarioCandidate]:
    """Return the scenarios of a runbook that were asked for: those that were named, else all of them."""
    named = found.only.get(runbook.resolve())
    return candidates_of(runbook) if named is None else [_read(directory) for directory in named]


def _read(directory: Path) -> ScenarioCandidate:
    try:
        scenario = load_scenario(directory)
        return ScenarioCandidate(name=scenario.name, directory=directory, scenario=scenario)
    except GertError as problem:
        return ScenarioCandidate(name=directory_name(directory), directory=directory, problem=problem)


__all__ = [
    "DIRECTORY",
    "FoundRunbooks",
    "ScenarioCandidate",
    "candidates_for",
    "candidates_of",
    "find_runbooks",
    "is_runbook",
    "runbook_of_scenario",
    "scenarios_directory",
]
