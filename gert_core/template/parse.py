"""Parse the kernel form by recursive descent: ``eq .status "x"``, ``.name | default "none"``."""

from __future__ import annotations

import re
from math import isfinite
from typing import TYPE_CHECKING, Final

from gert_core.template.errors import TemplateError
from gert_core.template.functions import (
    FUNCTIONS,
    SPECIAL,
    check_arity,
    subject_is_first,
    subject_is_last,
    whole_text,
)
from gert_core.template.tree import AllOf, AnyOf, Call, Const, Default, Path, lookup, path_of

if TYPE_CHECKING:
    from gert_core.template.tree import Node

MAX_DEPTH: Final = 50
NO_CLOCK: Final = "a resumed run must see the same values: write `.run.started`"
_LEXEME: Final = r"""(?sx)\s*(?:
      (?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`[^`]*`)
    | (?P<scope>\.scope\.[\w-]+(?:[./][\w-]+)*)
    | (?P<path>\.[^\W\d][\w-]*(?:\.[\w][\w-]*)*)
    | (?P<number>-?(?:0|[1-9]\d{0,399})(?:\.\d{1,400})?(?:[eE][-+]?\d{1,3})?(?![\w.]))
    | (?P<name>[^\W\d]\w*)
    | (?P<mark>[|()])
    )"""
_BARE: Final = re.compile(r"\.[^\W\d][\w-]*(?:\.\w[\w-]*)*\Z")
_ESCAPE: Final = r"(?s)\\(u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.)"
_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "\\": "\\", '"': '"', "'": "'", "/": "/", "b": "\b", "f": "\f"}
_WORDS: Final[dict[str, object]] = {"true": True, "false": False, "null": None, "nil": None}
_OTHER_NAMES: Final = {
    "length": "len",
    "count": "len",
    "size": "len",
    "equals": "eq",
    "equal": "eq",
    "neq": "ne",
    "lte": "le",
    "gte": "ge",
    "startsWith": "hasPrefix",
    "endsWith": "hasSuffix",
    "has": "contains",
    "concat": "printf",
    "format": "printf",
    "json": "toJson",
    "unique": "uniq",
    "map": "pluck",
    "filter": "where",
    "select": "where",
    "selectattr": "where",
    "splitList": "split",
    "splitlines": "lines",
    "regexReplaceAll": "regexReplace",
    "regex_replace": "regexReplace",
    "strftime": "date",
    "dateFormat": "date",
    "sortAlpha": "sort",
    "add": "sum",
}
_OPERATORS: Final = {
    "==": "eq .a .b",
    "=": "eq .a .b",
    "!=": "ne .a .b",
    "!": "not .a",
    "<=": "le .a .b",
    ">=": "ge .a .b",
    "<": "lt .a .b",
    ">": "gt .a .b",
    "&&": "and .a .b",
}
_OPERAND: Final = r"""\.[\w.-]*\w|"[^"]*"|'[^']*'|-?\d+(?:\.\d+)?|true|false"""
_LONG: Final = 500
"""Longer expressions get no suggestion of their own."""
_Token = tuple[str, str, int]


def parse_kernel(text: str) -> Node:
    """Return the tree of a kernel-form expression; raise ``TemplateError`` if it is not one."""
    if _BARE.match(text) and not text.startswith(".scope."):
        # Most expressions are one variable, and a large document has thousands of them.
        first, *rest = text[1:].split(".")
        return Path((first, *rest))
    return _Parser(text).whole()


