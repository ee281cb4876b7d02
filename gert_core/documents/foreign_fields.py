"""Hints about words for fields of steps: the fields that all steps have here, or where else that is written."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from gert_core.documents.fields import NAME_PATTERN
from gert_core.documents.model_hints import WRITTEN_AS

if TYPE_CHECKING:
    from collections.abc import Mapping

LOOPS: Final = frozenset({"loop", "with_items", "with_list", "with_dict", "foreach", "forEach", "each", "matrix"})
_RETRIES: Final = frozenset({"retries", "attempts", "maxAttempts", "max_attempts", "delay"})
_CONDITIONS: Final = frozenset({"if", "condition", "precondition", "only_if"})
JUMPS: Final = frozenset({"nextStep", "next_step", "goto", "on-success", "on_success", "on-complete", "on_complete"})
_RESULTS: Final = frozenset({"register", "publish", "save_as", "store_as", "capture", "outputs"})
_TITLES: Final = frozenset({"title", "label", "displayName", "display_name", "comment", "note", "msg"})
_GOES_ON: Final = frozenset(
    {"ignore_errors", "allow_failure", "allowFailure", "continueOnError", "continue-on-error", "continue_on_error"}
)
SETTERS: Final = frozenset({"set_fact", "set_stats", "updateVariable", "set_variable", "set", "vars", "variables"})
_TARGETS: Final = {
    **dict.fromkeys(LOOPS, "for_each"),
    **dict.fromkeys(_RETRIES, "retry"),
    **dict.fromkeys(JUMPS, "next"),
    **dict.fromkeys((*_GOES_ON, "isCritical"), "continue_on_fail"),
    **dict.fromkeys(_CONDITIONS, "when"),
    **dict.fromkeys(_TITLES, "description"),
    "until": "retry",
}
"""Fields that every step has, by what other tools call them."""
_IN_ACTIONS: Final = {
    **dict.fromkeys(("command", "cmd", "shell", "script", "exec", "run", "argv", "inline"), "argv"),
    **dict.fromkeys(("env", "environment", "envs"), "env"),
    "stdin": "stdin",
}
_ROOT: Final = ": programs run as the user of gert, or with `sudo` in the `argv` of the tool"
_HOSTS: Final = ": programs run on the machine of gert, or with `ssh` in the `argv` of the tool"
_NOWHERE: Final = {
    **dict.fromkeys(("become", "become_user", "become_method", "sudo", "run_as"), _ROOT),
    **dict.fromkeys(("delegate_to", "hosts", "local_action"), _HOSTS),
    **dict.fromkeys(("notify", "handlers"), ", and write the step that it names behind this one"),
    "changed_when": ": no step has the status `changed`",
    "failed_when": ", and write the exit codes that are answers as `exit_codes` of an action in the file of the tool",
    "no_log": ", and write `secret: true` at the outputs in the contract of the tool",
    "check_mode": ": `gert exec --mode dry-run` does that for the whole run",
    "run_once": ": a step without `for_each` runs once",
    "loop_control": ": the variable of a loop is called `as` in `for_each`",
    "onCancel": ": a step that is cancelled ends the run anyway",
    **dict.fromkeys(("tags", "labels"), ", or move it into `extensions` if another program reads it"),
    **dict.fromkeys(
        ("cwd", "chdir", "workdir", "working_directory"), ": `meta` in the file of a tool has it, as `cwd`"
    ),
}
"""What to do instead about words that no step has a field for."""
UNDER_META: Final = "under `meta`, as `constants: {NAME: VALUE}`"
_ATTEMPTS: Final = 3
_LONGEST: Final = 60


def word_of_steps(name: str, raw: Mapping[str, Any]) -> str | None:
    """Return which field that every step has is meant."""
    value, hint = raw.get(name), None
    if _TARGETS.get(name) in raw:
        hint = f"remove it: `{_TARGETS[name]}` is there already"
    elif name in LOOPS:
        hint = f"write `for_each: {{as: item, over: {over(value)}}}`; the item is `.item` then"
    elif name in _RETRIES:
        hint = f"write `{_retry_field(raw)}`"
    elif name == "until":
        hint = f"write `{_retry_field(raw)}` to attempt the step again while it fails"
    elif name in _RESULTS:
        hint = _register(raw.get("id"), value)
    elif name in JUMPS:
        hint = f"write `next: {value}`" if _is_name(value) else "the field is called `next`"
    elif name in _CONDITIONS:
        hint = "the field is called `when`"
    elif name in _TITLES:
        hint = WRITTEN_AS.replace("NAME", _TARGETS[name])
    elif name in SETTERS:
        hint = f"remove it, and write its values {UNDER_META}"
    elif name == "name":
        hint = f"write `id: {value}`" if "id" not in raw and _is_name(value) else "the field is called `description`"
    else:
        hint = _time(name, value, raw) or _when(name, value, raw) or _failure(name, value)
    return hint


def told_elsewhere(name: str) -> str | None:
    """Return what to do about a word of other tools that no step has a field for."""
    if name in _IN_ACTIONS:
        return f"remove it: the file of a tool has it, as `{_IN_ACTIONS[name]}` of an action"
    return f"remove it{_NOWHERE[name]}" if name in _NOWHERE else None


def _time(name: str, value: object, raw: Mapping[str, Any]) -> str | None:
    """Return the timeout that a number of some unit is."""
    found = re.fullmatch(r"timeout[-_]?(?:in)?[-_]?(seconds|secs|minutes|hours)", name, re.IGNORECASE)
    if found is None or not isinstance(value, int) or isinstance(value, bool):
        return None
    return (
        "remove it: `timeout` is there already"
        if "timeout" in raw
        else f"write `timeout: {value}{found[1][0].lower()}`"
    )


def _when(name: str, value: object, raw: Mapping[str, Any]) -> str | None:
    """Return how a step is left out."""
    out = {"enabled": value is False, "disabled": value is True, "skip": value is True}.get(name)
    if out is None or not isinstance(value, bool):
        return None
    if not out:
        return "remove it: a step is run anyway"
    return "write `when: false`" + (" in place of its `when`" if "when" in raw else "")


def _failure(name: str, value: object) -> str | None:
    """Return how a step says what its failure does to the run."""
    goes_on = {"isCritical": value is False, "onFailure": str(value) == "Continue"}
    ends = {"isCritical": value is True, "onFailure": str(value) == "Abort"}
    if goes_on.get(name, name in _GOES_ON and value is True):
        return "write `continue_on_fail: true`"
    return (
        "remove it: a step that fails ends the run anyway"
        if ends.get(name, name in _GOES_ON and value is False)
        else None
    )


def foreign_retry(name: str, written: Mapping[str, Any]) -> str | None:
    """Return what a number of attempts inside ``retry`` is called here."""
    if name not in _RETRIES:
        return None
    if "max" in written:
        return "remove it: `max` is there already"
    most = _attempts(name, written[name]) or _ATTEMPTS
    return f"write `max: {most}`, the number of attempts, the first one included"


def _retry_field(raw: Mapping[str, Any]) -> str:
    """Return the field ``retry`` that says what a step says in other words."""
    most = next((_attempts(name, raw[name]) for name in raw if name in _RETRIES and name != "delay"), None)
    delay = raw.get("delay")
    unit = "s" if isinstance(delay, int) else ""
    pause = f", delay: {delay}{unit}" if isinstance(delay, (int, str)) and re.fullmatch(r"\w+", str(delay)) else ""
    return f"retry: {{max: {most or _ATTEMPTS}{pause}}}"


def _attempts(name: str, value: object) -> int | None:
    """Return how many attempts a number of attempts or of retries makes, the first one included."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        return None
    return value + 1 if name == "retries" else value


def _register(step_id: object, value: object) -> str:
    if isinstance(step_id, str):
        return f"remove it: the outputs of this step are at `.{step_id}`, such as `.{step_id}.NAME`"
    return f"write `id: {value if _is_name(value) else 'look'}`; the outputs are below that name then"


def over(value: object) -> str:
    """Return what a loop iterates over as it is written inside braces, where it is a short template."""
    if isinstance(value, str) and value.startswith("{{") and len(value) <= _LONGEST:
        quote = "'" if "'" not in value else '"'
        return f"{quote}{value}{quote}"
    return "[...]"


def _is_name(value: object) -> bool:
    return isinstance(value, str) and re.search(NAME_PATTERN, value) is not None


__all__ = ["JUMPS", "LOOPS", "SETTERS", "UNDER_META", "foreign_retry", "over", "told_elsewhere", "word_of_steps"]
