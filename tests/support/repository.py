"""What tests about the repository share: where it is and what belongs to it."""

from __future__ import annotations

import ast
import os
import shutil
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
CORE = ROOT / "gert_core"
_NOT_OURS = (".git", ".venv", ".nox", ".hypothesis", ".*_cache", "__pycache__", "uv.lock", "dist", "site", "*.egg-info")


def member_directories() -> list[Path]:
    """Every workspace member: plugins, libraries and tool packs."""
    return sorted(f.parent for place in ("plugins", "tool_packs") for f in (ROOT / place).glob("*/pyproject.toml"))


def project_of(directory: Path) -> dict[str, Any]:
    """A member's pyproject as data."""
    return tomllib.loads((directory / "pyproject.toml").read_text(encoding="utf-8"))


def copy_checkout(target: Path) -> Path:
    """Copy the files of the checkout, without environments, caches and history, and return the copy."""
    shutil.copytree(ROOT, target, ignore=shutil.ignore_patterns(*_NOT_OURS))
    return target


def checkout_files() -> list[Path]:
    """Return every file a copy of the checkout has."""
    skip, found = shutil.ignore_patterns(*_NOT_OURS), []
    for place, folders, files in os.walk(ROOT):
        skipped = skip(place, [*folders, *files])
        folders[:] = sorted(set(folders) - skipped)
        found += [Path(place, name) for name in sorted(set(files) - skipped)]
    return found


def core_modules() -> list[Path]:
    """Every module of the core."""
    return sorted(CORE.rglob("*.py"))


def module_name(file: Path) -> str:
    """``gert_core/cli/app.py`` is ``gert_core.cli.app``."""
    parts = file.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def runtime_imports(tree: ast.Module) -> list[str]:
    """The modules a file imports when it runs, also inside functions; ``TYPE_CHECKING`` blocks do not count."""
    found: list[str] = []

    class Visitor(ast.NodeVisitor):
        def visit_If(self, node: ast.If) -> None:
            if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
                for other in node.orelse:
                    self.visit(other)
            else:
                self.generic_visit(node)

        def visit_Import(self, node: ast.Import) -> None:
            found.extend(alias.name for alias in node.names)

        def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
            if node.module:
                found.append(node.module)
                found.extend(f"{node.module}.{alias.name}" for alias in node.names)

    Visitor().visit(tree)
    return found
