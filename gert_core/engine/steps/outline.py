"""What a dry-run and a probe tell of a step, beside what is evaluated: its detail, its loop, its blocks, its fields."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gert_core.api import CLEANUP_TIMEOUT
from gert_core.engine.progress import Outline
from gert_core.engine.view import View
from gert_core.explain.words import (
    ARTIFACTS,
    RETRY,
    SCOPE,
    artifact_words,
    block_words,
    detail_of,
    loop_words,
    notes_of,
)
from gert_core.plugin.functions import PluginFault
from gert_core.template import Symbol, TemplateError, to_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gert_core.api import Block
    from gert_core.engine.steps.execution import StepExecution


def outline_of(execution: StepExecution) -> Outline:
    """Return what is known of a step that is rendered, or of one item of its loop."""
    return Outline(
        detail=_detail(execution),
        blocks=tuple(_blocks(execution)),
        notes=tuple(_notes(execution)),
    )


def outline_loop(execution: StepExecution) -> Outline:
    """Return what is known of a loop before its items."""
    return Outline(loop=loop_words(execution.compiled.node))


def _detail(execution: StepExecution) -> str:
    compiled = execution.compiled
    if compiled.use is not None:  # its command is shown
        return ""
    try:
        return detail_of(execution.facts.runbook, compiled.node, execution.step)
    except PluginFault as fault:  # a step that can be executed does not fail because it cannot be described
        return f"({fault.message})"


def _blocks(execution: StepExecution) -> Iterator[str]:
    compiled = execution.compiled
    if compiled.node.blocks:
        try:
            found = execution.facts.runbook.functions.blocks(compiled.node, execution.step)
        except PluginFault:  # the step itself says so
            found = ()
        yield from (block_words(block) for block in found if _says_more(block))
    yield from (f"runbook {node.name}" for node in compiled.node.includes)


def _says_more(block: Block) -> bool:
    """Return whether there is more to say of a block than what the lines of its steps tell."""
    return bool(block.label or block.after or (block.cleanup and block.timeout != CLEANUP_TIMEOUT))


def _notes(execution: StepExecution) -> Iterator[tuple[str, str]]:
    for word, text in notes_of(execution.facts.runbook, execution.compiled.node):
        if word == ARTIFACTS and execution.compiled.leaf:  # others are told before their blocks run
            yield word, ", ".join(_artifacts(execution))
        elif word != RETRY:  # it is evaluated: not every step may be retried
            yield word, _scope(execution, text) if word == SCOPE else text


def _artifacts(execution: StepExecution) -> Iterator[str]:
    """Yield the artifacts of a leaf, or of one item of its loop, their paths as far as they are decided."""
    node, kept = execution.compiled.node, execution.compiled.artifacts
    names = execution.facts.compiled.contracts.outputs(node)
    view = View(execution.layer, {name: Symbol(f"{{{{ .{name} }}}}") for name in names})
    for one, written in zip(kept, artifact_words(node), strict=True):
        if not one.file or one.source.static:
            yield written
            continue
        try:
            path = to_text(one.source.render_partial(view))
        except TemplateError:  # a violation in a real run, which has acted then
            yield written
        else:
            yield path if one.key is None else f"{one.key} ({path})"


def _scope(execution: StepExecution, written: str) -> str:
    """Return the scope of a step, or of one item of its loop, as far as it is decided."""
    template = execution.compiled.scope
    if template is None or template.static:
        return written
    try:
        return to_text(template.render_partial(execution.layer))
    except TemplateError:  # the step itself says so
        return written


__all__ = ["outline_loop", "outline_of"]
