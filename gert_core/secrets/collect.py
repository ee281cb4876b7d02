"""Collect the secrets of a run, and which of them each tool receives."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct, field
from msgspec.structs import replace

from gert_core.secrets.environ import child_environ, own_secrets, provider_variables
from gert_core.secrets.forms import MINIMUM
from gert_core.secrets.masker import Masker

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from gert_core.documents.project import Project
    from gert_core.documents.tree import Runbook


_PLAIN: Final = rf"[A-Za-z0-9_-]{{1,{MINIMUM - 1}}}|[a-z]+(?:[A-Z][a-z]+)*(?:[_-][a-z]+)*[0-9]?"
"""A key that is plain, and may stand in the name of a secret: too short to be masked, or a word that fields are called.

Words such as ``user`` and ``clientId`` stand in much else; to hide them would hide that.
"""


class Secrets(Struct, frozen=True, kw_only=True):
    """The secrets of a run: their values, and which of them each tool receives."""

    values: Mapping[str, str | None] = field(default_factory=dict)
    """Every declared name with its value, ``None`` when it is not set (or empty)."""
    runbook: frozenset[str] = frozenset()
    tools: Mapping[str, frozenset[str]] = field(default_factory=dict)
    required: frozenset[str] = frozenset()
    tools_required: Mapping[str, frozenset[str]] = field(default_factory=dict)
    withheld: Mapping[str, str] = field(default_factory=dict)
    """Values that are secret without a declaration: gert's keys, tokens of providers."""

    @property
    def names(self) -> tuple[str, ...]:
        """Every declared name: the runbook's first, then the tools'."""
        return tuple(self.values)

    def allowed(self, tool: str | None = None) -> frozenset[str]:
        """Return the secrets a tool receives: its own and the runbook's, never another tool's."""
        return self.runbook | self.tools.get(tool or "", frozenset())

    def missing(self, tool: str | None = None) -> tuple[str, ...]:
        """Return the required secrets without a value: the runbook's and, with ``tool``, that tool's."""
        wanted = self.required | self.tools_required.get(tool or "", frozenset())
        if not wanted:
            return ()
        return tuple(name for name, value in self.values.items() if name in wanted and not value)

    def refusal(self, missing: Sequence[str], tool: str | None = None) -> str:
        """Return the sentence about required secrets without a value."""
        own, others = self.required.issuperset(missing), self.required.isdisjoint(missing)
        who = "the runbook requires" if own else f"tool `{tool}` requires"
        if not own and not others:
            who = f"the runbook and tool `{tool}` require"
        *first, last = (f"`{name}`" for name in missing)
        if not first:
            return f"{who} secret {last}, which is not set"
        return f"{who} secrets {', '.join(first)} and {last}, which are not set"

    @property
    def lacks_required(self) -> bool:
        """Whether a required secret of the runbook or of any of its tools has no value."""
        if all(self.values.values()):
            return False
        wanted = self.required.union(*self.tools_required.values())
        return any(name in wanted and not value for name, value in self.values.items())

    def present(self, names: Iterable[str]) -> dict[str, bool]:
        """Return for each name whether it has a value."""
        return {name: bool(self.values.get(name)) for name in names}

    def child_environ(self, environ: Mapping[str, str], tool: str | None = None) -> dict[str, str]:
        """Return the environment of a child process of ``tool``."""
        return child_environ(environ, self.allowed(tool), declared=(*self.values, *self.withheld))

    def masker(self, inputs: Mapping[str, object] | None = None, *, placeholders: bool = False) -> Masker:
        """Return the masker of the run; ``inputs`` are the values of inputs declared ``secret: true``.

        Those of a scenario are ``placeholders``, of which some, such as 0, are too short to be masked, and need not be.
        """
        known: dict[str, str | float | None] = dict(self.values)
        for name, value in (inputs or {}).items():
            for label, leaf in leaves(name, value):
                if placeholders and len(str(leaf)) < MINIMUM:
                    continue
                known[label if known.get(label, leaf) == leaf else f"input.{label}"] = leaf
        masker = Masker(known, always=self.withheld)
        former = (pair for name, value in (inputs or {}).items() for pair in _former(name, name, value))
        masker.former = {old: now for old, now in former if old not in known}
        return masker


