"""Show a dry-run or probe: per step what would happen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gert_core.cli.render.lines import indent_of
from gert_core.cli.render.progress import TerminalProgress
from gert_core.cli.render.values import named
from gert_core.explain.words import retry_words
from gert_core.plugin.printing import real_stdout

if TYPE_CHECKING:
    from gert_core.engine.progress import Evaluation, Outline, StepInfo
    from gert_core.engine.run import Run


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
        self._detail(evaluation.outline, indent=indent)
        contract, decision = evaluation.contract, evaluation.decision
        words = [f"effects {_tags(contract.effects)}", f"writes {_tags(contract.writes)}"]
        words += [word for word in ("idempotent", "deterministic") if getattr(contract, word)]
        self._print(f"{indent}contract: {', '.join(words)}")
        self._print(f"{indent}governance: {decision.action} (risk {decision.risk}). {decision.reason}")
        if evaluation.asks:
            for line in named("asks:", evaluation.asks, indent=indent, mask=self.mask):
                self._print(line, masked=True)
        if evaluation.terms:
            self._row("demands", evaluation.terms, indent=indent)
        if evaluation.lacking:
            self._row("approvers", evaluation.lacking, indent=indent)
        for name, value in evaluation.inputs.items():
            for line in named(f"input {name} =", value, indent=indent, mask=self.mask):
                self._print(line, masked=True)
        self._command(evaluation.command, indent=indent)
        for name, present in evaluation.secrets.items():
            self._print(f"{indent}secret {name}: {_presence(present)}")
        if evaluation.retry is not None:
            self._print(f"{indent}retry: {retry_words(evaluation.retry)}")
        if evaluation.platforms:
            self._print(f"{indent}platform: {', '.join(evaluation.platforms)}")
        self._notes(evaluation.outline, indent=indent)

    def outlined(self, step: StepInfo, outline: Outline) -> None:
        if step.quiet and (outline.detail or outline.blocks or outline.loop or outline.notes):
            self._step(step, ("·", ""))
        indent = indent_of(step) + "    "
        self._detail(outline, indent=indent)
        self._notes(outline, indent=indent)

    def _detail(self, outline: Outline, *, indent: str) -> None:
        for word, text in (("loop", outline.loop), ("detail", outline.detail)):
            if text:
                self._row(word, text, indent=indent)
        for text in outline.blocks:
            self._row("block", text, indent=indent)

    def _notes(self, outline: Outline, *, indent: str) -> None:
        for word, text in outline.notes:
            self._row(word, text, indent=indent)

    def _row(self, word: str, text: str, *, indent: str) -> None:
        for line in named(f"{word}:", text, indent=indent, mask=self.mask):
            self._print(line, masked=True)


def _presence(present: bool) -> str:
    return "present" if present else "missing"


def _tags(tags: tuple[str, ...]) -> str:
    return ", ".join(tags) or "none"


__all__ = ["DryProgress"]
