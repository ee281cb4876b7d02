"""The style of the page: colours for light and dark, and a layout that fits wide and narrow screens."""

from __future__ import annotations

from typing import Final

COLOURS: Final = {
    "resolved": ("#1a7f4b", "#3fb27a"),
    "no_action": ("#5b7fa6", "#8fb0d3"),
    "escalated": ("#d9730d", "#f0964a"),
    "needs_rca": ("#7d55c7", "#a98ae0"),
    "completed": ("#4c9a8a", "#6fbfae"),
    "failed": ("#c92a3a", "#f0616e"),
    "error": ("#8f1d2c", "#c95563"),
    "cancelled": ("#8a8f98", "#8a929e"),
    "interrupted": ("#6a5d4d", "#b39f86"),
    "approval_pending": ("#c9a100", "#e3c244"),
    "answer_pending": ("#a88400", "#c9a93a"),
    "blocked": ("#b36b8e", "#d591b2"),
    "queued": ("#9fb4c7", "#6f8598"),
    "running": ("#2f7fd1", "#63a6ea"),
    "other": ("#5f6672", "#a3abb8"),
}
"""By kind of end: the colour on a light and on a dark page."""

_LIGHT: Final = (
    "--page:#f5f6f8;--card:#fff;--text:#1c2026;--faint:#5c6470;--line:#dfe3e8;--grid:#e9ecf0;"
    "--track:#eceff3;--link:#1f5fb0;--bar:#5b7fa6;--wait:#c9a100;--bad:#c92a3a;"
)
_DARK: Final = (
    "--page:#14171c;--card:#1c2027;--text:#e7eaee;--faint:#a0a8b4;--line:#2e343d;--grid:#272d36;"
    "--track:#272d36;--link:#8ab8f5;--bar:#8fb0d3;--wait:#e3c244;--bad:#f0616e;"
)
_RULES: Final = """\
*{box-sizing:border-box}
html{-webkit-text-size-adjust:100%}
body{margin:0;background:var(--page);color:var(--text);font:15px/1.5 system-ui,-apple-system,sans-serif}
main{max-width:1040px;margin:0 auto;padding:28px 20px 48px}
h1{font-size:26px;line-height:1.2;margin:0 0 4px;letter-spacing:-.01em}
h2{font-size:19px;line-height:1.3;margin:0;overflow-wrap:anywhere}
h3{font-size:13px;font-weight:600;margin:28px 0 10px;color:var(--faint)}
p{margin:0}
a{color:var(--link);text-decoration:none}
a:hover{text-decoration:underline}
.about{color:var(--faint);overflow-wrap:anywhere}
section{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:22px 24px;margin-top:20px}
.head{display:flex;flex-wrap:wrap;gap:2px 14px;align-items:baseline;justify-content:space-between}
.tiles{display:grid;grid-template-columns:repeat(4,1fr);gap:14px 20px;margin:18px 0 4px}
.tiles dt{color:var(--faint);font-size:13px}
.tiles dd{margin:0;font-size:22px;line-height:1.3;font-weight:600;font-variant-numeric:tabular-nums}
.tiles small{font-size:13px;font-weight:400;color:var(--faint)}
svg{display:block;width:100%;overflow:visible}
td svg+svg{margin-top:3px}
.chart{display:flex;gap:8px}
.chart .axis{flex:none;width:auto}
svg text{font-size:11px;fill:var(--faint);font-family:inherit;font-variant-numeric:tabular-nums}
.grid{stroke:var(--grid)}
.track{fill:var(--track)}
.fill{fill:var(--bar)}
.wait{fill:var(--wait)}
.bad{fill:var(--bad)}
.key{display:inline-block;width:10px;height:10px;border-radius:2px;margin-right:8px;vertical-align:0}
.legend{margin-right:14px;white-space:nowrap;font-size:13px}
.legends{margin-top:14px}
.scroll{overflow-x:auto;margin-top:10px}
table{border-collapse:collapse;width:100%;font-size:14px}
th,td{text-align:left;padding:6px 14px 6px 0;border-bottom:1px solid var(--line);vertical-align:middle}
th{color:var(--faint);font-weight:500;font-size:13px;white-space:nowrap}
tr:last-child td{border-bottom:0}
td{overflow-wrap:anywhere}
.n{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums;overflow-wrap:normal}
th:last-child,td:last-child{padding-right:0}
.meter{width:34%;min-width:90px}
.name{min-width:110px}
summary{cursor:pointer;color:var(--link);font-size:14px;margin-top:10px}
.problems td:first-child{font-family:ui-monospace,SFMono-Regular,Menlo,monospace;font-size:13px}
.empty{padding:40px 24px;text-align:center;color:var(--faint)}
@media (max-width:560px){main{padding:20px 12px 36px}section{padding:18px 16px;border-radius:8px}.meter{min-width:60px}
.wide{display:none}.tiles{grid-template-columns:repeat(2,1fr)}.tiles dd{font-size:19px}}
@media print{body{background:#fff}section{break-inside:avoid;border-color:#ccc}}
"""


def style() -> str:
    """Return the style sheet."""
    light = "".join(f"--{kind}:{colours[0]};" for kind, colours in COLOURS.items())
    dark = "".join(f"--{kind}:{colours[1]};" for kind, colours in COLOURS.items())
    kinds = "".join(f".k-{kind}{{fill:var(--{kind});background:var(--{kind})}}\n" for kind in COLOURS)
    return (
        f":root{{color-scheme:light dark;{_LIGHT}{light}}}\n"
        f"@media screen and (prefers-color-scheme:dark){{:root{{{_DARK}{dark}}}}}\n{_RULES}{kinds}"
    )


def kind_class(kind: str) -> str:
    """Return the class of a kind of end; a kind that is not known gets the colour of others."""
    return f"k-{kind if kind in COLOURS else 'other'}"


__all__ = ["COLOURS", "kind_class", "style"]
