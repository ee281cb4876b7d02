"""JSON that others wrote is decoded in one place, which says with one exception that it cannot be read."""

from __future__ import annotations

import ast

import pytest
from repository import ROOT, core_modules, member_directories, module_name

READER = "gert_core.kit.json_reader"
ALLOWED = {
    "gert_core.trace.reader": "every line of every trace: `decode` itself catches what its two decoders raise",
}
DECODERS = {"loads", "load", "Decoder", "JSONDecoder", "decode", "decode_lines", "raw_decode"}
MODULES = {"json", "msgspec.json", "msgspec.msgpack", "msgspec.yaml", "msgspec.toml", "tomllib", "pickle", "marshal"}


def modules_of(tree: ast.AST) -> dict[str, str]:
    """Return the modules with decoders that are imported, by the names that they have here."""
    known = dict[str, str]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            known |= {one.asname or one.name: one.name for one in node.names if one.name in MODULES}
            known |= {f"{one.asname or one.name}.json": "json" for one in node.names if one.name == "msgspec"}
            known |= {f"{one.asname or one.name}.msgpack": "" for one in node.names if one.name == "msgspec"}
        elif isinstance(node, ast.ImportFrom):
            whole = ((f"{node.module}.{one.name}", one) for one in node.names)
            known |= {one.asname or one.name: name for name, one in whole if name in MODULES}
    return known


def decoders(tree: ast.AST) -> list[ast.expr | ast.ImportFrom]:
    """Return what decodes; what was encoded right there is read again without harm."""
    known, found = modules_of(tree), list[ast.expr | ast.ImportFrom]()
    again = {
        node.func
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Call)
        if ast.unparse(node.args[0].func) == "json.dumps"
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in MODULES:
            found += [node] if any(one.name in DECODERS for one in node.names) else []
        elif isinstance(node, ast.Attribute) and node.attr in DECODERS and ast.unparse(node.value) in known:
            found += [node] if node not in again else []
    return found


def named(file) -> str:
    parts = file.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[parts.index("src") + 1 :]) if "src" in parts else module_name(file)


def looked_at():
    core = [file for file in core_modules() if not module_name(file).startswith("gert_core.testing")]
    return [*core, *(file for directory in member_directories() for file in (directory / "src").rglob("*.py"))]


def test_no_other_module_decodes():
    found = {file: decoders(ast.parse(file.read_text(encoding="utf-8"))) for file in looked_at()}
    there = {named(file) for file, calls in found.items() if calls}
    wrong = [f"{file}:{one.lineno}" for file, calls in found.items() for one in calls if named(file) not in ALLOWED]
    assert not [place for place in wrong if not place.startswith(str(ROOT / READER.replace(".", "/")))], (
        f"decode it with {READER}"
    )
    assert there >= {READER, *ALLOWED}, "an exception is not needed any more"


PLANTED = [
    "import json\njson.loads(data)",
    "import json as json_\njson_.load(file)",
    "import json\nlist(map(json.loads, lines))",
    "import msgspec\nmsgspec.json.decode(data)",
    "import msgspec\nmsgspec.msgpack.Decoder()",
    "import msgspec.json\nmsgspec.json.decode(data)",
    "from msgspec import json as other\nother.Decoder(Kind)",
    "from msgspec.json import Decoder",
    "from json import loads",
    "def later():\n    import json\n    return json.loads(data)",
]


@pytest.mark.parametrize("text", PLANTED)
def test_other_ways_to_decode_are_known(text):
    assert decoders(ast.parse(text))


@pytest.mark.parametrize(
    "text", ["import json\njson.loads(json.dumps(value))", "import json\njson.dumps(value)", "data.decode('utf-8')"]
)
def test_what_decodes_nothing_of_others_is_known(text):
    assert not decoders(ast.parse(text))
