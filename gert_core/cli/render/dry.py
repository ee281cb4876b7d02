"""Show a dry-run or probe: per step what would happen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gert_core.cli.render.lines import indent_of
from gert_core.cli.render.progress import TerminalProgress
from gert_core.cli.render.values import named
from gert_core.kit.time_spans import duration_text
from gert_core.plugin.printing import real_stdout

if TYPE_CHECKING:
    from gert_core.documents.retry import RetryPolicy
    from gert_core.engine.progress import Evaluation, StepInfo
    from gert_core.engine.run import Run

_PAUSES: Final = 5
"""The number of pauses that are listed of a retry policy."""


class DryProgress(TerminalProgress):
    """Shows per step what would happen: contract, decision, resolved inputs, secrets and platform.

    That is the result of a dry-run, so it goes to standard output.
    """

    def attach(self, run: Run) -> None:
        """Take the run, and show the secrets of the runbook itself, and whether each has a value."""
        super().attach(run)
        for name, present in sorted(run.facts.secrets.present(run.facts.secrets.runbook).items()):
            self._print(f"secret {name}: {_presence(present)}")

    def close(self) -> None:
        """Remove the block from the screen; raise ``OSError`` when a part of the result was not written."""
        super().close()
        lost = self._screen.lost
        if lost is not None and self._stream is real_stdout():
            raise lost

    def evaluated(self, step: StepInfo, evaluation: Evaluation) -> None:
        if step.quiet:  # it has no line of its own that these could stand under
            self._step(step, ("·", ""))
        indent = indent_of(step) + "    "
        contract, decision = evaluation.contract, evaluation.decision
        words = [f"effects {_tags(contract.effects)}", f"writes {_tags(contract.writes)}"]
        words += [word for word in ("idempotent", "deterministic") if getattr(contract, word)]
        self._print(f"{indent}contract: {', '.join(words)}")
        self._print(f"{indent}governance: {decision.action} (risk {decision.risk}). {decision.reason}")
        if evaluation.asks:
            for line in named("asks:", evaluation.asks, indent=indent, mask=self.mask):
                self._print(line, masked=True)
        for name, value in evaluation.inputs.items():
            for line in named(f"input {name} =", value, indent=indent, mask=self.mask):
                self._print(line, masked=True)
        self._command(evaluation.command, indent=indent)
        for name, present in evaluation.secrets.items():
            self._print(f"{indent}secret {name}: {_presence(present)}")
        if evaluation.retry is not None:
            self._print(f"{indent}retry: {_policy(evaluation.retry)}")
        if evaluation.artifacts:
            self._print(f"{indent}artifacts: {', '.join(evaluation.artifacts)}")
        if evaluation.platforms:
            self._print(f"{indent}platform: {', '.join(evaluation.platforms)}")


def _presence(present: bool) -> str:
    return "present" if present else "missing"


def _policy(policy: RetryPolicy) -> str:
    """Return a retry policy in words: ``up to 3 attempts, after 2s, 4s``."""
    shown = min(policy.max - 1, _PAUSES)
    pauses = ", ".join(duration_text(policy.pause(number)) for number in range(1, shown + 1))
    more = ", …" if policy.max - 1 > shown else ""
    kinds = f", on {', '.join(sorted(policy.on))}" if policy.on is not None else ""
    return f"up to {policy.max} attempts, after {pauses}{more}{kinds}"


def _tags(tags: tuple[str, ...]) -> str:
    return ", ".join(tags) or "none"


__all__ = ["DryProgress"]
