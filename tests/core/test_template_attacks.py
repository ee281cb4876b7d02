"""Hostile templates fail safely and fast, in both spellings."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from gert_core.template import MappingVariables, TemplateError, compile_value

BIG = "x" * (1024 * 1024)
DATA = {
    "text": "abc",
    "big": BIG,
    "n": 5,
    "items": [1, 2],
    "many": list(range(60_000)),
    "obj": {"a": 1},
    "commas": "," * 900_000,
    "newlines": "\n" * 900_000,
}
VARS = MappingVariables(DATA)

ATTACKS = [
    # attribute walks
    "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "{{ ''.__class__ }}",
    "{{ text.__class__ }}",
    "{{ .text.__class__ }}",
    "{{ obj.__class__.__init__.__globals__ }}",
    "{{ .obj.keys }}",
    "{{ obj['__class__'] }}",
    "{{ items.mro }}",
    "{{ self.__init__ }}",
    "{{ text | attr('__class__') }}",
    '{{ index .obj "__class__" }}',
    '{{ (fromJson "{}").__class__ }}',
    # calling data, globals, mutation
    "{{ text() }}",
    "{{ obj.items() }}",
    "{{ items.append(3) }}",
    "{{ items.clear() }}",
    "{{ obj.update({'a': 2}) }}",
    "{{ obj.pop('a') }}",
    "{{ range(10**9) }}",
    "{{ range 1000000000 }}",
    "{{ range(0, 2**70, 2**60) }}",
    "{{ range(10**4) | map('range') }}",
    "{{ many | sort }}",
    "{{ where .many `x` 1 }}",
    "{{ many | select('in', big) }}",
    "{{ range(40000) | select('in', big) | list }}",
    "{{ range(40000) | map('replace', '1', big) }}",
    "{{ range(40000) | map('center', 9000) }}",
    "{{ items | map('map', 'map', 'upper') }}",
    "{{ items | map(text) }}",
    "{{ items | select(text) }}",
    "{{ obj | items | map(attribute='__class__') }}",
    "{{ [obj] | selectattr('__class__') }}",
    "{{ [obj] | map(attribute='keys') }}",
    '{{ pluck .items "__class__" }}',
    '{{ where .items "real" 1 }}',
    "{{ lines .newlines }}",
    '{{ regexReplace "" "-" .big }}',
    '{{ regexReplace "x" .big "xx" }}',
    '{{ regexReplace "(x*)" "$0$0$1" .big }}',
    '{{ date .big 1 | date "%s" }}',
    '{{ date "%Y" 1e300 }}',
    "{{ lipsum(n=10**6) }}",
    "{{ dict(a=1) }}",
    "{{ cycler(1) }}",
    "{{ namespace(a=1) }}",
    "{{ joiner() }}",
    "{{ open('/etc/passwd') }}",
    "{{ items | map('upper') | list | call }}",
    # growth
    "{{ 'a' * 10**9 }}",
    "{{ 10**9 * 'a' }}",
    "{{ [1] * 10**9 }}",
    "{{ big * 2 }}",
    "{{ big + big }}",
    "{{ big ~ big }}",
    "{{ '%1000000000d' % 1 }}",
    "{{ '%s' % text }}",
    "{{ '{:1000000000}'.format(1) }}",
    "{{ 'x' | format(1) }}",
    "{{ 'x' | center(10**9) }}",
    "{{ 'x'.ljust(10**9) }}",
    "{{ 'x' | indent(10**9) }}",
    "{{ big | replace('x', 'xxxxxxxxxxxxxxxxxxxx') }}",
    '{{ .big | replace "x" .big }}',
    "{{ many | join(big) }}",
    "{{ .many | join .big }}",
    '{{ printf "%1000000000d" 1 }}',
    '{{ printf "%.1000000000f" 1.5 }}',
    '{{ printf "%s%s" .big .big }}',
    "{{ .big }}{{ .big }}",
    "{{ 10**10**10 }}{{ 9**99999 }}",
    "{{ 2**100000 }}",
    "{{ 1e308 * 10 }}",
    "{{ 1e999 }}",
    "{{ 9" + "9" * 5000 + " }}",
    "{{ [" + "big," * 1500 + "] | length }}",
    "{{ [" + "many," * 1500 + "] }}",
    "{{ [" + "big | upper," * 600 + "] }}",
    "{{ commas | split(',') }}",
    '{{ split "," .commas }}',
    "{{ many + many }}",
    "{{ many | sort }}",
    "{{ many | unique }}",
    # nesting
    "{{ " + "(" * 4000 + "n" + ")" * 4000 + " }}",
    "{{ " + "[" * 4000 + "]" * 4000 + " }}",
    "{{ " + "not " * 2000 + "n }}",
    "{{ " + "-" * 8000 + "n }}",
    "{{ " + "+".join(["n"] * 4000) + " }}",
    "{{ n" + " | abs" * 1000 + " }}",
    "{{ n" + ".a" * 4000 + " }}",
    "{{ n" + "[0]" * 2000 + " }}",
    "{{ " + "1 if " * 1000 + "n }}",
    "{{ " + "(1 < " * 49 + "n < 2" + ") < 2" * 48 + " }}",
    "{{ " + "(" * 4000 + ".n" + ")" * 4000 + " }}",
    "{{ .n" + " | not" * 1000 + " }}",
    "{{ " + "not (" * 1000 + ".n" + ")" * 1000 + " }}",
    # regular expressions
    '{{ .big | matches "(?=x)y" }}',
    '{{ .big | matches "x{100000}" }}',
    "{{ big | matches('([^y]?){500}y') }}",
    # statements, comments and sources
    "{% for x in items %}{% endfor %}",
    "{% set x = 1 %}",
    "{% include '/etc/passwd' %}",
    "{# {{ n }} #}",
    "{{ x = 1 }}",
    "{{ super() }}",
    "{{ loop.index }}",
    "{{ import os }}",
    "{{ __import__('os') }}",
    "{{ " + '"\\' * 4000 + " }}",
    "{{ " + "x" * 9000 + " }}",
    "{{" * 100_000,
]


@pytest.mark.parametrize("raw", ATTACKS, ids=lambda raw: raw[:48])
def test_attack(raw: str) -> None:
    began = time.process_time()
    with pytest.raises(TemplateError):
        compile_value(raw).render(VARS)
    assert time.process_time() - began < 2
    assert DATA["items"] == [1, 2]
    assert DATA["obj"] == {"a": 1}


LARGE = 10**400 + 7


@pytest.mark.parametrize(
    ("raw", "value"),
    [
        ("{{ int .large }}", LARGE),
        ("{{ large | int }}", LARGE),
        ('{{ printf "%d" .large }}', str(LARGE)),
        ('{{ printf "%x" .large }}', f"{LARGE:x}"),
    ],
)
def test_an_integer_that_is_no_float_is_still_an_integer(raw: str, value: object) -> None:
    assert compile_value(raw).render(MappingVariables({"large": LARGE})) == value


@pytest.mark.parametrize(
    "raw",
    [
        "{{ large | round }}",
        "{{ large | round(2) }}",
        "{{ large | float }}",
        "{{ float .large }}",
        '{{ printf "%f" .large }}',
        "{{ large / 2 }}",
        "{{ large * 0.5 }}",
        "{{ large ** 0.5 }}",
        "{{ [large, 0.5] | sum }}",
    ],
)
def test_arithmetic_that_cannot_be_done_is_an_error_of_the_template(raw: str) -> None:
    with pytest.raises(TemplateError):
        compile_value(raw).render(MappingVariables({"large": LARGE}))


@pytest.mark.parametrize("error", [OverflowError("too large"), ZeroDivisionError("by zero"), FloatingPointError()])
def test_whatever_arithmetic_raises_is_an_error_of_the_template(error: Exception) -> None:
    class Broken(MappingVariables):
        def resolve(self, *_: object) -> object:
            raise error

    with pytest.raises(TemplateError, match="the arithmetic failed"):
        compile_value("{{ .large | not }}").render(Broken({"large": 1}))


def test_nothing_is_evaluated_while_compiling() -> None:
    """Jinja2's own compiler folds constant expressions and runs filters while it does."""
    began = time.process_time()
    for raw in (
        "{{ 'a' * 10**9 }}",
        "{{ 1 / 0 }}",
        "{{ 'x' | int }}",
        "{{ 'x' | center(10**9) }}",
        "{{ 9**9999 }}",
        '{{ int "x" }}',
        '{{ matches "(" "x" }}',
    ):
        assert not compile_value(raw).static
    assert time.process_time() - began < 1


