"""Writes the files that are made from the code: ``python docs/generate.py [--check]``."""

from __future__ import annotations

import inspect
import json
import re
import sys
from pathlib import Path

from gert_core import hookspecs
from gert_core.cli.behaviour import behaviour as described
from gert_core.graph.build import build_graph
from gert_core.graph.formats import render
from gert_core.host import load
from gert_core.plugin.registry import Registry

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))  # the page builders stand beside this script
from docs.generator import commands, diagrams, documents, kits, parameters, picture, records  # noqa: E402

INTRODUCTION = """# Hooks

<!-- Written by docs/generate.py from gert_core/hookspecs.py: change it there. -->

"""


def hooks() -> str:
    """The page of all hooks, in the order in which the module has them."""
    parts = [INTRODUCTION + inspect.cleandoc(hookspecs.__doc__ or "").partition("\n\n")[2]]
    for name, hook in vars(hookspecs).items():
        if name.startswith("gert_"):
            parts.append(f"## `{signature(hook)}`\n\n{inspect.cleandoc(hook.__doc__ or '')}")
    text = "\n\n".join(parts) + "\n"
    return re.sub(r"(?<!`)``(?!`)", "`", text)


def signature(function: object) -> str:
    """A hook with its arguments and types, as written."""
    found = inspect.signature(function)  # type: ignore[arg-type]
    arguments = ", ".join(f"{p.name}: {p.annotation}" for p in found.parameters.values())
    return f"{function.__name__}({arguments}) -> {found.return_annotation}"  # type: ignore[attr-defined]


def graph() -> str:
    """The graph of an example, as ``gert graph`` draws it."""
    book = load(HERE.parent / "examples" / "runbooks" / "incident-triage" / "incident-triage.runbook.yaml")
    return render(build_graph(book), "svg")


def behaviour() -> str:
    """How gert behaves, as ``gert schema behaviour`` prints it."""
    return json.dumps(described(Registry.build()), ensure_ascii=False, indent=2) + "\n"


PAGES = {
    "behaviour.json": behaviour,
    "reference/hooks.md": hooks,
    "reference/documents.md": documents.page,
    "reference/cli.md": commands.page,
    "reference/records.md": records.page,
    "reference/kit.md": kits.kit,
    "reference/testing.md": kits.testing,
    "reference/hosting.md": kits.hosting,
    "run.svg": picture.page,
    "graph.svg": graph,
    "explanation/packages.svg": diagrams.packages,
    "explanation/step.svg": diagrams.step,
    "../gert_core/cli/parameters.py": parameters.page,
}


def main(arguments: list[str]) -> int:
    """Write every page, or with ``--check`` only compare; the exit code tells whether one was stale."""
    stale = []
    for path, page in PAGES.items():
        file = HERE / path
        text = page()
        if not file.exists() or file.read_text(encoding="utf-8") != text:
            stale.append(path)
            if "--check" not in arguments:
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text, encoding="utf-8")
    for path in stale:
        file = (HERE / path).resolve().relative_to(HERE.parent.resolve())
        print(f"{file} {'is stale' if '--check' in arguments else 'written'}")
    return int("--check" in arguments and bool(stale))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
