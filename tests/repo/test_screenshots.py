"""The pictures of terminals in README and docs are what real runs look like now."""

from __future__ import annotations

import subprocess
import sys
from xml.etree import ElementTree

import pytest
from repository import ROOT

SCREENS = ROOT / "docs" / "screens"


def test_the_script_still_draws_the_pictures_that_are_kept():
    script = str(ROOT / "scripts" / "screenshots.py")
    done = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("file", sorted(SCREENS.glob("*.svg")), ids=lambda file: file.name)
def test_a_picture_is_whole_and_shown_somewhere(file):
    assert ElementTree.fromstring(file.read_text(encoding="utf-8")).tag == "{http://www.w3.org/2000/svg}svg"
    pages = [ROOT / "README.md", *ROOT.glob("docs/*.md"), *ROOT.glob("docs/*/*.md")]
    assert any(f"screens/{file.name}" in page.read_text(encoding="utf-8") for page in pages)