def collect(
    runbook: Runbook, environ: Mapping[str, str], project: Project | None = None, *, store: Iterable[str] = ()
) -> Secrets:
    """Collect the secrets that the runbook and each of its tools declare, with their values in ``environ``.

    Variables that the project names as a provider's, that a secret input comes from, that the driver of the ``store``
    reads, and gert's own keys are withheld: masked in everything, and given to no tool that does not declare them.
    """
    own = list(runbook.model.meta.secrets or ())
    tools = {name: list(node.tool.all_secrets) for name, node in runbook.tools.items()}
    names = dict.fromkeys(s.env for group in (own, *tools.values()) for s in group)
    hidden = own_secrets(environ, store)
    for name in withheld(project) | _input_variables(runbook):
        if environ.get(name) and name not in names:
            hidden[name] = environ[name]
    return Secrets(
        values={name: environ.get(name) or None for name in names},
        runbook=frozenset(s.env for s in own),
        tools={name: frozenset(s.env for s in group) for name, group in tools.items()},
        required=frozenset(s.env for s in own if s.required),
        tools_required={name: frozenset(s.env for s in group if s.required) for name, group in tools.items()},
        withheld=hidden,
    )


def withheld(project: Project | None) -> frozenset[str]:
    """Return the variables that a project file names for approvals, providers, plugins: each ``*_env``, ``env/NAME``.

    The whole file is looked at, so that no part of it can name one that reaches every tool.
    """
    if project is None:
        return frozenset()
    if project.document is not None:
        return provider_variables(project.document.value)
    providers = [provider.config for provider in project.model.providers.values()]
    return provider_variables([project.plugin_config, project.approval_config, providers])


def joined(each: Sequence[Secrets]) -> list[Secrets]:
    """Return the secrets of several documents, each of which knows those of all: to mask them, and to withhold them."""
    values: dict[str, str | None] = {}
    hidden: dict[str, str] = {}
    for one in each:
        values |= one.values
        hidden |= one.withheld
    return [replace(one, values=values, withheld=hidden) for one in each]


def _input_variables(runbook: Runbook) -> frozenset[str]:
    """Return the variables that secret inputs come from, and those with addresses that people are told at."""
    inputs, told = runbook.model.meta.inputs.values(), runbook.model.meta.on_outcome
    return provider_variables([*(model.from_ for model in inputs if model.secret and model.from_), told])


def leaves(name: str, value: Any) -> Iterator[tuple[str, str | float]]:
    """Yield the simple values in a secret value, and the keys that are not plain, each with its path behind the name.

    A path has no key that is masked itself or that a name cannot have: such a one is named by its place.
    """
    if isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from leaves(f"{name}.{index}", item)
    elif hasattr(value, "keys"):
        for index, key in enumerate(map(str, value)):
            if len(key) >= MINIMUM and not re.fullmatch(_PLAIN, key):
                yield f"{name}.key#{index}", key
        for label, key in _paths(value):
            yield from leaves(f"{name}.{label}", value[key])
    elif value is not None and not isinstance(value, bool):
        yield name, value if isinstance(value, (int, float)) else str(value)


def _paths(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield each key of a map with what stands for it in a path."""
    for index, key in enumerate(value):
        yield str(key) if re.fullmatch(_PLAIN, str(key)) else f"#{index}", key


def _former(name: str, now: str, value: Any) -> Iterator[tuple[str, str]]:
    """Yield the names that gert 0.1 gave to parts of a secret value, with those they have now."""
    if isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from _former(f"{name}.{index}", f"{now}.{index}", item)
    elif hasattr(value, "keys"):
        for label, key in _paths(value):
            yield from _former(f"{name}.{key}", f"{now}.{label}", value[key])
    elif name != now:
        yield name, now


__all__ = ["Secrets", "collect", "joined", "leaves", "withheld"]
