"""Templates: one expression language with two syntaxes, over JSON-like data."""

from __future__ import annotations

from gert_core.template.compile import Condition, Template, compile_condition, compile_value
from gert_core.template.composed import composed, limit
from gert_core.template.data import (
    ListResults,
    MappingVariables,
    MapResults,
    Symbol,
    Variables,
    equal,
    order,
    shown,
    to_text,
    truth,
    walk,
)
from gert_core.template.errors import TemplateError, UndefinedVariable
from gert_core.template.infer import infer
from gert_core.template.references import Reference
from gert_core.template.regex import Match, check_pattern, matches, matches_whole

__all__ = [
    "Condition",
    "ListResults",
    "MapResults",
    "MappingVariables",
    "Match",
    "Reference",
    "Symbol",
    "Template",
    "TemplateError",
    "UndefinedVariable",
    "Variables",
    "check_pattern",
    "compile_condition",
    "compile_value",
    "composed",
    "equal",
    "infer",
    "limit",
    "matches",
    "matches_whole",
    "order",
    "shown",
    "to_text",
    "truth",
    "walk",
]
