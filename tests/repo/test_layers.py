"""The core is built in layers, and plugins use only its public doors."""

from __future__ import annotations

import ast

import pytest
from repository import CORE, ROOT, core_modules, member_directories, module_name, runtime_imports

LAYERS = [
    {"__init__", "api"},
    {"kit"},
    {"hookspecs", "plugin"},
    {"documents", "template"},
    {"values", "contracts", "governance", "keys", "secrets", "trace", "validation"},
    {"inputs", "input_sources", "approvals", "tools", "runs", "stores", "graph", "explain"},
    {"engine"},
    {"scenarios", "host", "hosting"},
    {"cli", "__main__"},
    {"testing"},
]
LEVEL = {unit: level for level, units in enumerate(LAYERS) for unit in units}

ONLY_IN = {
    "pluggy": ("gert_core", "gert_core.hookspecs", "gert_core.plugin."),
    "importlib_metadata": ("gert_core.plugin.discovery",),
    "importlib.metadata": (),
    "typer": ("gert_core.cli.",),
    "yaml": ("gert_core.documents.yaml", "gert_core.documents."),
    "pytest": ("gert_core.testing",),
    "re2": ("gert_core.template.regex",),
}

# Doors: they hand something of a higher layer to hosts and plugins, and import it only when it is used.
FREE = {"gert_core", "gert_core.api", "gert_core.kit.compare"}


def unit(name: str) -> str:
    """The part of the core a module belongs to."""
    parts = name.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def tree_of(file):
    return ast.parse(file.read_text(encoding="utf-8"))


def test_every_part_of_the_core_has_a_layer():
    assert {unit(module_name(f)) for f in core_modules()} <= set(LEVEL)


@pytest.mark.parametrize("file", core_modules(), ids=module_name)
def test_a_module_imports_only_its_own_layer_or_lower_ones(file):
    name = module_name(file)
    if name in FREE:
        return
    own = LEVEL[unit(name)]
    wrong = [
        imported
        for imported in runtime_imports(tree_of(file))
        if imported.startswith("gert_core.") and unit(imported) in LEVEL and LEVEL[unit(imported)] > own
    ]
    assert not wrong, f"{name} reaches up: {wrong}"


def test_parts_of_one_layer_do_not_depend_on_each_other_in_a_circle():
    needs = {part: set() for part in LEVEL}
    for file in core_modules():
        own = unit(module_name(file))
        for imported in runtime_imports(tree_of(file)):
            other = unit(imported) if imported.startswith("gert_core.") else own
            if other in LEVEL and other != own and LEVEL[other] == LEVEL[own]:
                needs[own].add(other)
    done: set[str] = set()
    while ready := {part for part in needs if part not in done and needs[part] <= done}:
        done |= ready
    assert set(needs) == done, {part: needs[part] - done for part in set(needs) - done}


@pytest.mark.parametrize("file", core_modules(), ids=module_name)
def test_nothing_is_found_by_its_address(file):
    """An address is given to another object when the first is gone; keys are paths, names and values."""
    calls = [n for n in ast.walk(tree_of(file)) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)]
    assert not [call.lineno for call in calls if call.func.id == "id"]


@pytest.mark.parametrize("library", ONLY_IN)
def test_a_library_has_one_place(library):
    wrong = [
        module_name(file)
        for file in core_modules()
        for imported in runtime_imports(tree_of(file))
        if (imported == library or imported.startswith(f"{library}."))
        and not any(
            module_name(file) == place
            or (place.endswith(".") and module_name(file).startswith(place))
            or (library == "pytest" and module_name(file).startswith(place))
            for place in ONLY_IN[library]
        )
    ]
    assert not wrong, f"{library} is imported by {sorted(set(wrong))}"


def module_level(tree: ast.Module) -> list[str]:
    body = [n for n in tree.body if not (isinstance(n, ast.If) and ast.unparse(n.test) == "TYPE_CHECKING")]
    plain = [n for n in body if isinstance(n, ast.Import | ast.ImportFrom)]
    return runtime_imports(ast.Module(body=plain, type_ignores=[]))


@pytest.mark.parametrize("file", core_modules(), ids=module_name)
def test_jinja2_and_jsonschema_are_never_imported_at_module_level(file):
    assert not {i.partition(".")[0] for i in module_level(tree_of(file))} & {"jinja2", "jsonschema"}


def test_the_core_imports_no_plugin():
    packages = {p.name for d in member_directories() for p in (d / "src").glob("*") if p.is_dir()}
    assert packages
    wrong = {
        module_name(file): imported
        for file in CORE.rglob("*.py")
        for imported in runtime_imports(tree_of(file))
        if imported.partition(".")[0] in packages
    }
    assert not wrong


PUBLIC = ("gert_core.api", "gert_core.hosting", "gert_core.kit", "gert_core.testing", "gert_core.hookspecs")


@pytest.mark.parametrize("directory", member_directories(), ids=lambda d: d.name)
def test_a_member_uses_only_the_public_doors(directory):
    wrong = []
    for file in (directory / "src").rglob("*.py"):
        tree = tree_of(file)
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "gert_core":
                names = {alias.name for alias in node.names}
                ok = node.module == "gert_core" and names <= {"hookimpl", "__version__"}
                ok = ok or any(node.module == door or node.module.startswith(f"{door}.") for door in PUBLIC)
                if not ok:
                    wrong.append(f"{file.relative_to(ROOT)}: from {node.module} import {', '.join(sorted(names))}")
            elif isinstance(node, ast.Import):
                wrong += [
                    f"{file.relative_to(ROOT)}: import {a.name}" for a in node.names if a.name.startswith("gert_core")
                ]
    assert not wrong
