"""Record a finished run as a scenario: fold its trace, prove the recording, look for secrets in it, and keep it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from gert_core.api import GertError
from gert_core.documents.scenario import RECORDED, SCENARIO_FILE, TEST_FILE, TRACE_FILE
from gert_core.documents.yaml import MAX_BYTES
from gert_core.kit.log import fault
from gert_core.scenarios.recording.fold import Taken
from gert_core.scenarios.recording.place import check_target, write_directory
from gert_core.scenarios.recording.placeholders import Placeholders
from gert_core.scenarios.recording.prove import prove
from gert_core.scenarios.recording.scan import hits_in, hits_in_trace
from gert_core.scenarios.recording.text import to_yaml
from gert_core.trace.reader import read

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from gert_core.api import StoredRun
    from gert_core.scenarios.recording.prove import Proof
    from gert_core.scenarios.recording.scan import Hit
    from gert_core.scenarios.run import ScenarioRunner

UNFAITHFUL: Final = "unfaithful"
_ENDED: Final = ("completed", "failed", "error")
_SHOWN: Final = 5


class Recording(Struct, frozen=True, kw_only=True):
    """Whether a run was recorded, where, and why it was not; ``warnings`` are about one that was.

    ``known`` is the scenario for which a run was not recorded that went the same way.
    """

    written: bool
    path: str
    problem: str | None = None
    warnings: tuple[str, ...] = ()
    known: str | None = None

    def masked(self, mask: Callable[[str], str]) -> Recording:
        """Return it with all texts masked."""
        problem = None if self.problem is None else mask(self.problem)
        return Recording(
            written=self.written,
            path=mask(self.path),
            problem=problem,
            warnings=tuple(map(mask, self.warnings)),
            known=None if self.known is None else mask(self.known),
        )

    def to_json(self) -> dict[str, object]:
        """Return the ``record`` object of results."""
        return {"written": self.written, "path": self.path, "problem": self.problem}


def record(
    stored: StoredRun,
    target: Path,
    runner: ScenarioRunner,
    *,
    known: Mapping[str, str] | None = None,
    new: bool = False,
) -> Recording:
    """Record a run in a directory; whatever prevents it is the ``problem``, nothing is raised.

    ``known`` are the secret outputs that this process knows by name; ``new``: only a run that went a way which no
    scenario of the runbook has.
    """
    try:
        return _record(stored, target, runner, known or {}, new=new)
    except GertError as error:
        problem = error.message
    except OSError as error:
        problem = f"it cannot be written: {error.strerror or error}"
    except Exception as error:  # a recording never makes a run fail
        fault("recording", error, environ=runner.environ, mask=lambda text: text)
        problem = f"internal error: {type(error).__name__}; set GERT_DEBUG=1 to see where"
    return Recording(written=False, path=str(target), problem=problem)


def _record(
    stored: StoredRun, target: Path, runner: ScenarioRunner, known: Mapping[str, str], *, new: bool
) -> Recording:
    taken = Taken(read(stored))
    problem = why_not(taken)
    if problem is not None:
        return Recording(written=False, path=str(target), problem=problem)
    check_target(target)
    proof = prove(taken, Placeholders(taken.state, known), runner.book, runner)
    scenario = _scenario(proof, target, runner.runbook, taken)
    test = expectations(taken, faithful=proof.faithful)
    if new and (same := _known_way(test, runner)) is not None:
        return Recording(written=False, path=str(target), known=same)
    hits = [*hits_in(scenario, f"{SCENARIO_FILE}: "), *hits_in(test, f"{TEST_FILE}: ")]
    hits += hits_in_trace(stored.lines(), TRACE_FILE)
    if hits:
        return Recording(written=False, path=str(target), problem=_refusal(hits))
    text = to_yaml(scenario).encode()
    if len(text) > MAX_BYTES:
        problem = f"its scenario would have {len(text)} bytes, more than the {MAX_BYTES} that gert reads"
        return Recording(written=False, path=str(target), problem=problem)
    write_directory(target, {SCENARIO_FILE: text, TEST_FILE: to_yaml(test).encode(), TRACE_FILE: stored.lines()})
    warnings = () if proof.faithful else (f"the recording is {UNFAITHFUL}: {'; '.join(proof.differences)}",)
    return Recording(written=True, path=str(target), warnings=warnings)


def why_not(taken: Taken) -> str | None:
    """Return why a run is not recorded; None when it can be."""
    state = taken.state
    if state.mode not in ("real", ""):
        return f"runs in mode {state.mode} are not recorded"
    if state.status not in _ENDED:
        return f"the run is {state.status}, and only runs that completed or failed are recorded"
    if taken.drifted:
        return "documents changed while the run was under way, so that no replay can come to the same"
    return None


def _refusal(hits: list[Hit]) -> str:
    told = list(dict.fromkeys(map(str, hits)))
    more = f"; and {len(told) - _SHOWN} more" if len(told) > _SHOWN else ""
    return f"it may contain secrets that are not declared: {'; '.join(told[:_SHOWN])}{more}"


def _scenario(proof: Proof, target: Path, runbook: Path, taken: Taken) -> dict[str, Any]:
    path = os.path.relpath(runbook.absolute(), target.absolute())
    return {"description": f"Recorded from run {taken.state.run_id}.", "runbook": path, **proof.document}


def expectations(taken: Taken, *, faithful: bool = True) -> dict[str, Any]:
    """Return what the test of a recording expects: what the run came to, and every step that it executed."""
    state, outcome = taken.state, taken.state.outcome if taken.state.status == _ENDED[0] else None
    expected: dict[str, Any] = {"expected_status": state.status}
    if outcome is not None:
        expected["expected_outcome"] = str(outcome.get("category") or "")
        if outcome.get("code"):
            expected["expected_code"] = str(outcome["code"])
    expected["must_reach"] = list(taken.visits.names())
    expected["tags"] = [RECORDED] if faithful else [RECORDED, UNFAITHFUL]
    return expected


def _known_way(test: Mapping[str, Any], runner: ScenarioRunner) -> str | None:
    """Return the scenario with the same visits and outcome, if the runbook has one."""
    from gert_core.scenarios.recording.ways import same_way

    return same_way(test, runner)


__all__ = ["UNFAITHFUL", "Recording", "expectations", "record", "why_not"]
