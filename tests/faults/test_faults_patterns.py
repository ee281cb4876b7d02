"""Patterns that stop other engines for hours: gert ends at once, and a signal always ends it.

The guarantee: whatever the pattern and the text, a search ends within about a second or with a sentence; no pattern
keeps gert from ending when it is told to.
"""

from __future__ import annotations

import signal
import time
from threading import Timer

import pytest
from shell import Shell, chain_is_whole

CATASTROPHIC = [
    (r"(a|a)*b", "a", 44),
    (r"(a|a)*b", "a", 1_000_000),
    (r"(a+)+$", "a", 1_000_000),
    (r"^((a*)*)*$", "a", 1_000_000),
    (r"(a|aa)+$", "a", 1_000_000),
    (r"([a-zA-Z]+)*@", "a", 1_000_000),
    (r"(.*)(.*)(.*)(.*)(.*)b", "a", 1_000_000),
    (r"(x+x+)+y", "x", 9_000_000),
    (r"(a?){500}a{500}b", "a", 1_000_000),
    ("|".join(f"(a{{{n}}}b)" for n in range(1, 90)), "a", 1_000_000),
]
"""Patterns, with the character and the length of a text that they are not found in (a ``!`` ends it)."""


@pytest.fixture
def shell(tmp_path) -> Shell:
    return Shell(tmp_path)


def quoted(pattern: str) -> str:
    return "'" + pattern.replace("'", "''") + "'"


def letters(shell: Shell, pattern: str, letter: str, count: int) -> None:
    """A tool that writes a text, and an output that the pattern takes from it."""
    shell.program("letters", f"head -c {count} /dev/zero | tr '\\0' {letter}; echo '!'\n")
    contract = "{ effects: [], reads: [x], outputs: { found: { type: string } } }"
    shell.tool(
        "letters", "[letters]", contract=contract, more=f"extract: {{ found: {{ pattern: {quoted(pattern)} }} }}"
    )


@pytest.mark.parametrize(("pattern", "letter", "count"), CATASTROPHIC, ids=lambda value: str(value)[:24])
def test_extracting_ends_at_once(shell, pattern, letter, count):
    letters(shell, pattern, letter, count)
    shell.book("- { id: take, type: tool, tool: letters }", tools="letters")
    began = time.monotonic()
    said = shell.json("exec", "book.yaml", code=1)
    assert time.monotonic() - began < 10
    assert (said["failure"]["step_key"], said["failure"]["kind"]) == ("take", "extract")
    assert "does not match" in said["failure"]["message"] or "too large for a text" in said["failure"]["message"]
    assert chain_is_whole(shell.trace())


def test_checks_conditions_and_expectations_end_at_once(shell):
    text = "a" * 200_000 + "!"
    checks = "\n".join(
        f"    - {{ type: not_matches, value: '{{{{ .text }}}}', pattern: {quoted(pattern)} }}"
        for pattern, letter, count in CATASTROPHIC
        if letter == "a" and count == 1_000_000 and "{" not in pattern
    )
    steps = f"""
- id: check
  type: assert
  when: '{{{{ not (matches `(a|a)*b` .text) }}}}'
  assert:
{checks}
"""
    shell.book(steps, meta="inputs: { text: { type: string } }")
    shell.write("scenarios/book/long/scenario.yaml", f"inputs: {{ text: {text} }}\n")
    shell.write(
        "scenarios/book/long/test.yaml", "expected_outcome: resolved\nexpected_outputs: { text: '/(a|a)*!$/' }\n"
    )
    shell.write("vars.yaml", f"text: {text}\n")
    for args in (["exec", "book.yaml", "--input", "vars.yaml"], ["test", "book.yaml"]):
        began = time.monotonic()
        shell.gert(*args)
        assert time.monotonic() - began < 10


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_ends_gert_between_and_inside_long_searches(shell, number, code):
    """Each search is as long as a search may be: a text on which RE2's automaton is of no use."""
    shell.program(
        "letters",
        """
        #!/usr/bin/env python3
        import random
        print("".join(random.Random(1).choices("ab", k=1_000_000)))
        """,
    )
    contract = "{ effects: [], reads: [x], outputs: { text: { type: string } } }"
    shell.tool("letters", "[letters]", contract=contract, more="extract: { text: { from: stdout } }")
    shell.book(
        """
        - { id: make, type: tool, tool: letters }
        - id: search
          type: assert
          for_each: { over: "{{ .all }}", as: n }
          assert:
            - { type: not_matches, value: "{{ .text }}", pattern: '[ab]*a[ab]{80}c{{ .n }}' }
        """,
        meta=f"constants: {{ all: {list(range(100))} }}",
        tools="letters",
    )
    running = shell.start("exec", "book.yaml")
    assert running.stderr is not None
    watch = Timer(30, running.kill)  # a search that never ends fails the test, and does not hold it up
    watch.start()
    while "search[1]" not in running.stderr.readline():
        assert running.poll() is None
    watch.cancel()
    time.sleep(0.3)
    began = time.monotonic()
    running.send_signal(number)
    out, err = running.communicate(timeout=30)
    assert time.monotonic() - began < 8
    assert running.returncode == code, out + err
    assert "Traceback" not in err
    assert shell.events()[-1]["data"]["status"] == "cancelled"
    assert chain_is_whole(shell.trace())
