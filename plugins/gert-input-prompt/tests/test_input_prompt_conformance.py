"""prompt keeps to what every input resolver promises."""

from __future__ import annotations

import gert_input_prompt

from gert_core.testing.conformance import InputResolverConformance


class TestPromptConformance(InputResolverConformance):
    plugin = gert_input_prompt
    source = "prompt"
    expected = "srv1"
    answers = ("srv1",)
