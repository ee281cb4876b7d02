"""Common mistakes of authors: each is reported once at its place, with a hint that mends it."""

from __future__ import annotations

import pytest

from gert_core.plugin.registry import Registry
from gert_core.validation import validate_file

HEAD = "apiVersion: kernel/v0\nmeta: {name: x, inputs: {host: {type: string}, n: {type: int}, ready: {type: bool}}}\n"
STEP = "steps:\n  - type: manual\n    instructions: hello\n"
END = "  - {type: end, outcome: {category: resolved}}\n"


@pytest.fixture(scope="module")
def registry():
    return Registry.build()


def found(text, registry, tmp_path):
    file = tmp_path / "x.yaml"
    file.write_text(HEAD + text + END, encoding="utf-8")
    return validate_file(file, registry=registry, environ={}).diagnostics


@pytest.mark.parametrize(
    ("text", "place", "hint"),
    [
        ("steps:\n\t- type: manual\n", (4, 1), "tabs"),
        ("steps:\n  - type = manual\n    instructions: x\n", (5, 17), "write `type: value`"),
        (STEP + "    id = x\n", (7, 3), "write `id: value`"),
        ('steps:\n  - type: manual\n    instructions: "{{ eq .host "x" }}"\n', (5, 33), "write '{{ eq .host \"x\" }}'"),
        ("steps:\n  - type: manual\n    instructions: 'don't'\n", (5, 24), "use the other kind"),
        ('steps:\n  - type: manual\n    instructions: "{{ .host }}" is it\n', (5, 33), "the whole value"),
        ('steps:\n  - type: manual\n    instructions: "C:\\path"\n', (5, 22), "double the backslash"),
        ("steps:\n  - type: manual\n    instructions: note: do\n", (5, 23), "contains `: `"),
        ("steps:\n  - type: manual\n    instructions: {{ .host }} now\n", (5, 20), 'write "{{ .host }} now"'),
        ("steps:\n  - type:\u00a0manual\n    instructions: x\n", (5, 17), "U+00A0"),
        ("steps:\n  - type: manual\n    instructions: \u201chi: x\u201d\n", (5, 22), "curly quotes"),
        ("steps:\n- type: manual\n   instructions: x\n", (5, 16), "indentation"),
        ("steps:\n  - type: manual\n  instructions: x\n", (5, 3), "indentation"),
        ('steps:\n  - type: manual\n    instructions: "open\n', (7, 1), "open in line 5"),
        ("steps:\n  - type: manual\n    instructions: [a, b\n", (6, 5), "open in line 5"),
        ("steps:\n  - type:manual\n", (4, 5), "space after the colon"),
        (STEP + "    continue_on_fail: yes\n", (6, 23), "write true"),
        (STEP + '    continue_on_fail: "false"\n', (6, 23), "write false"),
        (STEP + "    export: name\n", (6, 13), "write a list: [name]"),
        (STEP + "    visibility: [a]\n", (6, 17), "write a map: its fields are `allow`, `deny`"),
        ("steps:\n  - type: manual\n    instructions: 5\n", (5, 19), "in quotes"),
        (STEP + "    when: on\n", (6, 11), "write true"),
        (STEP + "    when: '{ .ready }'\n", (6, 11), 'write it as "{{ .ready }}"'),
        (STEP + "    when: eq .host 'x'\n", (6, 11), "write it as \"{{ eq .host 'x' }}\""),
        (STEP + "    when: '{{ .host == \"x\" }}'\n", (6, 21), 'write `eq .host "x"`'),
        (STEP + "    when: '{{ .host = \"x\" }}'\n", (6, 21), 'write `eq .host "x"`'),
        (STEP + "    when: '{{ .host != \"x\" }}'\n", (6, 21), 'write `ne .host "x"`'),
        (STEP + "    when: '{{ .n >= 3 }}'\n", (6, 18), "write `ge .n 3`"),
        (STEP + "    when: '{{ .host && .ready }}'\n", (6, 21), "write `and .host .ready`"),
        (STEP + "    when: '{{ .host || .ready }}'\n", (6, 22), "write `or .a .b`"),
        (STEP + "    when: '{{ !.ready }}'\n", (6, 15), "write `not .ready`"),
        (STEP + "    when: '{{ .n + 1 }}'\n", (6, 18), "without the leading dot"),
        (STEP + "    when: '{{ $ready }}'\n", (6, 15), "no `$`"),
        (STEP + "    when: '{{ equals .host \"x\" }}'\n", (6, 15), "did you mean `eq`?"),
        (STEP + "    when: '{{ if .ready }}'\n", (6, 15), "use `when`"),
        (STEP + "    when: '{{ .redy }}'\n", (6, 15), "did you mean `.ready`?"),
    ],
)
def test_hint(text, place, hint, registry, tmp_path):
    first = found(text, registry, tmp_path)
    assert (first[0].line, first[0].column) == place or (first[-1].line, first[-1].column) == place, first
    assert any(hint in (item.hint or "") for item in first), first


def test_a_position_inside_the_template_engine_is_not_shown(registry, tmp_path):
    (only,) = found(STEP + "    when: '{{ !.ready }}'\n", registry, tmp_path)
    assert only.message == "invalid expression: unexpected char '!'"
