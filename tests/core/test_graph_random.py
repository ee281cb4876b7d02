"""Any runbook has a graph in every format: each step is in it once, and the same runbook gives the same bytes."""

from __future__ import annotations

import json
import re
from collections import Counter
from xml.etree import ElementTree as ET

from hypothesis import HealthCheck, given, settings
from random_books import TOOL, runbooks

from gert_core.documents.load import load_runbook
from gert_core.graph.build import build_graph
from gert_core.graph.edges import START, edges
from gert_core.graph.formats import FORMATS, render
from gert_core.plugin.registry import Registry

REGISTRY = Registry.build()


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(document=runbooks())
def test_every_step_is_in_the_graph_once(document, tmp_path):
    (tmp_path / "tools").mkdir(exist_ok=True)
    (tmp_path / "tools" / "mirror.tool.yaml").write_text(TOOL)
    (tmp_path / "book.yaml").write_text(json.dumps(document))
    book = load_runbook(tmp_path / "book.yaml", registry=REGISTRY).runbook
    if book is None:
        return
    graph = build_graph(book)
    keys = Counter(step.key for step in graph.walk())
    assert [step.step_id for step in graph.walk()] == [step.id for step in book.walk()]
    assert max(keys.values()) == 1
    assert {edge.end for edge in edges(graph)} <= keys.keys()
    assert {edge.start for edge in edges(graph)} <= {START, *keys}
    made = {name: render(graph, name) for name in FORMATS}
    assert made == {name: render(build_graph(book), name) for name in FORMATS}
    classes = [group.get("class") or "" for group in ET.fromstring(made["svg"]).iter()]
    assert sum("step" in one.split() for one in classes) == len(keys)
    assert len(re.findall(r"^ +s\d+[\[({]", made["mermaid"], re.MULTILINE)) == len(keys) + 1
    assert max(map(len, made["text"].splitlines())) <= 100
