"""Resolve inputs with one JSON-RPC request per provider: start the program, request all inputs, end it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from gert_jsonrpc import Client, PeerError, RpcError

from gert_core.api import ErrorKind, InputError, StepProblem
from gert_core.kit.processes import start
from gert_input_provider.limits import Within

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gert_core.api import Deadline, InputBinding, Services

TIMEOUT: Final = 30.0
_TRANSPORT: Final = "jsonrpc"
_KEYS: Final = re.compile(r"GERT_.*_KEY.*|GERT_STORE")


def resolve(bindings: Sequence[InputBinding], deadline: Deadline, services: Services) -> Mapping[str, object]:
    """Return the values a provider has; all bindings are of the same one."""
    if not bindings:
        return {}
    name = bindings[0].path.partition(".")[0]
    settings = services.project.providers.get(name) if services.project is not None else None
    if settings is None:
        return {}
    if settings.transport not in (None, _TRANSPORT):
        raise _problem(name, f"has the transport {settings.transport!r}; only {_TRANSPORT!r} is supported", bindings)
    params: dict[str, object] = {"bindings": [{"input": b.name, "path": b.path.partition(".")[2]} for b in bindings]}
    if settings.config:
        params["config"] = settings.config
    program = _program(settings.binary, services)
    result = _call(name, program, params, bindings=bindings, deadline=deadline, services=services)
    return _answers(name, result, bindings)


def _call(
    name: str,
    program: str,
    params: dict[str, object],
    *,
    bindings: Sequence[InputBinding],
    deadline: Deadline,
    services: Services,
) -> object:
    environ = {key: value for key, value in services.environ.items() if not _KEYS.fullmatch(key)}
    try:
        client = Client(start([program], environ=environ, cwd=services.cwd))
    except StepProblem as problem:
        raise _problem(name, f"cannot be started: {problem.message}", bindings) from problem
    try:
        return client.call("resolve", params, Within(deadline, TIMEOUT))
    except RpcError as error:
        raise _problem(name, f"answered with error {error.code}: {error.message}", bindings) from error
    except PeerError as error:
        raise _problem(name, f"gave no valid answer ({error.fault}): {error.message}", bindings) from error
    finally:
        client.close()


def _answers(name: str, result: object, bindings: Sequence[InputBinding]) -> dict[str, object]:
    """Return the requested values; an input missing from the answer is an error unless it has a default."""
    if not isinstance(result, dict):
        raise _problem(name, "answered with something other than a map of inputs", bindings)
    missing = [b for b in bindings if b.name not in result and not b.has_default]
    if missing:
        paths = ", ".join(f"{b.name!r} ({b.path.partition('.')[2]})" for b in missing)
        raise _problem(name, f"has no value for {paths}", missing)
    return {b.name: result[b.name] for b in bindings if b.name in result}


def _program(binary: str, services: Services) -> str:
    """Return the program to start: a path is relative to the project, a bare name is looked up on PATH."""
    if "/" in binary and services.project is not None:
        return str(services.project.root / binary)
    return binary


def _problem(name: str, what: str, bindings: Sequence[InputBinding]) -> InputError:
    inputs = ", ".join(binding.name for binding in bindings)
    return InputError(
        f"the provider {name!r} (inputs: {inputs}) {what}",
        kind=ErrorKind.INPUT_PROVIDER,
        hint=f"correct the provider {name!r} in gert-project.yaml, or give the values when you start the run",
    )


__all__ = ["TIMEOUT", "resolve"]
