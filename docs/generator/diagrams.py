"""Draws the two pictures of the architecture page: the packages of the core, and one step's way through them."""

from __future__ import annotations

from html import escape
from typing import Final

# From what people use down to what everything uses: a package imports from its own row and from those below it.
LAYERS: Final = (
    ("tests of plugins", ("testing",)),
    ("command line", ("cli",)),
    ("on top of runs", ("scenarios", "host", "hosting")),
    ("execution", ("engine",)),
    ("of a run", ("inputs", "input_sources", "approvals", "tools", "runs", "stores", "graph", "explain")),
    ("decisions and records", ("validation", "governance", "contracts", "secrets", "keys", "trace", "values")),
    ("reading", ("documents", "template")),
    ("plugins", ("plugin", "hookspecs")),
    ("what plugins may use", ("kit",)),
    ("what plugins consist of", ("api",)),
)
PARTS: Final = {
    "engine": ("steps", "flow", "modes", "resume"),
    "cli": ("commands", "doctor", "render"),
}
PLUGINS: Final = (
    "gert-step-*",
    "gert-transport-*",
    "gert-approval-*",
    "gert-input-*",
    "gert-signature-*",
    "gert-policy-*",
    "gert-tools-*",
)

# Phase, what happens, the plugin that takes part, what is outside, and the events; with "?" if not always written.
PHASES: Final = (
    ("open", "step key, recorded result, when", "", "", ()),
    ("render", "templates become inputs", "", "", ()),
    ("contract", "what it touches, and its risk", "", "", ("contract_evaluated",)),
    ("govern", "the most restrictive policy wins", "policy packs", "", ("governance_decision",)),
    ("approve", "if policy asks for it", "approval provider", "people", ("approval_submitted?", "approval_resolved?")),
    ("start", "on disk before anything happens", "", "", ("step_start",)),
    ("attempt", "run(step, context)", "step type", "", ()),
    ("", "context, then the mode's backend", "transport", "program", ()),
    ("check", "outputs against the contract", "", "", ("contract_violation?",)),
    ("close", "variables, result, next step", "", "", ("step_complete",)),
)

_BACKGROUND, _BOX, _LINE, _TEXT, _SOFT = "#0d1117", "#161b22", "#30363d", "#e6edf3", "#8b949e"
_CORE, _PLUGIN, _OUTSIDE = "#39c5cf", "#3fb950", "#d29922"


def packages() -> str:
    """Return the picture of the packages, layer by layer, with the plugins beside them."""
    left, width, row, top = 215, 600, 50, 20
    parts = []
    for number, (label, names) in enumerate(LAYERS):
        y = top + number * row
        parts.append(_text(20, y + 25, label, fill=_SOFT))
        room = (width - 10 * (len(names) - 1)) / len(names)
        for place, name in enumerate(names):
            x = left + place * (room + 10)
            parts.append(_box(x, y, room, row - 12, stroke=_CORE))
            inner = PARTS.get(name, ())
            text = f"{name}:  {'  '.join(inner)}" if inner else name
            parts.append(_text(x + room / 2, y + 24, text, anchor="middle"))
    bottom = top + len(LAYERS) * row
    x = left + width + 60
    y = top + (len(LAYERS) - 1 - len(PLUGINS) // 2 - 2) * row
    parts.append(_box(x, y - 40, 190, bottom - y + 28, stroke=_PLUGIN))
    parts += [_text(x + 16, y - 14 + number * 26, name) for number, name in enumerate(("plugins", *PLUGINS))]
    parts.append(_text(x + 16, bottom - 40, "import kit and api", fill=_SOFT))
    parts.append(_text(x + 16, bottom - 22, "and nothing else", fill=_SOFT))
    for number in (len(LAYERS) - 1, len(LAYERS) - 2):
        middle = top + number * row + 19
        parts.append(_arrow(x, middle, left + width + 6, middle))
    found = top + (len(LAYERS) - 3) * row + 19
    parts.append(_arrow(left + width, found, x - 6, found))
    parts.append(_text(left + width + 8, found - 8, "finds", fill=_SOFT))
    label = "The packages of the core in layers, and plugins beside them"
    return _svg(x + 210, bottom + 8, parts, label=label)


def step() -> str:
    """Return the picture of one step's way: phases of the core, plugins that take part, what is outside, events."""
    row, top = 50, 52
    columns = {"core": 20, "plugins": 430, "outside": 630, "trace": 770}
    parts = [_text(x, 28, name, fill=_SOFT) for name, x in columns.items()]
    for number, (phase, what, plugin, outside, events) in enumerate(PHASES):
        y = top + number * row
        middle = y + 19
        parts.append(_box(20, y, 360, row - 12, stroke=_CORE))
        parts.append(_text(34, y + 24, phase, weight="bold"))
        parts.append(_text(120, y + 24, what, fill=_SOFT))
        if number + 1 < len(PHASES):
            parts.append(_arrow(60, y + row - 12, 60, y + row - 2))
        if plugin:
            parts.append(_box(430, y, 160, row - 12, stroke=_PLUGIN))
            parts.append(_text(510, y + 24, plugin, anchor="middle"))
            parts.append(_arrow(380, middle, 424, middle))
        if outside:
            parts.append(_box(630, y, 100, row - 12, stroke=_OUTSIDE))
            parts.append(_text(680, y + 24, outside, anchor="middle"))
            parts.append(_arrow(590, middle, 624, middle))
        start = y + 24 - 9 * (len(events) - 1)
        for place, name in enumerate(events):
            fill = _SOFT if name.endswith("?") else _TEXT
            parts.append(_text(770, start + 18 * place, name.removesuffix("?"), fill=fill))
    # The step type reaches everything through the context it was given.
    attempt = next(n for n, phase in enumerate(PHASES) if phase[2] == "step type")
    y = top + attempt * row + row - 12
    parts.append(f'<path d="M450 {y} v6 H340 v4" {_STROKE}/>')
    return _svg(960, top + len(PHASES) * row + 8, parts, label="One step, phase by phase, with the events it writes")


_STROKE: Final = f'stroke="{_SOFT}" stroke-width="1.5" fill="none" marker-end="url(#tip)"'


def _svg(width: float, height: float, parts: list[str], *, label: str) -> str:
    tip = (
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="6" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        f'<path d="M0 0 L8 4 L0 8 z" fill="{_SOFT}"/></marker></defs>'
    )
    body = "\n".join(parts)
    font = 'font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, monospace" font-size="13"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}" role="img" aria-label="{escape(label)}">\n'
        "<!-- Written by docs/generate.py: change docs/generator/diagrams.py. -->\n"
        f'{tip}\n<rect width="100%" height="100%" rx="8" fill="{_BACKGROUND}"/>\n'
        f"<g {font}>\n{body}\n</g>\n</svg>\n"
    )


def _box(x: float, y: float, width: float, height: float, *, stroke: str) -> str:
    place = f'x="{x:.0f}" y="{y:.0f}" width="{width:.0f}" height="{height:.0f}"'
    return f'<rect {place} rx="6" fill="{_BOX}" stroke="{stroke}"/>'


def _text(x: float, y: float, text: str, *, fill: str = _TEXT, anchor: str = "start", weight: str = "normal") -> str:
    style = f'fill="{fill}" text-anchor="{anchor}" font-weight="{weight}"'
    return f'<text x="{x:.0f}" y="{y:.0f}" {style}>{escape(text)}</text>'


def _arrow(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<path d="M{x1:.0f} {y1:.0f} L{x2:.0f} {y2:.0f}" {_STROKE}/>'


__all__ = ["LAYERS", "PARTS", "PHASES", "packages", "step"]
