"""The page of ``gert outcomes --html`` as Chromium shows it: all on the page, wide and narrow, light and dark; nothing runs.

Screenshots are kept in the directory that ``GERT_SCREENSHOTS`` names, for whoever changes the page.
"""

from __future__ import annotations

import html
import json
import os
import re
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from chromium import FLAGS as QUIET
from gertproc import Gert
from many_runs import ENDINGS, write_run

FLAGS = [*QUIET, "--hide-scrollbars"]
EVIL = "</title><script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">"
LOOK = """
const wrong = [];
const frame = document.querySelector("iframe");
frame.onload = () => {
  const page = frame.contentDocument, width = page.documentElement.clientWidth;
  if (page.documentElement.scrollWidth > width) wrong.push("wider than the page: " + page.documentElement.scrollWidth);
  const inside = (a, b) => a.left >= b.left - 1 && a.right <= b.right + 1 && a.top >= b.top - 1 && a.bottom <= b.bottom + 1;
  page.querySelectorAll("section").forEach(section => {
    const box = section.getBoundingClientRect();
    section.querySelectorAll("svg rect, svg text, h2, dd, dt").forEach(part => {
      const place = part.getBoundingClientRect();
      if (place.width && !inside(place, box)) wrong.push("leaves its section: " + part.outerHTML);
    });
  });
  const all = [...page.querySelectorAll(".chart text")].map(text => text.getBoundingClientRect()).filter(box => box.width);
  all.forEach((a, n) => all.slice(n + 1).forEach(b => {
    if (!(a.right <= b.left || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top)) wrong.push("texts touch");
  }));
  const style = frame.contentWindow.getComputedStyle(page.body);
  document.querySelector("pre").textContent = JSON.stringify({
    wrong: wrong, width: width, tables: page.querySelectorAll("table").length, background: style.backgroundColor,
    columns: page.querySelectorAll(".chart rect").length, title: page.title, images: page.images.length,
  });
};
frame.srcdoc = document.querySelector("textarea").value;
"""


def chromium(place, *words: str) -> str:
    command = [os.environ.get("CHROMIUM", "chromium"), *FLAGS, f"--user-data-dir={place / 'profile'}", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout


def look_at(page: Path, place, *, width: int, dark: bool = False) -> dict[str, object]:
    """What the browser sees of a page in a frame of this width; a window is never narrower than 500."""
    around = place / "around.html"
    # A frame inherits the policy of the page around it and adds its own, which allows no script.
    around.write_text(
        f"<!doctype html><meta charset=utf-8><iframe style='width:{width}px;height:900px;border:0'></iframe><pre></pre>"
        f"<textarea>{html.escape(page.read_text(encoding='utf-8'))}</textarea><script>{LOOK}</script>",
        encoding="utf-8",
    )
    dom = chromium(place, *(["--force-dark-mode"] if dark else []), "--dump-dom", around.as_uri())
    found = re.search(r"<pre>(.*?)</pre>", dom, re.DOTALL)
    assert found, dom
    return json.loads(html.unescape(found[1]))


def keep(page: Path, place, name: str) -> None:
    """Take screenshots when somebody wants them."""
    if kept := os.environ.get("GERT_SCREENSHOTS"):
        Path(kept).mkdir(parents=True, exist_ok=True)
        for width, dark in ((1200, False), (1200, True), (500, False), (500, True)):
            file = Path(kept) / f"{name}-{width}{'-dark' if dark else ''}.png"
            words = ["--force-dark-mode"] if dark else []
            chromium(place, *words, f"--window-size={width},1800", f"--screenshot={file}", page.as_uri())


@pytest.fixture
def gert(tmp_path):
    return Gert(tmp_path)


def runs(gert, number: int, **facts) -> None:
    for index in range(number):
        began = datetime.now(UTC) - timedelta(hours=7 * index, minutes=1)
        run_id = f"{began:%Y%m%dT%H%M%SZ}-book-{index:08x}"
        book = facts.get("runbook") or ("service-health-check", "deploy")[index % 2]
        write_run(gert.root / "runs", run_id, began=began, ending=ENDINGS[index % 5], steps=3, runbook=book)


@pytest.mark.parametrize("width", [360, 768, 1200])
@pytest.mark.parametrize("number", [0, 1, 90])
def test_everything_is_on_the_page(gert, tmp_path, width, number):
    runs(gert, number)
    assert gert("outcomes", "--steps", "--html", "page.html").code == 0
    seen = look_at(gert.root / "page.html", tmp_path, width=width)
    assert seen["wrong"] == []
    assert seen["width"] == width
    assert seen["tables"] == {0: 0, 1: 5, 90: 11}[number]
    assert (seen["columns"] > 0) == (number > 0)
    if width == 1200:
        keep(gert.root / "page.html", tmp_path, f"outcomes-{number}")


def test_it_follows_the_reader_s_choice_of_light_and_dark(gert, tmp_path):
    runs(gert, 3)
    gert("outcomes", "--html", "page.html")
    seen = [look_at(gert.root / "page.html", tmp_path, width=800, dark=dark)["background"] for dark in (False, True)]
    assert seen == ["rgb(245, 246, 248)", "rgb(20, 23, 28)"]


def test_hostile_and_long_names_run_nothing_and_stay_on_the_page(gert, tmp_path):
    runs(gert, 2, runbook=EVIL)
    began = datetime.now(UTC) - timedelta(days=2)
    write_run(gert.root / "runs", f"{began:%Y%m%dT%H%M%SZ}-long-1", began=began, runbook="W" * 300 + "漢字" * 80)
    assert gert("outcomes", "--steps", "--html", "page.html").code == 0
    for width in (360, 1200):
        seen = look_at(gert.root / "page.html", tmp_path, width=width)
        assert (seen["title"], seen["images"], seen["wrong"]) == ("Outcomes", 0, [])
    dom = chromium(tmp_path, "--dump-dom", (gert.root / "page.html").as_uri())
    assert "<title>Outcomes</title>" in dom
    keep(gert.root / "page.html", tmp_path, "outcomes-hostile")
