"""Renders the public names of a module from its source: classes with fields and methods, functions, constants."""

from __future__ import annotations

import ast
import re
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final

_QUIET_BASES: Final = {"Protocol", "Exception", "Struct", "StrEnum", "BaseModel"}


def summary(module: str) -> str:
    """Return the docstring of a module."""
    return text(ast.get_docstring(_tree(module)))


def public(module: str) -> list[str]:
    """Return the names in a module's ``__all__``, classes and functions in the order of the source, constants last."""
    tree = _tree(module)
    names = next(
        [str(item.value) for item in node.value.elts if isinstance(item, ast.Constant)]
        for node in tree.body
        if isinstance(node, ast.Assign) and _name(node) == "__all__" and isinstance(node.value, ast.List)
    )
    found = {name: find(module, name) for name in names}
    order = {
        name: (isinstance(node, ast.Assign | ast.AnnAssign), home != module, home, node.lineno)
        for name, (home, node) in found.items()
    }
    return sorted(names, key=lambda name: order[name])


def entry(module: str, name: str, *, level: int = 3) -> str:
    """Return the section about one public name, wherever it is defined."""
    home, node = find(module, name)
    title = f"{'#' * level} `{name}`"
    if isinstance(node, ast.ClassDef):
        return _class(node, title)
    if isinstance(node, ast.FunctionDef):
        fixture = any("fixture" in ast.unparse(decorator) for decorator in node.decorator_list)
        kind = "A pytest fixture. " if fixture else ""
        shown = f"```text\n{name}{_signature(node)}\n```\n\n" if not fixture else ""
        return f"{title}\n\n{shown}{kind}{text(ast.get_docstring(node))}"
    return _constant(home, node, title)


def find(module: str, name: str) -> tuple[str, ast.stmt]:
    """Return the module that defines a name, following imports, and the statement that does."""
    for node in _statements(_tree(module)):
        if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == name:
            return module, node
        if _name(node) == name and name != "__all__":
            return module, node
        if isinstance(node, ast.ImportFrom) and node.module and any(alias.name == name for alias in node.names):
            return find(node.module, name)
    raise LookupError(f"{module} does not define {name}")


def text(docstring: str | None) -> str:
    """Return a docstring as Markdown."""
    return re.sub(r"(?<!`)``(?!`)", "`", docstring or "")


@cache
def _tree(module: str) -> ast.Module:
    spec = find_spec(module)
    assert spec is not None and spec.origin is not None, module  # noqa: S101, PT018 - pages name modules that exist
    return ast.parse(Path(spec.origin).read_text(encoding="utf-8"))


def _statements(tree: ast.Module) -> list[ast.stmt]:
    """Return the statements of a module, those under ``if TYPE_CHECKING`` last."""
    guarded = [node for node in tree.body if isinstance(node, ast.If)]
    return [*tree.body, *(inner for node in guarded for inner in node.body)]


def _class(node: ast.ClassDef, title: str) -> str:
    bases = [ast.unparse(base) for base in node.bases if ast.unparse(base) not in _QUIET_BASES]
    tail = f" ({', '.join(f'`{base}`' for base in bases)})" if bases else ""
    fields, methods, values, promises = [], [], [], []
    for item, doc in _documented(node.body):
        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
            if not item.target.id.startswith("_"):
                about = doc or _described(item.value)
                fields.append((f"`{item.target.id}`", _type(item.annotation), _default(item.value), about))
        elif isinstance(item, ast.Assign) and isinstance(item.targets[0], ast.Name):
            if not item.targets[0].id.startswith(("_", "model_config")):
                values.append(f"`{item.targets[0].id}` = `{ast.unparse(item.value)}`")
        elif isinstance(item, ast.FunctionDef) and item.name.startswith("test_"):
            promises.append(f"- {item.name.removeprefix('test_').replace('_', ' ')}")
        elif isinstance(item, ast.FunctionDef) and not item.name.startswith("_"):
            methods.append(_method(item))
    out = [title + tail, text(ast.get_docstring(node)), _table(fields)]
    if values:
        out.append(", ".join(values) + ".")
    out.append("\n".join(methods))
    if promises:
        out.append("Tests that:\n\n" + "\n".join(promises))
    return "\n\n".join(part for part in out if part)


def _documented(body: list[ast.stmt]) -> list[tuple[ast.stmt, str]]:
    """Return statements with the text that stands after them as their description."""
    after = [*body[1:], ast.Pass()]
    return [(node, _literal(following) if _name(node) else "") for node, following in zip(body, after, strict=True)]


def _literal(node: ast.stmt) -> str:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        return text(node.value.value)
    return ""


def _table(rows: list[tuple[str, str, str, str]]) -> str:
    if not rows:
        return ""
    described = any(row[3] for row in rows)
    width = 4 if described else 3
    head = ("field", "type", "default", "meaning")[:width]
    shown = [f"| {' | '.join(row[:width])} |" for row in (head, *rows)]
    return "\n".join([shown[0], "|---" * width + "|", *shown[1:]])


def _method(node: ast.FunctionDef) -> str:
    decorators = {ast.unparse(decorator) for decorator in node.decorator_list}
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    is_property = bool(decorators & {"property", "cached_property"})
    shown = f"{node.name}{returns}" if is_property else f"{node.name}{_signature(node)}"
    about = text(ast.get_docstring(node)).replace("\n\n", " ").replace("\n", " ")
    return f"- `{shown}`: {about}"


def _signature(node: ast.FunctionDef) -> str:
    arguments = re.sub(r"^(self|cls)(, )?", "", ast.unparse(node.args))
    return f"({arguments})" + (f" -> {ast.unparse(node.returns)}" if node.returns else "")


def _constant(module: str, node: ast.stmt, title: str) -> str:
    assert isinstance(node, ast.Assign | ast.AnnAssign)  # noqa: S101 - nothing else has such a name
    doc = next(doc for item, doc in _documented(_statements(_tree(module))) if item is node)
    value = ast.unparse(node.value) if node.value else ""
    shown = f"`{value}`" if len(value) < 120 else ""
    return "\n\n".join(part for part in (title, shown, doc) if part)


def _name(node: ast.stmt) -> str:
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return node.target.id
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        return node.targets[0].id
    return ""


def _type(annotation: ast.expr) -> str:
    shown = re.sub(r"^ClassVar\[(.*)\]$", r"\1", ast.unparse(annotation))
    return f"`{_cell(shown)}`"


def _default(value: ast.expr | None) -> str:
    if value is None:
        return ""
    given = _keywords(value, "Field")
    if given:
        return _made(given["default_factory"]) if "default_factory" in given else f"`{given.get('default', '')}`"
    shown = ast.unparse(value)
    factory = _keywords(value, "field").get("default_factory")
    return _made(factory) if factory else f"`{_cell(shown)}`"


def _made(factory: str) -> str:
    return {"dict": "`{}`", "lambda: _EMPTY": "`{}`"}.get(factory, f"`{factory}()`")


def _described(value: ast.expr | None) -> str:
    """Return the description a model gives its field."""
    return _keywords(value, "Field").get("description", "").strip("'\"")


def _keywords(value: ast.expr | None, function: str) -> dict[str, str]:
    if not isinstance(value, ast.Call) or ast.unparse(value.func) != function:
        return {}
    return {keyword.arg: ast.unparse(keyword.value) for keyword in value.keywords if keyword.arg}


def _cell(shown: str) -> str:
    return shown.replace("|", "\\|")


__all__ = ["entry", "find", "public", "summary", "text"]
