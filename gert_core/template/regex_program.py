"""Regular expressions as a small program: the part of Python's syntax that can be searched in bounded time.

Literals, classes, groups, alternatives, repetitions and anchors mean what they mean in ``re``. Back references,
look-around, atomic groups and conditionals have no linear-time search and are refused.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct, field

from gert_core.template.errors import TemplateError

if TYPE_CHECKING:
    from collections.abc import Callable

LITERAL, ATOM, ZERO, RUN, SPLIT, JUMP, SAVE, MATCH = range(8)
MAX_PATTERN: Final = 1000
_MAX_PROGRAM: Final = 2000
_MAX_NESTING: Final = 50
_REPEAT: Final = re.compile(r"(?:([*+?])|\{(\d*)(,?)(\d*)\})([?+]?)")
_GROUP: Final = re.compile(r"\(\?(?:P<([^\W\d]\w*)>|([aimsux]*)(?:-([imsx]+))?([:)]))")
_ESCAPE: Final = re.compile(
    r"\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|N\{[^}]*\}|0[0-7]{0,2}|[0-7]{3}|.)", re.DOTALL
)
_FLAGS: Final = {"i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL, "a": re.ASCII, "u": re.RegexFlag(0)}
_META: Final = frozenset(".^$*+?{}[]\\|()")

Instruction = tuple[Any, ...]


class Program(Struct):
    """The instructions, the groups, and how much choice there is (for the estimate of what ``re`` would take)."""

    code: list[Instruction] = field(default_factory=list)
    groups: int = 0
    names: dict[str, int] = field(default_factory=dict)
    loops: int = 0
    choices: int = 0
    nested: bool = False
    first: Instruction | None = None
    """What every match begins with, if that is one literal, class or anchor."""


class _Piece(Struct):
    """A part of the pattern: its instructions with relative jumps; ``atom`` is the source of a single character."""

    code: list[Instruction]
    atom: str | None = None
    loops: bool = False
    empty: bool = False
    """Whether it can match nothing."""


def compile_program(pattern: str) -> Program:
    """The program of a pattern; ``TemplateError`` when it is wrong, too large or not searchable in bounded time."""
    if len(pattern) > MAX_PATTERN:
        raise TemplateError(f"the pattern is longer than {MAX_PATTERN:,} characters")
    parser = _Parser(pattern)
    piece = parser.alternatives()
    if parser.at < len(pattern):
        raise _wrong("unbalanced parenthesis", parser.at)
    program = parser.program
    program.code = [*piece.code, (MATCH,)]
    head = next((step for step in program.code if step[0] != SAVE), None)
    if head and (head[0] in (LITERAL, ATOM) or (head[0] == RUN and head[2]) or head == (ZERO, "\\A")):
        program.first = head
    program.code = [_absolute(step, at, parser) for at, step in enumerate(program.code)]
    if program.first:
        program.first = _absolute(program.first, 0, parser)
    return program


class _Parser:
    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at = 0
        self.flags = re.RegexFlag(0)
        self.depth = 0
        self.program = Program()
        self.testers: dict[tuple[str, int], re.Pattern[str]] = {}
        leading = _GROUP.match(pattern)
        if leading and leading[4] == ")":
            self.flags |= self._flags(leading[2])
            self.at = leading.end()

    def _flags(self, letters: str) -> re.RegexFlag:
        found = re.RegexFlag(0)
        for letter in letters:
            if letter not in _FLAGS:
                raise _wrong(f"the flag {letter} is not supported", self.at)
            found |= _FLAGS[letter]
        return found

    def alternatives(self) -> _Piece:
        options = [self._sequence()]
        while self._peek() == "|":
            self.at += 1
            options.append(self._sequence())
        if len(options) == 1:
            return options[0]
        self.program.choices += len(options) - 1
        code = options[-1].code
        for option in reversed(options[:-1]):
            code = [(SPLIT, 1, len(option.code) + 2), *option.code, (JUMP, len(code) + 1), *code]
        self._fits(code)
        return _Piece(
            code,
            loops=any(option.loops for option in options),
            empty=any(option.empty for option in options),
        )

    def _peek(self) -> str:
        return self.pattern[self.at : self.at + 1]

    def _sequence(self) -> _Piece:
        code: list[Instruction] = []
        loops = literal = False
        empty = True
        while (char := self._peek()) and char not in "|)":
            piece = self._repeated(self._one())
            was, literal = literal, len(piece.code) == 1 and piece.code[0][0] == LITERAL
            if was and literal:
                code[-1] = (LITERAL, code[-1][1] + piece.code[0][1])
            else:
                code += piece.code
            loops = loops or piece.loops
            empty = empty and piece.empty
            self._fits(code)
        return _Piece(code, loops=loops, empty=empty)

    def _one(self) -> _Piece:
        char = self._peek()
        start = self.at
        if char == "(":
            return self._group()
        if char == "[":
            return self._atom(self._set())
        if char == "\\":
            return self._escape()
        self.at += 1
        if char == ".":
            return self._atom(".")
        if char == "^":
            return _Piece([(ZERO, "^" if self.flags & re.MULTILINE else "\\A", int(self.flags))], empty=True)
        if char == "$":
            return _Piece([(ZERO, "$", int(self.flags))], empty=True)
        if char in "*+?" or (char == "{" and _REPEAT.match(self.pattern, start)):
            raise _wrong("nothing to repeat", start)
        return self._literal(char)

    def _literal(self, char: str) -> _Piece:
        if self.flags & re.IGNORECASE:
            return self._atom(re.escape(char))
        return _Piece([(LITERAL, char)], atom=re.escape(char))

    def _atom(self, source: str) -> _Piece:
        return _Piece([(ATOM, source, int(self.flags))], atom=source)

    def _set(self) -> str:
        start = self.at
        at = start + 1
        at += self.pattern[at : at + 1] == "^"
        first = at
        while at < len(self.pattern) and (self.pattern[at] != "]" or at == first):
            pair = self.pattern[at : at + 2]
            if pair in ("--", "&&", "||", "~~") or (self.pattern[at] == "[" and (at == first or pair == "[:")):
                raise _wrong(f"`{pair}` inside [ ] is ambiguous; escape it", at)
            at += 2 if self.pattern[at] == "\\" else 1
        if at >= len(self.pattern):
            raise _wrong("a set [ ] is not closed", start)
        self.at = at + 1
        return self.pattern[start : self.at]

    def _escape(self) -> _Piece:
        found = _ESCAPE.match(self.pattern, self.at)
        if not found:
            raise _wrong("the pattern ends with a backslash", self.at)
        source = found[0]
        letter = source[1]
        if letter in "123456789" and len(source) < 4:
            raise _wrong("back references are not supported", self.at)
        self.at = found.end()
        if letter in "AZbB":
            return _Piece([(ZERO, source, int(self.flags))], empty=True)
        if letter in "dDwWsS" or len(source) > 2 or letter.isalnum():
            return self._atom(source)
        return self._literal(letter)

    def _group(self) -> _Piece:
        start = self.at
        self.depth += 1
        if self.depth > _MAX_NESTING:
            raise _wrong("the groups are nested too deeply", start)
        flags = self.flags
        number = 0
        if self.pattern.startswith("(?", start):
            found = _GROUP.match(self.pattern, start)
            if not found or found[4] == ")":
                raise _wrong("look-around, back references and special groups are not supported", start)
            self.at = found.end()
            if found[1]:
                number = self._number(found[1], start)
            else:
                self.flags = (flags | self._flags(found[2])) & ~self._flags(found[3] or "")
        else:
            self.at += 1
            number = self._number(None, start)
        inner = self.alternatives()
        if self._peek() != ")":
            raise _wrong("a group is not closed", start)
        self.at += 1
        self.flags = flags
        self.depth -= 1
        if not number:
            return inner if inner.atom is None else _Piece(inner.code)
        code = [(SAVE, 2 * number), *inner.code, (SAVE, 2 * number + 1)]
        return _Piece(code, loops=inner.loops, empty=inner.empty)

    def _number(self, name: str | None, at: int) -> int:
        self.program.groups += 1
        if self.program.groups > 50:
            raise _wrong("there are more than 50 groups", at)
        if name:
            self.program.names[name] = self.program.groups
        return self.program.groups

    def _repeated(self, piece: _Piece) -> _Piece:
        found = _REPEAT.match(self.pattern, self.at)
        if not found or (not found[1] and not found[2] and not found[4]):
            return piece
        least, most = _bounds(found, self.at)
        if found[5] == "+":
            raise _wrong("possessive repetition is not supported", self.at)
        if piece.empty and most != 1:
            # Engines disagree about what such a loop matches, and it is where endless searches come from.
            raise _wrong("what is repeated can match nothing", self.at)
        self.at = found.end()
        if _REPEAT.match(self.pattern, self.at) and self._peek() != "{":
            raise _wrong("a repetition cannot be repeated", self.at)
        greedy = not found[5]
        varies = most != least
        self.program.loops += varies and most != 1
        self.program.choices += varies and most == 1
        self.program.nested = self.program.nested or (piece.loops and (most is None or most > 1))
        if piece.atom is not None and (most is None or most > 1):
            flags = int(self.flags)
            return _Piece([(RUN, piece.atom, least, most, greedy, flags)], loops=varies, empty=least == 0)
        code = self._expanded(piece.code, least=least, most=most, greedy=greedy)
        return _Piece(code, loops=piece.loops or varies, empty=least == 0 or piece.empty)

    def _expanded(self, code: list[Instruction], *, least: int, most: int | None, greedy: bool) -> list[Instruction]:
        size = len(code) + 2
        if size * max(least + 1, most or 0) > _MAX_PROGRAM:
            raise _wrong("the repetition is too large", self.at)
        out = code * least
        if most is None:
            return [*out, _split(1, size, greedy=greedy), *code, (JUMP, -(size - 1))]
        tail: list[Instruction] = []
        for _ in range(most - least):
            tail = [_split(1, len(code) + len(tail) + 1, greedy=greedy), *code, *tail]
        return [*out, *tail]

    def _fits(self, code: list[Instruction]) -> None:
        if len(code) > _MAX_PROGRAM:
            raise _wrong("the pattern is too large", self.at)

    def tester(self, source: str, flags: int) -> re.Pattern[str]:
        key = (source, flags)
        if key not in self.testers:
            self.testers[key] = re.compile(source, flags)
        return self.testers[key]


def _split(first: int, second: int, *, greedy: bool) -> Instruction:
    return (SPLIT, first, second) if greedy else (SPLIT, second, first)


def _bounds(found: re.Match[str], at: int) -> tuple[int, int | None]:
    if found[1]:
        return {"*": (0, None), "+": (1, None), "?": (0, 1)}[found[1]]
    if len(found[2]) > 4 or len(found[4]) > 4:
        raise _wrong("the repetition is too large", at)
    least = int(found[2] or 0)
    most = least if not found[3] else int(found[4]) if found[4] else None
    if most is not None and most < least:
        raise _wrong("the repetition's bounds are the wrong way round", at)
    return least, most


def _absolute(step: Instruction, at: int, parser: _Parser) -> Instruction:
    """Relative jumps made absolute, sources of characters and anchors made into matchers."""
    match step[0]:
        case 4:  # SPLIT
            return (SPLIT, at + step[1], at + step[2])
        case 5:  # JUMP
            return (JUMP, at + step[1])
        case 1:  # ATOM
            tester = parser.tester(step[1], step[2])
            return (ATOM, tester.match, tester.search)
        case 2:  # ZERO
            always = step[1] == "\\A"
            return (ZERO, parser.tester(step[1], step[2] if len(step) > 2 else 0).match, always)
        case 3:  # RUN
            source, least, most, greedy, flags = step[1:]
            tester = parser.tester(source, flags)
            run: Callable[..., Any] = parser.tester(f"{source}*", flags).match
            return (RUN, run, least, most, greedy, tester.search)
    return step


def _wrong(message: str, at: int) -> TemplateError:
    return TemplateError(f"the pattern cannot be used: {message} (at character {at + 1})")


__all__ = ["ATOM", "JUMP", "LITERAL", "MATCH", "RUN", "SAVE", "SPLIT", "ZERO", "Program", "compile_program"]
