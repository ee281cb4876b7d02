"""stdio keeps to what every transport promises."""

from __future__ import annotations

import gert_transport_stdio

from gert_core.testing.conformance import TransportConformance


class TestStdioConformance(TransportConformance):
    plugin = gert_transport_stdio
    action = {"name": "go", "argv": ("echo", "hello")}
    slow = {"name": "slow", "argv": ("sleep", "60")}
