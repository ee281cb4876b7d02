"""Check the result of a replay against the expectations of its test."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from gert_core.documents.scenario import pattern_of
from gert_core.kit.excerpts import part
from gert_core.scenarios.names import step_id_of
from gert_core.scenarios.results import Assertion
from gert_core.template import TemplateError, UndefinedVariable, compile_value, matches, to_text

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from gert_core.api import Outcome
    from gert_core.documents.scenario import ExpectationModel
    from gert_core.scenarios.visits import Visits
    from gert_core.template import Variables

_SHOWN: Final = 300
REACHED: Final = "reached"
NOT_REACHED: Final = "not reached"


class Observed(Struct, frozen=True, kw_only=True):
    """The result of a run; ``failure`` is why it did not complete, ``step_ids`` are all of the runbook."""

    status: str
    outcome: Outcome | None
    visits: Visits
    variables: Variables
    step_ids: Collection[str]
    failure: str | None = None

    @property
    def failure_suffix(self) -> str:
        """The failure in parentheses, to add to a message; empty without one."""
        return f" ({self.failure})" if self.failure else ""


def check_expectations(test: ExpectationModel, seen: Observed) -> tuple[Assertion, ...]:
    """Return every assertion of a test, in the order of the document's fields."""
    return (*_results(test, seen), *_reaching(test, seen), *_outputs(test, seen))


def unknown_steps(test: ExpectationModel, step_ids: Collection[str]) -> Iterator[str]:
    """Yield a warning for each step that must not be reached and does not exist: such a test always passes."""
    for name in test.must_not_reach:
        if step_id_of(name) not in step_ids:
            yield f"must_not_reach: {name!r} is not a step of this runbook{_suggestion(name, step_ids)}"


def _results(test: ExpectationModel, seen: Observed) -> Iterator[Assertion]:
    outcome = seen.outcome
    found = {
        "expected_status": (test.expected_status, seen.status),
        "expected_outcome": (test.expected_outcome, str(outcome.category) if outcome else None),
        "expected_code": (test.expected_code, outcome.code if outcome else None),
    }
    for field, (expected, actual) in found.items():
        if expected is None:
            continue
        wanted = str(expected)
        passed = wanted == actual
        message = "" if passed else f"expected {show(wanted)}, got {_or_nothing(actual, seen)}{seen.failure_suffix}"
        yield Assertion(type=field, key=None, expected=wanted, actual=actual, passed=passed, message=message)


def _or_nothing(actual: str | None, seen: Observed) -> str:
    return show(actual) if actual is not None else f"no outcome: the run is {seen.status}"


def _reaching(test: ExpectationModel, seen: Observed) -> Iterator[Assertion]:
    for field, names in (("must_reach", test.must_reach), ("must_not_reach", test.must_not_reach)):
        for name in names:
            there = seen.visits.reached(name)
            passed = there is (field == "must_reach")
            actual = REACHED if there else seen.visits.status_of(name) or NOT_REACHED
            message = ""
            if not passed:
                what = f"expected step {name} {'not ' if there else ''}to be reached"
                message = f"{what}, but it was {_how(actual)}"
                if not there and step_id_of(name) not in seen.step_ids:
                    message = f"{what}, but it is not a step of this runbook{_suggestion(name, seen.step_ids)}"
                elif not there:
                    message += seen.failure_suffix
            yield Assertion(
                type=field,
                key=name,
                expected=REACHED if field == "must_reach" else NOT_REACHED,
                actual=actual,
                passed=passed,
                message=message,
            )


def _how(actual: str) -> str:
    return actual if actual in (REACHED, NOT_REACHED, "skipped") else f"{NOT_REACHED}: {actual}"


def _suggestion(name: str, step_ids: Collection[str]) -> str:
    from gert_core.kit.nearest import nearest  # only mistakes need it

    near = nearest(step_id_of(name), step_ids)
    return f"; did you mean {near!r}?" if near else ""


def _outputs(test: ExpectationModel, seen: Observed) -> Iterator[Assertion]:
    for path, expected in test.expected_outputs.items():
        actual, error = _value(path, seen.variables)
        passed = False
        if error is None:
            passed, error = _matches(expected, actual)
            if not passed and error is None:
                what = "a string that matches" if pattern_of(expected) is not None else ""
                error = f"expected {what + ' ' if what else ''}{show(expected)}, got {show(actual)}"
        elif seen.failure:
            error += seen.failure_suffix
        yield Assertion(
            type="expected_outputs",
            key=path,
            expected=_without_positions(expected),
            actual=_without_positions(actual),
            passed=passed,
            message="" if passed else error or "",
        )


def _value(path: str, variables: Variables) -> tuple[object, str | None]:
    """Return the value at a template path, or None and the reason why there is none."""
    text = path if "{{" in path else f"{{{{ .{path.strip().removeprefix('.')} }}}}"
    try:
        return compile_value(text).render(variables), None
    except UndefinedVariable as error:
        near = error.suggestion([*error.known, *variables.names()])
        return None, f"`.{'.'.join(error.path)}` is not defined{f'; did you mean `{near}`?' if near else ''}"
    except TemplateError as error:
        return None, error.message


def _matches(expected: object, actual: object) -> tuple[bool, str | None]:
    pattern = pattern_of(expected)
    if pattern is None:
        return same(expected, actual), None
    try:
        return matches(pattern, to_text(actual)) is not None, None
    except TemplateError as error:
        return False, f"{show(expected)}: {error.message}"


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def same(expected: object, actual: object) -> bool:
    """Return whether values are equal as text, so that ``200`` is ``"200"``; two numbers are equal as numbers.

    Lists are compared by item, maps by name; null is only null.
    """
    if isinstance(expected, dict):
        return (
            isinstance(actual, dict)
            and {to_text(key) for key in expected} == set(actual)
            and all(same(value, actual[to_text(key)]) for key, value in expected.items())
        )
    if isinstance(expected, list):
        return (
            isinstance(actual, list)
            and len(expected) == len(actual)
            and all(same(one, other) for one, other in zip(expected, actual, strict=True))
        )
    if expected is None:
        return actual is None
    if _is_number(expected) and _is_number(actual):
        return expected == actual
    return to_text(expected) == to_text(actual)


def show(value: object) -> str:
    """Format a value for a message: JSON, shortened."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _SHOWN else f"{part(text, 0, _SHOWN)}... ({len(text)} characters)"


def _without_positions(value: object) -> object:
    """Return data without the positions it was read with."""
    return json.loads(json.dumps(value, default=str))


__all__ = ["NOT_REACHED", "REACHED", "Observed", "check_expectations", "same", "show", "unknown_steps"]
