"""A command leaves out what it has no use for, and nothing that somebody waits for."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pluggy
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


def test_a_program_ends_at_once(book):
    done = python(PROGRAM, "validate", str(book))
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("no findings\n")


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
MONITORING = """
if hasattr(sys, "monitoring"):
    sys.monitoring.use_tool_id(sys.monitoring.COVERAGE_ID, "coverage")
else:
    sys.settrace(lambda *_: None)
"""


@pytest.mark.parametrize(
    ("before", "flags"),
    [
        ("sys.setprofile(lambda *_: None)", ()),
        (MONITORING, ()),
        (THREAD, ()),
        ("import gert_core.trace.observers", ()),
        ("import logging", ()),
        ("import multiprocessing", ()),
        ("import concurrent.futures", ()),
        ("", ("-X", "dev")),
    ],
    ids=["profiler", "coverage", "thread", "observers", "logging", "processes", "futures", "dev-mode"],
)
def test_python_ends_the_process_where_something_would_be_lost(book, before, flags):
    done = python(PROGRAM.replace("code = main()", f"{before}\ncode = main()"), "validate", str(book), flags=flags)
    assert done.returncode == 0, done.stderr
    assert "came back" in done.stdout
    assert "registered" in done.stdout
    if before is THREAD:
        assert "waited for" in done.stdout


def test_output_to_a_pipe_arrives_whole(book):
    done = python(PROGRAM, "validate", str(book), "--json")
    assert json.loads(done.stdout)["valid"] is True


# -- pydantic's plugins ----------------------------------------------------------------------------------------------

SEEN = """
import os, sys
from gert_core.cli import main
{before}
main(sys.argv[1:])
import pydantic.plugin._loader as loader
print("plugins", loader._plugins, os.environ.get("PYDANTIC_DISABLE_PLUGINS"))
"""
"""``None`` is what pydantic keeps while it has not looked for plugins."""


def seen(*args, before="", environ=None):
    code = SEEN.format(before=before)
    done = subprocess.run(
        [sys.executable, "-c", code, *args],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        env={**os.environ, **(environ or {})},
    )
    return done.stdout.splitlines()[-1]


@pytest.mark.parametrize("verb", ["validate", "exec"])
def test_a_command_does_not_look_for_pydantics_plugins(book, verb):
    assert seen(verb, str(book)) == "plugins None None"


def test_a_users_setting_wins(book):
    found = seen("validate", str(book), environ={"PYDANTIC_DISABLE_PLUGINS": "some-plugin"})
    assert found == "plugins {} some-plugin"


def test_a_host_that_has_pydantic_keeps_its_plugins(book):
    assert seen("validate", str(book), before="import pydantic") == "plugins {} None"


# -- importlib.metadata ----------------------------------------------------------------------------------------------

METADATA_COMMAND = """
from gert_core import hookimpl
from gert_core.api import Command

@hookimpl
def gert_commands():
    return [Command(name="lookup", summary="Looks something up.", target="lookup:main")]
"""
USES = {
    "a name": "from importlib.metadata import version\nfound = version('pluggy')",
    "the module": "import importlib.metadata\nfound = importlib.metadata.version('pluggy')",
    "another name for it": "import importlib.metadata as metadata\nfound = metadata.version('pluggy')",
    "from its package": "from importlib import metadata\nfound = metadata.version('pluggy')",
    "an exception": "from importlib.metadata import PackageNotFoundError as E, version\n"
    "try:\n    version('no-such-thing')\nexcept E:\n    found = version('pluggy')",
    "a module inside": "import importlib.metadata._text\nfound = importlib.metadata.version('pluggy')",
    "entry points": "from importlib.metadata import entry_points\n"
    "assert [e for e in entry_points(group='console_scripts') if e.name == 'gert']\nimport pluggy\nfound = pluggy.__version__",
    "everything": "from importlib.metadata import *\nfound = version('pluggy')",
    "threads": "import importlib.metadata, threading\nfound = []\n"
    "def look():\n    found.append(importlib.metadata.version('pluggy'))\n"
    "all = [threading.Thread(target=look) for _ in range(8)]\n"
    "[t.start() for t in all]; [t.join() for t in all]\n(found,) = set(found) if len(found) == 8 else ()",
}


@pytest.mark.parametrize("use", USES.values(), ids=USES.keys())
def test_a_plugin_may_use_importlib_metadata_in_every_way(tmp_path, fake_dist, use):
    """Its import is put off, because pydantic names it in every process and uses it in none of ours."""
    body = "".join(f"    {line}\n" for line in ("import sys", "assert 'zipfile' not in sys.modules"))
    if "import *" in use:
        files = {"lookup.py": f"{use}\ndef main(args, host):\n    print('found', found)\n"}
    else:
        lines = "".join(f"    {line}\n" for line in use.splitlines())
        files = {"lookup.py": f"def main(args, host):\n{body}{lines}    print('found', found)\n"}
    fake_dist.add("gert-command-lookup", METADATA_COMMAND, files=files)
    done = subprocess.run(
        [sys.executable, "-m", "gert_core", "lookup"],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": str(fake_dist.directory)},
    )
    assert (done.returncode, done.stdout) == (0, f"found {pluggy.__version__}\n"), done.stderr


def test_importlib_metadata_is_itself_again_after_a_command(book):
    code = (
        "import sys\nfrom gert_core.cli import main\nmain(['validate', sys.argv[1]])\n"
        "import importlib.metadata as found\nprint(type(found).__name__, found.version('pluggy'))"
    )
    assert python(code, str(book)).stdout.splitlines()[-1] == f"module {pluggy.__version__}"


# -- what is inherited -----------------------------------------------------------------------------------------------

TOOL_BOOK = """
apiVersion: kernel/v0
meta: { name: listing }
tools: [env]
steps:
  - { id: list, type: tool, tool: env }
  - { id: done, type: end, outcome: { category: resolved, meta: { seen: "{{ .list.stdout }}" } } }
