"""The reference of the records and protocols plugins are made of, from ``gert_core.api``."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path
from typing import Final

from gert_core import api

INTRODUCTION: Final = """# Records

<!-- Written by docs/generate.py from gert_core/api: change it there. -->

Everything a plugin imports: `from gert_core.api import NAME`. Records are frozen and keyword-only. Which hook gives
which record: [hooks](hooks.md). Field types for step models (`StepModel`, `Steps`, `Expr`, `Templated`) are in
`gert_core.kit.models`, which imports pydantic; import it where the model is, never in a plugin's entry module. Child
processes are started through `gert_core.kit.processes`. `debug` and `warning` of `gert_core.kit.log` log on `gert.PART`
without importing `logging` before somebody listens.
"""
TITLES: Final = {
    "steps": "Step types",
    "context": "What a step is given",
    "results": "What a step returns",
    "contracts": "Contracts",
    "transports": "Transports",
    "approvals": "Approvals",
    "inputs": "Inputs",
    "signatures": "Signatures",
    "policies": "Policies",
    "packs": "Tool packs",
    "commands": "Commands",
    "views": "Projects and runbooks",
    "data": "Data",
    "diagnostics": "Diagnostics",
    "events": "Trace events",
    "errors": "Errors",
    "error_kinds": "Error kinds",
}


def page() -> str:
    """The whole page, module by module."""
    folder = Path(inspect.getfile(api)).parent
    parts = [INTRODUCTION.rstrip()]
    public = set(api.__all__)
    for module, title in TITLES.items():
        tree = ast.parse((folder / f"{module}.py").read_text(encoding="utf-8"))
        parts.append(f"## {title}\n\n{_text(ast.get_docstring(tree))}")
        for node in tree.body:
            if isinstance(node, ast.ClassDef) and node.name in public:
                parts.append(_class(node))
                public.discard(node.name)
        parts += [_constant(node, public) for node in tree.body if _named(node) in public]
    return "\n\n".join(parts) + "\n"


def _class(node: ast.ClassDef) -> str:
    bases = [ast.unparse(base) for base in node.bases if ast.unparse(base) not in ("Protocol", "Exception", "Struct")]
    tail = f" ({', '.join(f'`{base}`' for base in bases)})" if bases else ""
    out = [f"### `{node.name}`{tail}", _text(ast.get_docstring(node))]
    fields, methods, values = [], [], []
    for item in node.body:
        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name) and not item.target.id.startswith("_"):
            default = _default(item.value)
            fields.append(f"| `{item.target.id}` | `{_cell(ast.unparse(item.annotation))}` | {default} |")
        elif isinstance(item, ast.Assign) and isinstance(item.targets[0], ast.Name):
            values.append(f"`{item.targets[0].id}` = `{ast.unparse(item.value)}`")
        elif isinstance(item, ast.FunctionDef) and not item.name.startswith("_"):
            methods.append(_method(item))
    if fields:
        out.append("\n".join(["| field | type | default |", "|---|---|---|", *fields]))
    if values:
        out.append(", ".join(values) + ".")
    if methods:
        out.append("\n".join(methods))
    return "\n\n".join(part for part in out if part)


def _method(node: ast.FunctionDef) -> str:
    signature = ast.unparse(node.args).removeprefix("self, ").removeprefix("self")
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    is_property = any(ast.unparse(d) == "property" for d in node.decorator_list)
    shown = f"{node.name}{returns}" if is_property else f"{node.name}({signature}){returns}"
    about = _text(ast.get_docstring(node)).replace("\n", " ")
    return f"- `{shown}`: {about}"


def _named(node: ast.stmt) -> str:
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return node.target.id
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        return node.targets[0].id
    return ""


def _constant(node: ast.stmt, public: set[str]) -> str:
    assert isinstance(node, ast.Assign | ast.AnnAssign)  # noqa: S101 - _named gives nothing else
    name = _named(node)
    public.discard(name)
    return f"### `{name}`\n\n`{ast.unparse(node.value) if node.value else ''}`"


def _default(value: ast.expr | None) -> str:
    if value is None:
        return ""
    text = ast.unparse(value)
    made = re.fullmatch(r"field\(default_factory=(.+)\)", text)
    return {"dict": "`{}`", "lambda: _EMPTY": "`{}`"}.get(made[1], f"`{made[1]}()`") if made else f"`{_cell(text)}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _text(text: str | None) -> str:
    return re.sub(r"(?<!`)``(?!`)", "`", text or "")


__all__ = ["page"]
