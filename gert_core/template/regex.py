"""Regular expressions whose time is bounded, for ``matches``, asserts and extraction.

Python's own engine backtracks without end on patterns like ``(a+)+$`` and cannot be interrupted, so it is used only
where an estimate says that it is quick. Everything else is searched by a backtracker that never tries the same
instruction at the same place twice, finds the same match, and gives up after a fixed number of steps.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from gert_core.template.errors import TemplateError
from gert_core.template.regex_program import (
    ATOM,
    JUMP,
    LITERAL,
    MATCH,
    RUN,
    SAVE,
    SPLIT,
    ZERO,
    Program,
    compile_program,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_STEPS: Final = 400_000
_QUICK: Final = 2_000_000
_QUICK_LINEAR: Final = 200_000_000


class Found:
    """A match, with the part of ``re.Match`` that templates and extraction use."""

    __slots__ = ("_names", "_spans", "_text")

    def __init__(self, text: str, spans: list[int], names: dict[str, int]) -> None:
        self._text = text
        self._spans = spans
        self._names = names

    def group(self, which: int | str = 0) -> str | None:
        """The text of a group; None if it took no part."""
        start, end = self.span(which)
        return None if start < 0 or end < 0 else self._text[start:end]

    __getitem__ = group

    def span(self, which: int | str = 0) -> tuple[int, int]:
        """Where a group begins and ends."""
        number = self._names[which] if isinstance(which, str) else which
        if not 0 <= 2 * number < len(self._spans):
            raise IndexError("no such group")
        return self._spans[2 * number], self._spans[2 * number + 1]

    def groups(self) -> tuple[str | None, ...]:
        """The texts of all groups but the whole."""
        return tuple(self.group(number) for number in range(1, len(self._spans) // 2))

    def start(self, which: int | str = 0) -> int:
        """Where a group begins."""
        return self.span(which)[0]

    def end(self, which: int | str = 0) -> int:
        """Where a group ends."""
        return self.span(which)[1]


def check_pattern(pattern: str) -> None:
    """Refuse a pattern that is wrong or cannot be searched in bounded time; nothing is searched."""
    _compiled(pattern)


def matches(pattern: str, text: str) -> re.Match[str] | Found | None:
    """The first match of ``pattern`` anywhere in ``text``, as ``re.search`` finds it; ``TemplateError`` when it
    would take too long."""
    program, quick = _compiled(pattern)
    if _is_quick(program, len(text)):
        return quick.search(text)
    return _search(program, text)


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> tuple[Program, re.Pattern[str]]:
    try:
        program = compile_program(pattern)
        return program, re.compile(pattern)
    except (re.error, OverflowError, RecursionError, ValueError) as error:
        raise TemplateError(f"the pattern is not a regular expression: {error}") from None


def _is_quick(program: Program, length: int) -> bool:
    """Whether ``re`` cannot take long: every loop, and the search itself, may cost a pass over the text."""
    if program.nested or program.choices > 12:
        return False
    counted: int = sum(step[2] for step in program.code if step[0] == RUN)
    per_start = (len(program.code) + counted) << program.choices
    if not program.loops:
        return (length + 1) * per_start <= _QUICK_LINEAR
    passes: int = pow(length + 1, min(program.loops, 5) + 1)
    return program.loops <= 5 and per_start * passes <= _QUICK


def _search(program: Program, text: str) -> Found | None:
    run = _Run(program, text)
    for start in _starts(program.first, text):
        if run.attempt(start):
            run.spans[:2] = [start, run.end]
            return Found(text, run.spans, program.names)
    return None


def _starts(first: tuple[Any, ...] | None, text: str) -> Iterator[int]:
    """Where a match can begin at all, found at the speed of C."""
    if first is None:
        yield from range(len(text) + 1)
    elif first[0] == ZERO:
        yield 0
    elif first[0] == LITERAL:
        at = text.find(first[1])
        while at >= 0:
            yield at
            at = text.find(first[1], at + 1)
    else:
        search = first[2] if first[0] == ATOM else first[5]
        found = search(text)
        while found:
            yield found.start()
            found = search(text, found.start() + 1)


class _Run:
    """One search: what has been tried stays tried for every later start, because it does not depend on the start."""

    def __init__(self, program: Program, text: str) -> None:
        self.program = program
        self.text = text
        self.spans = [-1] * (2 * program.groups + 2)
        self.end = 0
        self._steps = MAX_STEPS
        self._scanned = 0
        self._width = len(text) + 1
        self._seen: set[int] = set()
        self._reach: dict[int, tuple[int, int]] = {}
        self._tried: dict[int, tuple[int, int]] = {}

    def attempt(self, start: int) -> bool:
        """Whether a match begins at ``start``; ``spans`` and ``end`` then say where it is."""
        code, text, seen, width, spans = self.program.code, self.text, self._seen, self._width, self.spans
        spans[:] = [-1] * len(spans)
        # Entries: (pc, at) to go on there, (-1 - slot, old) to restore a group, (pc, low, high) for a run's ends.
        stack: list[tuple[int, ...]] = [(0, start)]
        steps = self._steps
        while stack:
            entry = stack.pop()
            pc = entry[0]
            if pc < 0:
                spans[-1 - pc] = entry[1]
                continue
            if len(entry) == 3:
                at = self._next_end(pc, entry[1], entry[2], stack)
                if at < 0:
                    continue
                pc += 1
            else:
                at = entry[1]
            while True:
                steps -= 1
                if steps < 0:
                    raise TemplateError(
                        "the pattern takes too long on this text", hint="anchor it, or make its parts more exact"
                    )
                place = pc * width + at
                if place in seen:
                    break
                seen.add(place)
                step = code[pc]
                kind = step[0]
                if kind == LITERAL:
                    if not text.startswith(step[1], at):
                        break
                    at += len(step[1])
                elif kind == ATOM:
                    if at >= width - 1 or step[1](text, at) is None:
                        break
                    at += 1
                elif kind == SPLIT:
                    stack.append((step[2], at))
                    pc = step[1]
                    continue
                elif kind == JUMP:
                    pc = step[1]
                    continue
                elif kind == SAVE:
                    stack.append((-1 - step[1], spans[step[1]]))
                    spans[step[1]] = at
                elif kind == ZERO:
                    if step[1](text, at) is None:
                        break
                elif kind == RUN:
                    low, high = at + step[2], self._run_end(pc, at)
                    steps -= self._scanned
                    self._scanned = 0
                    if high >= low:
                        stack.append((pc, low, high))
                    break
                elif kind == MATCH:
                    self.end = at
                    return True
                pc += 1
        self._steps = steps - 1
        return False

    def _run_end(self, pc: int, at: int) -> int:
        """How far a repeated character goes; from inside a known stretch it goes as far as that."""
        _, run, _, most, *_ = self.program.code[pc]
        known = self._reach.get(pc)
        if known is None or not known[0] <= at <= known[1]:
            before = known is not None and at < known[0]
            end = run(self.text, at, known[0]).end() if known and before else run(self.text, at).end()
            # Even C takes time: a long stretch counts as some steps.
            self._scanned += (end - at) >> 6
            known = (at, known[1] if known and before and end == known[0] else end)
            self._reach[pc] = known
        return known[1] if most is None else min(known[1], at + most)

    def _next_end(self, pc: int, low: int, high: int, stack: list[tuple[int, ...]]) -> int:
        """The next end of a run to go on from, by preference, leaving out the stretch already tried."""
        greedy = self.program.code[pc][4]
        tried = self._tried.get(pc)
        at = high if greedy else low
        if tried and tried[0] <= at <= tried[1]:
            at = tried[0] - 1 if greedy else tried[1] + 1
            if not low <= at <= high:
                return -1
        if greedy and at > low:
            stack.append((pc, low, at - 1))
        elif not greedy and at < high:
            stack.append((pc, at + 1, high))
        if tried and at == tried[0] - 1:
            self._tried[pc] = (at, tried[1])
        elif tried and at == tried[1] + 1:
            self._tried[pc] = (tried[0], at)
        else:
            self._tried[pc] = (at, at)
        return at


__all__ = ["Found", "check_pattern", "matches"]
