"""One flow in a real browser, where there is one; the nox session ``browser`` has all of them."""

from __future__ import annotations

import pytest
from browsing import PROGRAM, approve, chromium, opened

pytest.importorskip("playwright")


@pytest.mark.skipif(PROGRAM is None, reason="there is no chromium here")
def test_a_person_approves_in_a_browser(lab):
    lab.gated()
    ticket = lab.pending()
    with lab.web("--resume") as server, chromium() as browser, opened(browser, server) as page:
        approve(page, "Change the disk", reason="seen in a browser")
        assert page.url.endswith(f"/tickets/{ticket}")
        page.get_by_text("seen in a browser").wait_for()
        page.goto("/runs")
        page.get_by_role("link", name="book").click()
        page.get_by_text("resolved").first.wait_for()
    assert lab.path("changed").read_text() == "disk\n"
