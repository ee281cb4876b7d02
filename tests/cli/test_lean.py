"""A command leaves out what it has no use for, and nothing that somebody waits for."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

BOOK = """
apiVersion: kernel/v0
meta: { name: small }
steps:
  - { id: done, type: end, outcome: { category: resolved } }
"""


@pytest.fixture
def book(tmp_path):
    file = tmp_path / "small.yaml"
    file.write_text(BOOK)
    return file


def python(code: str, *args: str, flags: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *flags, "-c", code, *args], capture_output=True, text=True, check=False, timeout=60
    )


PROGRAM = """
import atexit, sys
from gert_core.cli import main
atexit.register(print, "registered")
code = main()
print("came back")
sys.exit(code)
"""


def test_a_program_ends_at_once_but_runs_what_is_registered(book):
    done = python(PROGRAM, "validate", str(book))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "registered"
    assert "came back" not in done.stdout


def test_the_exit_code_is_kept(book):
    assert python(PROGRAM, "validate", str(book.with_name("missing.yaml"))).returncode == 2
    assert python(PROGRAM, "no-such-verb").returncode == 2


def test_a_host_gets_the_code_back(book):
    done = python(
        "import sys; from gert_core.cli import main; print('code', main(sys.argv[1:]))", "validate", str(book)
    )
    assert done.stdout.splitlines()[-1] == "code 0"


THREAD = """
import threading
threading.Thread(target=lambda: (threading.main_thread().join(), print("waited for"))).start()
"""


@pytest.mark.parametrize(
    ("before", "flags"),
    [
        ("sys.setprofile(lambda *_: None)", ()),
        (THREAD, ()),
        ("import gert_core.trace.observers", ()),
        ("", ("-X", "dev")),
    ],
    ids=["profiler", "thread", "observers", "dev-mode"],
)
def test_python_ends_the_process_where_something_would_be_lost(book, before, flags):
    done = python(PROGRAM.replace("code = main()", f"{before}\ncode = main()"), "validate", str(book), flags=flags)
    assert done.returncode == 0, done.stderr
    assert "came back" in done.stdout
    if before is THREAD:
        assert "waited for" in done.stdout


def test_output_to_a_pipe_arrives_whole(book):
    done = python(PROGRAM, "validate", str(book), "--json")
    assert json.loads(done.stdout.removesuffix("registered\n"))["valid"] is True


LOADER = """
import sys
from gert_core.cli import main
main(["validate", sys.argv[1]])
import pydantic.plugin._loader as loader
print("stand-in", type(loader).__name__, list(loader.get_plugins()))
print("real", loader.PYDANTIC_ENTRY_POINT_GROUP, type(sys.modules["pydantic.plugin._loader"]).__name__)
"""


def test_a_command_does_not_look_for_pydantics_plugins_but_others_can(book):
    done = python(LOADER, str(book))
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-2:] == ["stand-in _NoPlugins []", "real pydantic module"]


def test_a_host_that_has_pydantic_keeps_its_plugins(book):
    code = "import pydantic, sys; from gert_core.cli import main; main(['validate', sys.argv[1]]); "
    code += "print(type(sys.modules.get('pydantic.plugin._loader')).__name__)"
    assert python(code, str(book)).stdout.splitlines()[-1] == "module"


def test_tools_inherit_nothing_from_it(book):
    code = (
        "import os, sys; before = dict(os.environ); from gert_core.cli import main; main(['validate', sys.argv[1]]); "
    )
    code += "print('same', before == dict(os.environ))"
    assert python(code, str(book)).stdout.splitlines()[-1] == "same True"
