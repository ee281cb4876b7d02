"""env keeps to what every input resolver promises."""

from __future__ import annotations

import gert_input_env

from gert_core.testing.conformance import InputResolverConformance


class TestEnvConformance(InputResolverConformance):
    plugin = gert_input_env
    source = "env/HOST"
    expected = "srv1"
    environ = {"HOST": "srv1"}
