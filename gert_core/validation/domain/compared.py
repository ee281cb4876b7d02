"""Warn about statuses of steps and categories of outcomes that are compared with a word which they never have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from gert_core.kit.nearest import nearest
from gert_core.kit.outcomes import CATEGORY_WORDS
from gert_core.template.tree import Const, Default, Items, Path
from gert_core.validation.domain.expressions import offset_of
from gert_core.validation.domain.report import listing
from gert_core.validation.domain.tested import CATEGORIES, STATUSES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gert_core.template.tree import Call
    from gert_core.validation.domain.expressions import TemplateText
    from gert_core.validation.domain.references import References
    from gert_core.validation.domain.scalars import FoundCall

_STATUS, _CATEGORY = "status", "category"
_WORDS: Final = {_STATUS: STATUSES | {"running"}, _CATEGORY: CATEGORIES}
_COMPARE: Final = frozenset({"eq", "ne", "in", "not in"})
_MEANT: Final = {
    "ok": "success",
    "succeeded": "success",
    "passed": "success",
    "completed": "success",
    "failure": "failed",
    "pending": "not_run",
}
"""What other systems call a status."""


class ComparedWord(NamedTuple):
    """A path that is compared with a word."""

    path: tuple[str, ...]
    word: str
    offset: int


def compared_words(text: object, calls: Iterable[FoundCall]) -> tuple[ComparedWord, ...]:
    """Return the words that a template compares statuses and categories with, of those that these never have."""
    if not isinstance(text, str) or not (_STATUS in text or _CATEGORY in text):
        return ()
    return tuple(
        ComparedWord(path.segments, word, offset + path.offset)
        for offset, call in calls
        if call.function.name in _COMPARE
        for path, word in _impossible(call)
    )


def _impossible(call: Call) -> Iterator[tuple[Path, str]]:
    args = [arg.value if isinstance(arg, Default) else arg for arg in call.args]
    words = [item for arg in args for item in (arg.items if isinstance(arg, Items) else (arg,))]
    for path in args:
        if isinstance(path, Path) and path.segments[-1] in _WORDS:
            known = _WORDS[path.segments[-1]]
            for word in words:
                if isinstance(word, Const) and isinstance(word.value, str) and word.value not in known:
                    yield path, word.value


def check_compared(refs: References, text: TemplateText, uses: Sequence[ComparedWord]) -> None:
    """Warn where it is the status of a step itself, or the category of an included runbook's outcome."""
    for use in uses:
        if not _is_own(refs, use.path):
            continue
        known = sorted(_WORDS[use.path[-1]])
        also = _MEANT if use.path[-1] == _STATUS else CATEGORY_WORDS
        near = nearest(use.word, known, also=also)
        shown = "." + ".".join(use.path)
        refs.ctx.add(
            "never-equal",
            f"`{shown}` is never `{use.word}`: it is one of {listing(known)}",
            path=text.path,
            hint=f"write `{near}`" if near else "write one of these",
            offset=offset_of(text.value, path=use.path, offset=use.offset),
        )


def _is_own(refs: References, path: tuple[str, ...]) -> bool:
    """Return whether a path leads to what gert itself says about a step, not to an output of that name."""
    names, by_id = refs.env.names, refs.ctx.runbook.by_id
    explicit = path[0] == "step" and path[0] not in names
    name, *rest = path[1:] if explicit else path
    step = by_id.get(name)
    if step is None or (step.fields.for_each is not None and not explicit):
        return False
    if rest == [_STATUS]:
        return explicit or _STATUS not in refs.facts.of(step).outputs
    return bool(step.type.included_outcome) and rest == [step.type.included_outcome, _CATEGORY]


__all__ = ["ComparedWord", "check_compared", "compared_words"]
