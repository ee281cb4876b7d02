"""The field type of a category of outcomes, for step models; import this where the model is."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import BeforeValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from gert_core.api import OutcomeCategory

CATEGORIES: Final = [str(category) for category in OutcomeCategory]
"""All of them, in their order."""


def _category(value: object) -> object:
    if value not in CATEGORIES:
        raise PydanticCustomError(
            "outcome-category",
            "outcome category must be one of {categories}",
            {"categories": ", ".join(CATEGORIES)},
        )
    return value


Category = Annotated[str, BeforeValidator(_category), WithJsonSchema({"enum": CATEGORIES})]
"""One of the categories of outcomes."""

__all__ = ["CATEGORIES", "Category"]
