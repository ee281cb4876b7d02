"""Parse an expression in whichever of the two syntaxes it is written."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from gert_core.template.errors import TemplateError
from gert_core.template.functions import FUNCTIONS, SPECIAL
from gert_core.template.parse import parse_kernel
from gert_core.template.scan import MAX_EXPRESSION
from gert_core.template.tree import Call, Path, children

if TYPE_CHECKING:
    from gert_core.template.tree import Node

MAX_COST: Final = 200
"""The highest total cost of the calls of one expression, which limits its memory and time."""
_LEADING_DOT: Final = r"(?:^|[\s(|])\.(?!\d)"
_FIRST_WORD: Final = r"([^\W\d]\w*)\s+(?!(?:and|or|in|if|is|not)\b)[.\"'`(\w]"


def parse_expression(text: str) -> Node:
    """Return the tree of an expression: kernel form if it parses as such, else Jinja form."""
    if len(text) > MAX_EXPRESSION:
        raise TemplateError("the expression is longer than 8 KiB")
    tree = _parse(text)
    if type(tree) is not Path and _cost(tree) > MAX_COST:
        raise TemplateError("the expression is too expensive", hint="compute part of it in an earlier step")
    return tree


def _cost(tree: Node) -> int:
    cost, nodes = 0, [tree]
    for node in nodes:  # which grows meanwhile
        if type(node) is Call:
            cost += node.function.cost
        nodes += children(node)
    return cost


def _parse(text: str) -> Node:
    try:
        return parse_kernel(text)
    except TemplateError as error:
        if not text or _is_kernel(text):
            raise
        from gert_core.template.jinja import parse_jinja

        return parse_jinja(text, kernel_error=error)


def _is_kernel(text: str) -> bool:
    """Return whether the text is recognisably kernel form, so that its error is the one to show."""
    if re.search(_LEADING_DOT, re.sub(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'', '""', text)):
        return True
    word = re.match(_FIRST_WORD, text)
    return bool(word and word[1] != "not" and (word[1] in FUNCTIONS or word[1] in SPECIAL) and " is " not in text)


__all__ = ["parse_expression"]
