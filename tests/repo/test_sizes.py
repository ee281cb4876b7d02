"""Modules stay small enough to read in one sitting."""

from __future__ import annotations

import pytest
from repository import ROOT, core_modules, member_directories

LIMIT = 350
TEST_LIMIT = 600

# A module over the limit is asking to be two; one that has a reason stands here with it.
EXCEPTIONS: dict[str, str] = {
    "gert_core/cli/parameters.py": "written by docs/generate.py: a line for every parameter of every command",
    "gert_core/hookspecs.py": "every hook is in this one file, with its reference and an example",
}


def sources():
    return [*core_modules(), *(f for d in member_directories() for f in sorted((d / "src").rglob("*.py")))]


def files_of_tests():
    return [
        *sorted((ROOT / "tests").rglob("*.py")),
        *(f for d in member_directories() for f in sorted(d.glob("tests/**/*.py"))),
    ]


def lines(file):
    return len(file.read_text(encoding="utf-8").splitlines())


@pytest.mark.parametrize("file", sources(), ids=lambda f: str(f.relative_to(ROOT)))
def test_a_module_is_small_and_says_what_it_is_for(file):
    name = str(file.relative_to(ROOT))
    text = file.read_text(encoding="utf-8")
    assert lines(file) <= LIMIT or name in EXCEPTIONS
    assert text.startswith('"""'), "the first line of a module says its one responsibility"


def test_the_exceptions_are_needed():
    assert not [name for name in EXCEPTIONS if not (ROOT / name).exists() or lines(ROOT / name) <= LIMIT]


@pytest.mark.parametrize("file", files_of_tests(), ids=lambda f: str(f.relative_to(ROOT)))
def test_a_test_file_is_not_endless(file):
    assert lines(file) <= TEST_LIMIT
