"""A real Chromium, driven by playwright, on the pages of a ``gert web`` process."""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from chromium import FLAGS

PROGRAM = shutil.which(os.environ.get("CHROMIUM", "chromium"))
"""The browser; None where there is none."""
LOOK = """() => {
  const wrong = [];
  const root = document.documentElement;
  if (root.scrollWidth > root.clientWidth) wrong.push("wider than the screen: " + root.scrollWidth);
  const parsed = text => (text.match(/[\\d.]+/g) || []).map(Number);
  const bright = ([r, g, b]) => [r, g, b].map(v => v / 255).map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, n) => sum + v * [0.2126, 0.7152, 0.0722][n], 0);
  const ground = element => {
    for (let one = element; one; one = one.parentElement) {
      const colour = parsed(getComputedStyle(one).backgroundColor);
      if (colour.length === 3 || colour[3] > 0.99) return colour;
    }
    return [255, 255, 255];
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement, box = element.getBoundingClientRect();
    if (!walker.currentNode.data.trim() || !box.width || box.right < 0) continue;
    if (["SCRIPT", "STYLE", "OPTION"].includes(element.tagName) || element.closest("svg")) continue;
    const style = getComputedStyle(element), [a, b] = [bright(parsed(style.color)), bright(ground(element))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) wrong.push(ratio.toFixed(2) + " of contrast: " + walker.currentNode.data.trim().slice(0, 40));
  }
  document.querySelectorAll("input:not([type=hidden]), select, textarea").forEach(field => {
    if (!field.labels.length) wrong.push("a field without a label: " + field.name);
  });
  return wrong;
}"""
"""What is wrong with a page: wider than the screen, text that is hard to read, fields without a label."""


@contextmanager
def chromium() -> Any:
    """A browser of playwright's."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=PROGRAM, args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()


@contextmanager
def opened(browser: Any, server: Any, *, login: bool = True, **options: Any) -> Any:
    """A page of a browser of its own, which has a session unless it is to have none."""
    context = browser.new_context(base_url=server.base, **options)
    page = context.new_page()
    page.set_default_timeout(20_000)
    try:
        if login:
            page.goto(server.login)
        yield page
    finally:
        context.close()


def keep(page: Any, name: str) -> None:
    """Keep a picture where ``GERT_SCREENSHOTS`` says, for people who change the pages."""
    if place := os.environ.get("GERT_SCREENSHOTS"):
        page.screenshot(path=str(Path(place) / f"{name}.png"), full_page=True)


def approve(page: Any, title: str, *, reason: str = "") -> None:
    """Approve a ticket as a person does: from the inbox, by its title."""
    page.goto("/tickets")
    page.get_by_role("link", name=title).first.click()
    if reason:
        page.get_by_label("Reason").fill(reason)
    page.get_by_label("I have read what will be run").check()
    page.get_by_role("button", name="Approve").click()
    page.wait_for_load_state()
