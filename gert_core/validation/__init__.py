"""Validate documents: three phases, every finding collected, each at its place."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gert_core.validation.pipeline import Validated, validate_document, validate_file, validate_runbook

__all__ = ["Validated", "validate_document", "validate_file", "validate_runbook"]


def __getattr__(name: str) -> object:
    """Import the pipeline when one of its names is used; rules alone stay cheap to import."""
    if name in __all__:
        from gert_core.validation import pipeline

        return getattr(pipeline, name)
    raise AttributeError(name)
