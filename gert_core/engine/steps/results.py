"""Check what the ``run`` of a step type returns, and name its plugin where that is unusable."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from gert_core.api import Completed, Ended, Errored, Failed, Flow, Outcome, OutcomeCategory, Principal
from gert_core.documents.type_functions import outcome_of
from gert_core.plugin.functions import Unusable, a_kind_of, plugin_fault
from gert_core.plugin.kinds import STEP

if TYPE_CHECKING:
    from gert_core.api import Result
    from gert_core.engine.steps.execution import StepExecution
    from gert_core.plugin.functions import PluginFault


def type_fault(execution: StepExecution, function: str, error: BaseException) -> PluginFault:
    """Return the error of a function of the step's type."""
    name = execution.compiled.type.name
    return plugin_fault(execution.facts.registry.providers(STEP, name), f"`{function}` of step type {name!r}", error)


def checked(execution: StepExecution, result: Result) -> Result:
    """Return a type's result if it is one of the four kinds, well formed and allowed for its flow; else an error."""
    if (
        type(result) is Completed
        and type(result.outputs) is type(result.fields) is type(result.detail) is dict
        and result.principal is None
    ):
        return result  # nearly every result; what follows takes five times as long
    try:
        _check(execution, result)
    except Unusable as error:
        fault = type_fault(execution, "run", error)
        return Errored(kind=fault.kind, message=fault.message)
    return result


def _check(execution: StepExecution, result: Result) -> None:
    if isinstance(result, Ended):
        if execution.compiled.type.flow is not Flow.TERMINAL:
            raise Unusable("it ended the run, but is not a terminal step type")
        _check_outcome(outcome_of(result.outcome), partial=execution.undecided is not None)
        return
    if not isinstance(result, _RESULTS):
        raise Unusable(f"it returned {a_kind_of(result)}, not a result")
    for name, value in (("outputs", result.outputs), ("fields", result.fields), ("detail", result.detail)):
        if type(value) is not dict and not isinstance(value, Mapping):
            raise Unusable(f"the {name} of its result are {a_kind_of(value)}, not a map")
    if result.principal is not None and not isinstance(result.principal, Principal):
        raise Unusable(f"the principal of its result is {a_kind_of(result.principal)}, not a Principal")
    if not isinstance(result, Completed) and not (isinstance(result.kind, str) and isinstance(result.message, str)):
        raise Unusable("the kind or the message of its result is not a string")


def _check_outcome(outcome: Outcome, *, partial: bool) -> None:
    if not partial and outcome.category not in _CATEGORIES:
        raise Unusable(f"its outcome has the category {outcome.category!r}, which is none of {', '.join(_CATEGORIES)}")


_RESULTS = (Completed, Failed, Errored)
_CATEGORIES = tuple(str(category) for category in OutcomeCategory)

__all__ = ["checked", "type_fault"]