class _Parser:
    def __init__(self, text: str) -> None:
        self._tokens = _tokens(text)
        self._at = 0
        self._depth = 0

    def whole(self) -> Node:
        node = self._pipeline()
        kind, text, offset = self._peek()
        if kind:
            raise TemplateError(f"unexpected `{text}`", offset=offset, hint=_after_value(text))
        return node

    def _peek(self) -> _Token:
        return self._tokens[self._at]

    def _take(self) -> _Token:
        token = self._tokens[self._at]
        if token[0]:  # the last one stays
            self._at += 1
        return token

    def _pipeline(self) -> Node:
        node = self._command(None)
        stages = 0
        while self._peek()[1] == "|" and self._peek()[0] == "mark":
            self._take()
            stages += 1
            self._deeper(stages)
            node = self._command((node,))
        return node

    def _deeper(self, more: int = 0) -> None:
        if self._depth + more > MAX_DEPTH:
            raise TemplateError(f"the expression is nested deeper than {MAX_DEPTH} levels", offset=self._peek()[2])

    def _command(self, piped: tuple[Node, ...] | None) -> Node:
        kind, text, offset = self._peek()
        if kind == "name" and text not in _WORDS:
            self._take()
            if text not in FUNCTIONS and text not in SPECIAL:
                raise TemplateError(f"`{text}` is not a function", offset=offset, hint=_function_hint(text))
            args: list[Node] = []
            while (token := self._peek())[0] and token[1] not in ("|", ")"):
                args.append(self._operand())
            given = (*(piped or ()), *args) if subject_is_first(text) else (*args, *(piped or ()))
            return call(text, given, offset=offset, direct=piped is None)
        if piped is not None:
            raise TemplateError(
                f"a function must follow `|`, not `{text}`" if text else "a function must follow `|`",
                offset=offset,
                hint="write `or .a .b`" if text == "|" else None,
            )
        return self._operand()

    def _operand(self) -> Node:
        kind, text, offset = self._take()
        match kind:
            case "string":
                return Const(_unquote(text, offset))
            case "number":
                return Const(_number(text, offset))
            case "path" | "scope":
                return _path(text, kind, offset)
            case "name" if text in _WORDS:
                return Const(_WORDS[text])
            case "name":
                raise TemplateError(
                    f"unexpected `{text}`", offset=offset, hint=f"write `.{text}`, or put a call in ( )"
                )
            case "mark" if text == "(":
                return self._group(offset)
        what = f"unexpected `{text}`" if text else "the expression is empty or ends too early"
        raise TemplateError(what, offset=offset)

    def _group(self, offset: int) -> Node:
        self._depth += 1
        self._deeper()
        node = self._pipeline()
        if self._take()[1] != ")":
            raise TemplateError("the parenthesis is not closed", offset=offset)
        self._depth -= 1
        kind, text, after = self._peek()
        if kind == "path" and self._at and after == self._tokens[self._at - 1][2] + 1:
            # `(index .nodes 0).name`: fields of a computed value
            self._take()
            keys = tuple(Const(part) for part in text[1:].split("."))
            return lookup(node, keys)
        return node


def call(name: str, args: tuple[Node, ...], *, offset: int = 0, direct: bool = False) -> Node:
    """Return the node of a function call; the subject is the last argument."""
    check_arity(name, len(args), offset)
    match name:
        case "and":
            return AllOf(args)
        case "or":
            return AnyOf(args)
        case "default":
            return Default(args[1], args[0])
        case "index":
            return lookup(args[0], args[1:])
    if direct and subject_is_last(name) and isinstance(args[-1], Const) and not isinstance(args[0], Const):
        raise TemplateError(
            f"the subject of `{name}` comes last",
            offset=offset,
            hint=f'write `{name} "..." .value`, or `.value | {name} "..."`',
        )
    return Call(FUNCTIONS[name], args)


def _tokens(text: str) -> list[_Token]:
    """Return the tokens of a text; the last one is empty and marks its end."""
    tokens: list[_Token] = []
    at = 0
    end = len(text.rstrip())
    lexeme = re.compile(_LEXEME)
    while at < end:
        found = lexeme.match(text, at)
        if found is None:
            raise _unreadable(text, at)
        kind = found.lastgroup or ""
        tokens.append((kind, found[kind], found.start(kind)))
        at = found.end()
        if kind in ("path", "scope") and text[at : at + 1] in (".", "/"):
            raise TemplateError(f"a name must follow `{found[kind]}{text[at]}`", offset=at)
    tokens.append(("", "", len(text)))
    return tokens