def test_memory_stays_small() -> None:
    code = (
        "import resource\n"
        "from gert_core.template import *\n"
        "big = 'x' * 1048576; data = MappingVariables({'big': big, 'many': list(range(50000))})\n"
        "for raw in ['{{ [' + 'big|upper,' * 700 + '] }}', '{{ \"a\" * 10**9 }}', '{{ big | replace(\"x\", big) }}',\n"
        "            '{{ printf \"%s' + '%s' * 150 + '\"' + ' (upper .big)' * 150 + ' }}',\n"
        "            '{{ [' + 'many,' * 1500 + '] }}', '{{ big ~ (big|upper) ~ (big|lower) }}']:\n"
        "    try:\n"
        "        compile_value(raw).render(data)\n"
        "    except TemplateError:\n"
        "        continue\n"
        "    raise SystemExit(raw[:60])\n"
        "import re; from pathlib import Path; status = Path('/proc/self/status')\n"
        # VmHWM is this program's own; ru_maxrss begins with what the test process had when it forked.
        "own = status.exists() and re.search(r'VmHWM:\\s+(\\d+)', status.read_text())\n"
        "print(own[1] if own else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 400 * 1024


def test_a_result_of_exactly_the_limit_is_allowed() -> None:
    assert len(compile_value("{{ .big }}").render(VARS)) == 1024 * 1024
    with pytest.raises(TemplateError, match="1 MiB"):
        compile_value("{{ .big }}").render(MappingVariables({"big": BIG + "x"}))
    with pytest.raises(TemplateError, match="1 MiB"):
        compile_value("{{ .big }}.").render(VARS)