"""
ENV_TOOL = """
apiVersion: tool/v0
meta: { name: env }
contract: { effects: [], reads: [], writes: [], deterministic: false, outputs: { stdout: { type: string } } }
actions: { run: { argv: [env], extract: { stdout: { from: stdout } } } }
"""
PLUGIN_COMMAND = """
from gert_core import hookimpl
from gert_core.api import Command

@hookimpl
def gert_commands():
    return [Command(name="list-env", summary="Lists the environment.", target="list_env:main")]
"""
LIST_ENV = "import subprocess\ndef main(args, host):\n    print(subprocess.check_output(['env'], text=True))\n"


def variables(text):
    return {line.partition("=")[0] for line in text.splitlines()}


def test_a_tool_gets_the_environment_that_the_user_set(tmp_path):
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "env.tool.yaml").write_text(ENV_TOOL)
    (tmp_path / "book.yaml").write_text(TOOL_BOOK)
    done = subprocess.run(
        [sys.executable, "-m", "gert_core", "exec", "book.yaml", "--json"],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    shown = json.loads(done.stdout)["outcome"]["meta"]["seen"]
    assert "PATH" in variables(shown)
    assert "PYDANTIC_DISABLE_PLUGINS" not in variables(shown)


def test_a_plugins_command_inherits_nothing_that_the_user_did_not_set(tmp_path, fake_dist):
    fake_dist.add("gert-command-list", PLUGIN_COMMAND, files={"list_env.py": LIST_ENV})
    done = subprocess.run(
        [sys.executable, "-m", "gert_core", "list-env"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(fake_dist.directory)},
    )
    assert "PATH" in variables(done.stdout)
    assert "PYDANTIC_DISABLE_PLUGINS" not in variables(done.stdout)


USES_YAML = """
import re, sys
compile = re.compile
from gert_core.cli import main
code = main(sys.argv[1:])
import yaml
from gert_core.cli.patterns import DeferredPattern
kept = [yaml.reader.Reader.NON_PRINTABLE, yaml.constructor.SafeConstructor.timestamp_regexp]
kept += [pattern for found in yaml.SafeLoader.yaml_implicit_resolvers.values() for _, pattern in found]
{check}
"""


@pytest.mark.parametrize(
    "check",
    [
        "assert all(isinstance(one, DeferredPattern) and set(vars(one)) == {'_given'} for one in kept)",
        "assert yaml.safe_load('a: [1, 2.5, true, ~, 2026-11-17]\\nb: x')['a'][:4] == [1, 2.5, True, None]",
        "assert str(yaml.safe_load('2026-11-17 10:00:00')) == '2026-11-17 10:00:00'",
        "try: yaml.safe_load('a: \\x01')\nexcept yaml.reader.ReaderError: pass\nelse: assert False",
        "assert yaml.safe_dump(['1', 'yes', 'no one']) == \"- '1'\\n- 'yes'\\n- no one\\n\"",
        "assert re.compile is compile and all('gert_core' not in str(type(one)) for one in sys.meta_path)",
        "import importlib; importlib.reload(yaml.reader)",
    ],
    ids=["unused", "values", "times", "refused", "dumped", "restored", "reloaded"],
)
def test_the_patterns_of_pyyamls_loaders_are_compiled_when_they_are_used(book, check):
    done = python(USES_YAML.replace("{check}", check), "validate", str(book))
    assert done.returncode == 0, done.stderr
