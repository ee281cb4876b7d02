"""Variables as layers against a model that simply copies everything: forks, loops, exports and scopes."""

from __future__ import annotations

import copy
import os
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from gert_core.engine.state import Layer
from gert_core.template import UndefinedVariable

EXAMPLES = settings(
    max_examples=10_000 if os.environ.get("GERT_FUZZ") else 100,
    derandomize=not os.environ.get("GERT_FUZZ"),
    deadline=None,
    database=None,
)
PROMOTED, EXPORTED = ("p", "q"), ("x", "y")
SCOPES = (("a",), ("a", "b"), ("c", "d"))


class Copies:
    """SPEC §4 with copies: a fork or an item begins with all there is and gives back what it changed."""

    def __init__(self, parent: Copies | None = None, *, stays: bool = True) -> None:
        self.parent = parent
        self.stays = stays
        self.names: dict[str, Any] = dict(parent.names) if parent else {}
        self.scopes: dict[str, Any] = copy.deepcopy(parent.scopes) if parent else {}
        self.changed: dict[str, str] = {}
        self.written: list[tuple[tuple[str, ...], dict[str, Any]]] = []

    def promote(self, name: str, value: Any) -> None:
        self.names[name] = value
        self.changed[name] = "promoted"

    def export(self, name: str, value: Any) -> None:
        self.names[name] = value
        if self.stays:
            self.changed[name] = "exported"
        elif self.parent is not None:
            self.parent.export(name, value)

    def scope(self, path: tuple[str, ...], values: dict[str, Any]) -> None:
        node = self.scopes
        for part in path:
            node = node.setdefault(part, {})
        node.update(values)
        if self.stays:
            self.written.append((path, values))
        elif self.parent is not None:
            self.parent.scope(path, values)

    def absorb(self, child: Copies, *, only_exports: bool) -> None:
        for name, how in child.changed.items():
            if how == "exported":
                self.export(name, child.names[name])
            elif not only_exports:
                self.promote(name, child.names[name])
        for path, values in child.written:
            self.scope(path, values)


writes = st.one_of(
    st.tuples(st.just("promote"), st.sampled_from(PROMOTED)),
    st.tuples(st.just("export"), st.sampled_from(EXPORTED)),
    st.tuples(st.just("shadow"), st.sampled_from(EXPORTED)),
    st.tuples(st.just("scope"), st.sampled_from(SCOPES), st.sampled_from(("v", "w"))),
)


def nest(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.tuples(
        st.sampled_from(["fork", "each", "repeat"]), st.lists(st.lists(inner, max_size=3), min_size=1, max_size=3)
    )


programs = st.lists(st.recursive(writes, nest, max_leaves=12), max_size=6)


class Walk:
    """Does the same to a layer and to its model, and compares all that can be seen after every move."""

    def __init__(self) -> None:
        self.count = 0

    def run(self, program: list[Any], layer: Layer, model: Copies) -> None:
        for word, *facts in program:
            self.count += 1
            if word == "promote":
                layer.promote("s", {facts[0]: self.count})
                model.promote(facts[0], self.count)
            elif word == "shadow":  # in an iteration a plain output may have the name of something exported
                if not layer.stays:
                    layer.promote("s", {facts[0]: self.count})
                    model.promote(facts[0], self.count)
            elif word == "export":
                layer.export("s", facts[0], self.count)
                model.export(facts[0], self.count)
            elif word == "scope":
                layer.write_scope(facts[0], {facts[1]: self.count})
                model.scope(facts[0], {facts[1]: self.count})
            else:
                getattr(self, word)(facts[0], layer, model)
            compare(layer, model)

    def fork(self, blocks: list[list[Any]], layer: Layer, model: Copies, *, only_exports: bool = False) -> None:
        """All branches see what was there before; what they made is merged in declaration order."""
        pairs = [(Layer(layer), Copies(model)) for _ in blocks]
        for block, (inner, its_model) in zip(blocks, pairs, strict=True):
            self.run(block, inner, its_model)
        for inner, its_model in pairs:
            layer.absorb(inner, only_exports=only_exports)
            model.absorb(its_model, only_exports=only_exports)

    def each(self, blocks: list[list[Any]], layer: Layer, model: Copies) -> None:
        """Items keep to themselves what they did not export."""
        self.fork(blocks, layer, model, only_exports=True)

    def repeat(self, blocks: list[list[Any]], layer: Layer, model: Copies) -> None:
        """An iteration is thrown away, but its exports and scopes reach the next ones and what follows."""
        for block in blocks:
            self.run(block, Layer(layer, stays=False), Copies(model, stays=False))


def compare(layer: Layer, model: Copies) -> None:
    for name in (*PROMOTED, *EXPORTED):
        assert seen(layer, (name,)) == model.names.get(name), name
    for path in SCOPES:
        node: Any = model.scopes
        for part in path:
            node = node.get(part, {})
        assert (seen(layer, ("scope", *path)) or {}) == node, path


def seen(layer: Layer, path: tuple[str, ...]) -> Any:
    try:
        return layer.resolve(path)
    except UndefinedVariable:
        return None


@EXAMPLES
@given(program=programs)
@example(program=[("repeat", [[("shadow", "x"), ("export", "x")]])])
@example(program=[("repeat", [[("fork", [[("export", "x")], [("export", "x")]])], [("promote", "p")]])])
@example(program=[("each", [[("repeat", [[("scope", ("a", "b"), "v"), ("export", "y")]])]]), ("promote", "p")])
def test_layers_are_what_copies_would_be(program):
    """Guarantee: sharing layers instead of copying them is never visible, in any nesting of forks and loops."""
    Walk().run(program, Layer(), Copies())