def _unreadable(text: str, at: int) -> TemplateError:
    while text[at].isspace():
        at += 1
    char = text[at]
    if char in "\"'`":
        return TemplateError("the string is not closed", offset=at)
    if char == "." and (at + 1 == len(text) or text[at + 1].isspace()):
        return TemplateError("`.` needs a name", offset=at, hint="write the variable: `.name`")
    if char == "-":
        return TemplateError("unexpected `-`", offset=at, hint="`{{-` and `-}}` are not supported")
    return _operator(text, at) or TemplateError(f"unexpected `{char}`", offset=at)


def _operator(text: str, at: int) -> TemplateError | None:
    """Return an error with the replacement for an operator of other languages."""
    for length in (2, 1):
        sign = text[at : at + length]
        if sign in _OPERATORS:
            spelling = "`; or leave the leading dots out" if sign not in ("=", "!", "&&") else "`"
            hint = f"write `{_spelled(text, at, sign)}{spelling}"
            return TemplateError(f"unexpected `{sign}`", offset=at, hint=hint)
    if text[at] == "$":
        return TemplateError("unexpected `$`", offset=at, hint="variables have no `$`: write `.name`")
    if text[at] in "+*/%~":
        return TemplateError(
            f"unexpected `{text[at]}`", offset=at, hint="operators need names without the leading dot: `a + b`"
        )
    return None


def _spelled(text: str, at: int, sign: str) -> str:
    """Return an operator of other languages as a function call, with what stands on its sides where that is simple."""
    if len(text) > _LONG:
        return _OPERATORS[sign]
    before = re.search(rf"(?:^|[\s(])({_OPERAND})\s*$", text[:at])
    after = re.match(rf"\s*({_OPERAND})(?=$|[\s)])", text[at + len(sign) :])
    name, *_ = call = _OPERATORS[sign].split()
    if after is None or (before is None and len(call) > 2):
        return _OPERATORS[sign]
    return f"{name} {after[1]}" if len(call) == 2 or before is None else f"{name} {before[1]} {after[1]}"


def _number(text: str, offset: int) -> int | float:
    value = float(text) if set(text) & set(".eE") else int(text)
    if isinstance(value, float) and not isfinite(value):
        raise TemplateError("the number is too large", offset=offset)
    return value


def _path(text: str, kind: str, offset: int) -> Path:
    parts = tuple(text[1:].replace("/", ".").split(".")) if kind == "scope" else tuple(text[1:].split("."))
    return path_of(parts[0], parts[1:], offset)


def _unquote(text: str, offset: int) -> str:
    body = text[1:-1]
    if text[0] == "`" or "\\" not in body:
        return body

    def replace(found: re.Match[str]) -> str:
        escape = found[1]
        if len(escape) > 1:
            return chr(int(escape[1:], 16))
        if escape not in _ESCAPES:
            raise TemplateError(
                f"`\\{escape}` is not a valid escape sequence",
                offset=offset,
                hint="double the backslash, or use `...` for a raw string",
            )
        return _ESCAPES[escape]

    return whole_text(re.sub(_ESCAPE, replace, body), offset)


def _function_hint(name: str) -> str:
    from gert_core.kit.nearest import nearest  # only mistakes need it

    if name == "now":
        return NO_CLOCK
    if name in ("for", "endfor", "foreach", "each"):
        return "templates are expressions only: write `for_each` for a step per item, or `pluck`, `where` and `join`"
    if name in ["if", "endif", "with", "end", "else", "define", "template", "block"]:
        return "templates are expressions only; use `when`, branches or for_each"
    near = _OTHER_NAMES.get(name) or nearest(name, [*FUNCTIONS, *SPECIAL])
    return f"did you mean `{near}`?" if near else f"write `.{name}` for a variable"


def _after_value(text: str) -> str | None:
    if text == "(":
        return "write a call as `eq .a .b` or `.a | upper`, without parentheses around its arguments"
    return "remove the parenthesis, or open it before" if text == ")" else "a function comes first: `eq .a .b`"


__all__ = ["MAX_DEPTH", "NO_CLOCK", "call", "parse_kernel"]
