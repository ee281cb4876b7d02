"""The Jinja form (first version)."""

from __future__ import annotations

from typing import Any

from gert_core.template.errors import TemplateError


def parse_jinja(text: str, *, kernel_error: TemplateError) -> Any:
    raise kernel_error
