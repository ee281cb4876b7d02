"""The pictures of ``gert graph`` as Chromium draws them: no text leaves its box, no two boxes touch, all is on the page."""

from __future__ import annotations

import html
import json
import os
import re
import subprocess

import pytest
from chromium import FLAGS
from gertproc import Gert
from repository import ROOT

from gert_core.cli import main

LOOK = """
const inside = (a, b) => a.left >= b.left - 1 && a.right <= b.right + 1 && a.top >= b.top - 1 && a.bottom <= b.bottom + 1;
const apart = (a, b) => a.right <= b.left || b.right <= a.left || a.bottom <= b.top || b.bottom <= a.top;
const page = document.querySelector("svg").getBoundingClientRect();
const steps = [...document.querySelectorAll("g.step")];
const boxes = steps.map(step => step.querySelector(".box:not(.sheet)").getBoundingClientRect());
const wrong = [];
steps.forEach((step, n) => step.querySelectorAll("text").forEach(text => {
  if (!inside(text.getBoundingClientRect(), boxes[n])) wrong.push("leaves its box: " + text.textContent);
}));
boxes.forEach((box, n) => boxes.slice(n + 1).forEach((other, m) => {
  if (!apart(box, other)) wrong.push("touch: " + steps[n].textContent + " and " + steps[n + 1 + m].textContent);
}));
document.querySelectorAll("svg text, svg rect, svg path.way").forEach(part => {
  if (!inside(part.getBoundingClientRect(), page)) wrong.push("leaves the page: " + part.outerHTML);
});
document.querySelector("pre").textContent = JSON.stringify({steps: steps.length, wrong: wrong});
"""


def look_at(svg: str, place) -> dict[str, object]:
    """What the browser sees of a picture."""
    page = place / "page.html"
    page.write_text(f"<!doctype html><meta charset=utf-8>{svg}<pre></pre><script>{LOOK}</script>", encoding="utf-8")
    profile = f"--user-data-dir={place / 'profile'}"
    command = [os.environ.get("CHROMIUM", "chromium"), *FLAGS, profile, "--dump-dom", page.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    found = re.search(r"<pre>(.*?)</pre>", done.stdout, re.DOTALL)
    assert found, done.stderr
    return json.loads(html.unescape(found[1]))


@pytest.mark.parametrize(
    "book", sorted((ROOT / "examples" / "runbooks").glob("*/*.runbook.yaml")), ids=lambda p: p.parent.name
)
def test_the_pictures_of_the_examples_are_whole(book, tmp_path, capsys):
    assert main(["graph", str(book), "--format", "svg"]) == 0
    seen = look_at(capsys.readouterr().out, tmp_path)
    assert seen["wrong"] == []
    assert seen["steps"]


WIDE = """\
apiVersion: kernel/v0
meta: { name: wide, description: Letters as wide as they come WWWWWWWWWWWWWW 漢字漢字漢字 }
steps:
  - { id: WWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWW, type: manual, instructions: x }
  - { id: a, type: manual, instructions: x, description: "漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字漢字 MMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMMM" }
  - { id: b, type: manual, instructions: x, next: { step: a, max: 2 } }
  - { id: c, type: manual, instructions: x, next: { step: a, max: 99 } }
  - id: d
    type: dag
    nodes:
      - { name: one, steps: [{ id: d1, type: manual, instructions: x, scope: d1 }] }
      - { name: two, depends_on: [one], steps: [{ id: d2, type: manual, instructions: x, scope: d2 }] }
      - { name: three, depends_on: [two], steps: [{ id: d3, type: manual, instructions: x, scope: d3 }] }
      - { name: four, steps: [{ id: d4, type: manual, instructions: x, scope: d4 }] }
  - id: e
    type: branch
    branches:
      - { condition: '{{ eq "WWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWW" "WWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWWW" }}', steps: [] }
      - { condition: default, steps: [{ type: end, outcome: { category: resolved } }] }
  - { type: end, outcome: { category: resolved } }
"""


def test_wide_letters_jumps_and_a_run_fit_too(tmp_path):
    gert = Gert(tmp_path)
    gert.write(wide=WIDE)
    assert gert("exec", "wide.yaml", "--no-input").code == 1
    for more in ((), ("--run", "latest")):
        said = gert("graph", "wide.yaml", "--format", "svg", *more)
        assert look_at(said.out, tmp_path)["wrong"] == []


def test_a_hostile_text_runs_nothing(tmp_path):
    text = json.dumps(
        "</text></svg><script>document.title='taken'</script><img src=x onerror=\"document.title='taken'\">"
    )
    gert = Gert(tmp_path)
    gert.write(
        evil=f"apiVersion: kernel/v0\nmeta: {{ name: {text} }}\nsteps: [{{ id: a, type: manual, instructions: x, description: {text} }}]\n"
    )
    svg = gert("graph", "evil.yaml", "--format", "svg").out
    page = tmp_path / "page.html"
    page.write_text(f"<!doctype html><title>mine</title>{svg}", encoding="utf-8")
    profile = f"--user-data-dir={tmp_path / 'profile'}"
    command = [os.environ.get("CHROMIUM", "chromium"), *FLAGS, profile, "--dump-dom", page.as_uri()]
    dom = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    assert "<title>mine</title>" in dom
    assert "<img" not in dom
