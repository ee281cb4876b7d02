"""Other tools beside gert, where they do the same job: run one command, and run fifty.

None of them writes a trace or waits for the disk; gert is measured with both, as it comes. A tool that is not
installed is left out with a note; `--peers DIR` names the directory with their commands.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from bench_speed import arguments, heading
from harness import Command, Figure, clean_environ, measure, progress, ratio, show
from workloads import Workloads, gert_script, tool_step

MANY = 50


def main() -> int:
    """Measure and print."""
    options = arguments(__doc__)
    with tempfile.TemporaryDirectory(prefix="gert-peers-") as place:
        contenders, absent = build(Path(place), options.peers)
        samples, failed = measure(contenders, rounds=options.rounds, seed=options.seed, cpu=options.cpu, say=progress)
        progress("")
    lines = [(name, *figures(samples, name)) for name in dict.fromkeys(n.rpartition(" ")[0] for n in samples)]
    if options.json:
        rows = [{"tool": name, "one": vars(one), "per_step": vars(step)} for name, one, step in lines]
        print(json.dumps({"rows": rows, "seconds": samples, "absent": absent, "failed": failed}, indent=1))
        return 0
    print(heading(options))
    print("| tool | one command, in gert's | a further command, in gert's | ms per further command |")
    print("|---|---:|---:|---:|")
    for name, one, step in lines:
        cost = Figure.of(further(samples, name))
        print(f"| {name} | {spread(one)} | {spread(step)} | {show(cost.median * 1000)} |")
    for name in absent:
        print(f"\nnot installed, left out: {name}")
    for name, why in failed.items():
        print(f"\nnot measured: {name}: {why}")
    return 0


def spread(figure: Figure) -> str:
    """Median and quartiles."""
    return f"{show(figure.median)} ({show(figure.low)} to {show(figure.high)})"


def further(samples: dict[str, list[float]], name: str) -> list[float]:
    """Seconds of one more command: what many take beyond one."""
    rounds = zip(samples[f"{name} many"], samples[f"{name} one"], strict=True)
    return [max(many - one, 1e-9) / (MANY - 1) for many, one in rounds]


def figures(samples: dict[str, list[float]], name: str) -> tuple[Figure, Figure]:
    """One command, and a further one, each in units of gert's."""
    mine, theirs = further(samples, "gert exec"), further(samples, name)
    return (
        ratio(samples, f"{name} one", "gert exec one"),
        Figure.of([a / b for a, b in zip(theirs, mine, strict=True)]),
    )


def build(place: Path, peers: Path | None) -> tuple[dict[str, Command], list[str]]:
    """The commands of every tool that is here, and those that are not."""
    work = Workloads(place)
    contenders, absent = {}, []
    for size, count in (("one", 1), ("many", MANY)):
        home = place / size
        home.mkdir()
        book = work.book(f"steps_{size}", "".join(tool_step(n) for n in range(count)))
        contenders[f"gert exec {size}"] = Command(argv=[str(gert_script()), "exec", str(book)], cwd=place)
        none = [str(gert_script()), "exec", str(book), "--trace-sync", "none"]
        contenders[f"gert exec, no sync {size}"] = Command(argv=none, cwd=place)
        for name, (program, arguments_) in write_peers(home, count).items():
            found = find(program, peers)
            if found is None:
                absent.append(name)
                continue
            temporary = str(home / "ansible")
            environ = clean_environ(
                ANSIBLE_LOCALHOST_WARNING="0",
                ANSIBLE_NOCOLOR="1",
                ANSIBLE_HOME=temporary,
                ANSIBLE_LOCAL_TEMP=temporary,
                ANSIBLE_REMOTE_TEMP=temporary,
            )
            contenders[f"{name} {size}"] = Command(argv=[found, *arguments_], cwd=home, environ=environ)
    return contenders, list(dict.fromkeys(absent))


def find(program: str, peers: Path | None) -> str | None:
    """A command in the directory given, beside this Python, or on the path."""
    for folder in (peers, Path(sys.executable).parent):
        if folder is not None and (found := shutil.which(program, path=str(folder))):
            return found
    return shutil.which(program)


def write_peers(home: Path, count: int) -> dict[str, tuple[str, list[str]]]:
    """The same job in the words of each tool: its program and its arguments."""
    (home / "pipe.yaml").write_text("steps:\n" + "  - name: pypyr.steps.cmd\n    in: { cmd: 'true' }\n" * count)
    tasks = "".join(f"def task_{n}():\n    return {{'actions': [['true']], 'verbosity': 0}}\n" for n in range(count))
    (home / "dodo.py").write_text(f"DOIT_CONFIG = {{'dep_file': '.doit.db'}}\n{tasks}")
    calls = "    c.run('true')\n" * count
    (home / "tasks.py").write_text(f"from invoke import task\n@task\ndef all(c):\n{calls}")
    for module in ("raw", "command"):
        step = f"    - ansible.builtin.{module}: 'true'\n      changed_when: false\n"
        play = "- hosts: localhost\n  connection: local\n  gather_facts: false\n"
        play += '  vars: { ansible_python_interpreter: "{{ ansible_playbook_python }}" }\n  tasks:\n' + step * count
        (home / f"{module}.yml").write_text(play)
    playbooks = {
        f"ansible ({module})": ("ansible-playbook", ["-i", "localhost,", f"{module}.yml"])
        for module in ("raw", "command")
    }
    return {"pypyr": ("pypyr", ["pipe"]), "doit": ("doit", ["run"]), "invoke": ("inv", ["all"]), **playbooks}


if __name__ == "__main__":
    sys.exit(main())
