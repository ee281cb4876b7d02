"""The field type of a category of outcomes, for step models; import this where the model is."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import BeforeValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from gert_core.api import OutcomeCategory

CATEGORIES: Final = [str(category) for category in OutcomeCategory]
"""All of them, in their order."""

CATEGORY_WORDS: Final = {
    **dict.fromkeys(("success", "succeeded", "ok", "done", "fixed", "solved"), "resolved"),
    **dict.fromkeys(("failed", "failure", "error", "page", "critical"), "escalated"),
    **dict.fromkeys(("none", "noop", "nothing", "skipped", "healthy"), "no_action"),
    **dict.fromkeys(("rca", "unknown", "investigate"), "needs_rca"),
}
"""What others call them."""


def _category(value: object) -> object:
    if value not in CATEGORIES:
        raise PydanticCustomError(
            "outcome-category",
            "outcome category must be one of {categories}",
            {"categories": ", ".join(CATEGORIES), "hint": _hint(value)},
        )
    return value


def _hint(value: object) -> str:
    from gert_core.kit.nearest import nearest  # only mistakes need it

    near = nearest(str(value), CATEGORIES, also=CATEGORY_WORDS)
    return f"write `{near}`" if near else f"write `{CATEGORIES[0]}` if nothing is left to do"


Category = Annotated[str, BeforeValidator(_category), WithJsonSchema({"enum": CATEGORIES})]
"""One of the categories of outcomes."""

__all__ = ["CATEGORIES", "CATEGORY_WORDS", "Category"]
