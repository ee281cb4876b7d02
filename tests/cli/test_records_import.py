"""``gert_core.cli.records``: msgspec without ``typing_extensions``, which is there for everybody else."""

import subprocess
import sys

CODE = """
import sys
from gert_core.cli.records import import_msgspec
import_msgspec()
assert "msgspec" in sys.modules
assert "typing_extensions" not in sys.modules, "neither the module nor what keeps it away"
import typing_extensions
from typing import Annotated
import msgspec
class Record(msgspec.Struct):
    number: Annotated[int, msgspec.Meta(ge=1)]
    text: "str | None" = None
print(msgspec.json.decode(b'{"number": 3}', type=Record))
"""


def python(*words):
    return subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False)


def test_msgspec_works_without_it_and_others_may_import_it_afterwards():
    said = python("-c", CODE)
    assert (said.returncode, said.stdout, said.stderr) == (0, "Record(number=3, text=None)\n", "")


def test_a_module_that_is_there_already_stays():
    code = "import typing_extensions as t, sys, gert_core.cli.records as r; r.import_msgspec()\n"
    said = python("-c", code + "assert sys.modules['typing_extensions'] is t; assert 'msgspec' not in sys.modules")
    assert (said.returncode, said.stderr) == (0, "")


def test_a_list_of_runs_does_not_import_it(tmp_path):
    said = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "gert_core", "runs", "list"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert said.returncode == 0
    names = [line.rpartition("|")[2].strip() for line in said.stderr.splitlines()]
    assert "msgspec" in names
    assert "inspect" not in names, "it comes with typing_extensions"
