"""The reference of documents, field by field, from the models through their JSON Schemas."""

from __future__ import annotations

import json
from typing import Any, Final

from gert_core.documents.kinds import DocumentKind
from gert_core.documents.schema import json_schema
from gert_core.plugin.registry import Registry

INTRODUCTION: Final = """# Documents

<!-- Written by docs/generate.py from the models: change their descriptions there. -->

Every field of every kind of document. `gert schema KIND` prints the same as a JSON Schema for editors and other
programs; an unknown field is an error everywhere except under `extensions`. A field without a default may be left out
unless it says *required*.

"""
TITLES: Final = {
    DocumentKind.RUNBOOK: "Runbook",
    DocumentKind.TOOL: "Tool",
    DocumentKind.POLICY: "Policy",
    DocumentKind.PROJECT: "Project",
    DocumentKind.SCENARIO: "Scenario",
    DocumentKind.TEST: "Test",
}
FILES: Final = {
    DocumentKind.RUNBOOK: "`apiVersion: kernel/v0`, in any YAML file.",
    DocumentKind.TOOL: "`apiVersion: tool/v0`, in `NAME.tool.yaml`.",
    DocumentKind.POLICY: "`apiVersion: policy/v0`, in any YAML file.",
    DocumentKind.PROJECT: "`gert-project.yaml`, found upward from a runbook.",
    DocumentKind.SCENARIO: "`scenarios/RUNBOOK/SCENARIO/scenario.yaml` beside the runbook.",
    DocumentKind.TEST: "`scenarios/RUNBOOK/SCENARIO/test.yaml` beside the scenario.",
}
STEP: Final = "step"


def page() -> str:
    """The whole page."""
    types = Registry.build().step_types()
    parts = [INTRODUCTION.rstrip()]
    shown: set[str] = set()
    for kind, title in TITLES.items():
        schema = json_schema(str(kind), types)
        definitions = schema.get("$defs", {})
        parts.append(f"## {title}\n\n{FILES[kind]}\n\n{_table(schema)}")
        if kind is DocumentKind.RUNBOOK:
            parts.append(_steps(definitions))
            shown |= {name for name in definitions if name == STEP or name.startswith(f"{STEP}-")}
        for name, definition in definitions.items():
            if name not in shown:
                shown.add(name)
                parts.append(
                    f"### {_words(name)} {{: #{_anchor(name)} }}\n\n{_about(definition)}\n\n{_table(definition)}"
                )
    return "\n\n".join(parts) + "\n"


def _steps(definitions: dict[str, Any]) -> str:
    common = definitions[STEP]
    parts = [f"### Every step {{: #{STEP} }}\n\n{_about(common)}\n\n{_table(common)}"]
    for name, definition in definitions.items():
        kind = name.removeprefix(f"{STEP}-")
        if not name.startswith(f"{STEP}-") or kind.endswith("-by-fields"):
            continue
        own = {k: v for k, v in definition.get("properties", {}).items() if k not in common["properties"]}
        table = _table({**definition, "properties": own}) if own else "It has no field of its own."
        parts.append(f"### `type: {kind}` {{: #{name} }}\n\n{_about(definition)}\n\n{table}")
    return "\n\n".join(parts)


def _about(definition: dict[str, Any]) -> str:
    text = str(definition.get("description", "")).replace("``", "`")
    return text.strip()


def _table(definition: dict[str, Any]) -> str:
    required = set(definition.get("required", ()))
    rows = ["| field | value | meaning |", "|---|---|---|"]
    for name, field in definition.get("properties", {}).items():
        if isinstance(field, dict):
            meaning = _about(field) + (" *Required.*" if name in required else _default(field))
            rows.append(f"| `{name}` | {_type(field)} | {meaning.strip().replace('|', chr(92) + '|')} |")
    return "\n".join(rows)


def _default(field: dict[str, Any]) -> str:
    value = field.get("default")
    if value is None or value in ([], {}, ""):
        return ""
    return f" Default `{json.dumps(value)}`."


def _type(field: dict[str, Any]) -> str:
    if "$ref" in field:
        name = field["$ref"].rpartition("/")[2]
        return f"[{_words(name).lower()}](#{_anchor(name)})"
    if "const" in field:
        return f"`{field['const']}`"
    if "enum" in field:
        return " ".join(f"`{value}`" for value in field["enum"])
    if "anyOf" in field:
        said = " or ".join(_type(option) for option in field["anyOf"])
        return " or ".join(dict.fromkeys(said.split(" or ")))
    match field.get("type"):
        case "array":
            return f"list of {_type(field['items'])}" if field.get("items") else "list"
        case "object":
            inner = field.get("additionalProperties") or next(iter(field.get("patternProperties", {}).values()), None)
            return f"map of {_type(inner)}" if isinstance(inner, dict) and inner else "map"
        case "string":
            return "template" if field.get("pattern") == "\\{\\{" else "string"
        case "integer":
            return "integer"
        case str() as plain:
            return {"boolean": "`true` or `false`", "number": "number", "null": "nothing"}.get(plain, plain)
    return "anything"


def _words(name: str) -> str:
    text = "".join(f" {c.lower()}" if c.isupper() else c for c in name.removesuffix("Model")).strip()
    return text[:1].upper() + text[1:]


def _anchor(name: str) -> str:
    return name if name.startswith(STEP) else _words(name).lower().replace(" ", "-") + "-fields"


__all__ = ["page"]
