"""The Jinja form: the same data, the same rules, another spelling."""

from __future__ import annotations

import pytest

from gert_core.template import MappingVariables, TemplateError, UndefinedVariable, compile_value

VARS = MappingVariables(
    {
        "hostname": "srv1",
        "status_code": 200,
        "text_code": "200",
        "retries": 2,
        "nodes": ["b", "a", "b"],
        "people": [{"name": "ann", "age": 3}, {"name": "bob", "age": 2}],
        "config": {"port": 80, "x-y": 1},
        "nothing": None,
        "flag": "false",
        "items": [3, 1, 2],
        "scope": {"round": {"0": {"x": 1}}},
    }
)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("{{ hostname }}", "srv1"),
        ("{{ status_code == 200 and retries < 3 }}", True),
        ("{{ text_code == 200 }}", True),
        ("{{ nodes | length }}", 3),
        ("on {{ hostname }}: {{ nodes }}", 'on srv1: ["b","a","b"]'),
        ("{{ config.port }}", 80),
        ("{{ config['x-y'] }}", 1),
        ("{{ nodes[0] }}{{ nodes[-1] }}", "bb"),
        ("{{ nodes[retries] }}", "b"),
        ("{{ people[0]['name'] }}", "ann"),
        ("{{ scope['round/0'].x }}", 1),
        ("{{ nodes[0:2] }}", ["b", "a"]),
        ("{{ hostname[:3] }}", "srv"),
        ("{{ status_code + 1 }}", 201),
        ("{{ (status_code - 1) * 2 // 3 % 7 }}", 6),
        ("{{ 7 / 2 }}", 3.5),
        ("{{ 2 ** 10 }}", 1024),
        ("{{ -retries }}", -2),
        ("{{ 'a' * 3 }}", "aaa"),
        ("{{ 'a' + 'b' }}", "ab"),
        ("{{ nodes + ['c'] }}", ["b", "a", "b", "c"]),
        ("{{ hostname ~ '-' ~ retries }}", "srv1-2"),
        ("{{ 'rv' in hostname }}", True),
        ("{{ 'z' not in nodes }}", True),
        ("{{ 1 < retries <= 2 }}", True),
        ("{{ not flag }}", True),
        ("{{ 'up' if status_code == 200 else 'down' }}", "up"),
        ("{{ [1, 'a', none, true] }}", [1, "a", None, True]),
        ("{{ {'a': {'b': retries}} }}", {"a": {"b": 2}}),
        ("{{ nothing is none }}", True),
        ("{{ missing is defined }}", False),
        ("{{ hostname is defined }}", True),
        ("{{ missing is not defined }}", True),
        ("{{ hostname is string }}", True),
        ("{{ retries is number }}", True),
        ("{{ true is number }}", False),
        ("{{ retries is even }}", True),
        ("{{ retries is eq 2 }}", True),
        ("{{ missing | default('d') }}", "d"),
        ("{{ nothing | default('d') }}", "d"),
        ("{{ '' | default('d') }}", ""),
        ("{{ '' | default('d', true) }}", "d"),
        ("{{ '' | default('d', boolean=true) }}", "d"),
        ("{{ missing.deep.er | default(hostname) }}", "srv1"),
        ("{{ hostname | upper | replace('SRV', 'web') }}", "web1"),
        ("{{ nodes | join(',') }}", "b,a,b"),
        ("{{ people | map(attribute='name') | join('+') }}", "ann+bob"),
        ("{{ people | sort(attribute='age') | map(attribute='name') | list }}", ["bob", "ann"]),
        ("{{ items | sort }}", [1, 2, 3]),
        ("{{ items | sort(reverse=true) | first }}", 3),
        ("{{ items | sum }}", 6),
        ("{{ items | max }}{{ items | min }}", "31"),
        ("{{ nodes | unique }}", ["b", "a"]),
        ("{{ nodes | last }}", "b"),
        ("{{ [] | first | default('x') }}", "x"),
        ("{{ 'x' | int(7) }}", 7),
        ("{{ '5' | int + 1 }}", 6),
        ("{{ 3.14159 | round(2) }}", 3.14),
        ("{{ (-3) | abs }}", 3),
        ("{{ config | tojson }}", '{"port":80,"x-y":1}'),
        ("{{ 'ab cd' | title }}", "Ab Cd"),
        ("{{ 'a\nb' | indent(2) }}", "a\n  b"),
        ("{{ 'a' | center(3) }}", " a "),
        ("{{ 'abcdef' | truncate(5) }}", "ab..."),
        ("{{ hostname | matches('^srv') }}", True),
        ("{{ len(nodes) }}", 3),
        ("{{ 'a,b' | split(',') }}", ["a", "b"]),
        ("{{ ' a ' | trim | string }}", "a"),
        (r"{{ hostname | matches('^srv\\d$') }}", True),
        (r"{{ 'it\'s' ~ '\x41\n' }}", "it'sA\n"),
    ],
)
def test_render(raw: str, expected: object) -> None:
    found = compile_value(raw).render(VARS)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("raw", "says", "hint"),
    [
        ("{{ hostname | uper }}", "no filter `uper`", "`upper`"),
        ("{{ hostname is strin }}", "no test `strin`", "`string`"),
        ("{{ hostname.upper() }}", "cannot be called", "| upper"),
        ("{{ dict(3) }}", "`dict` cannot be called", None),
        ("{{ hostname foo }}", "invalid expression", None),
        ("{{ hostname | replace('a') }}", "needs 2 arguments", None),
        ("{{ hostname | upper(1) }}", "up to 0 arguments", None),
        ("{{ hostname | join(x=1) }}", "no argument `x`", None),
        ("{{ hostname | join(*nodes) }}", "not allowed", None),
        ("{{ a = 1 }}", "invalid expression", None),
        (r"{{ hostname | matches('\d+') }}", r"`\d` is not a valid escape sequence", "double"),
        (r"{{ hostname == '\ud800' }}", "surrogate", None),
        ("{{ loop(x=1) }}", "cannot be called", None),
        ("{{ retries == 1 }} {% set x = 1 %}", "statements", None),
    ],
)
def test_refused_when_compiled(raw: str, says: str, hint: str | None) -> None:
    with pytest.raises(TemplateError) as raised:
        compile_value(raw)
    assert says in raised.value.message
    assert hint is None or hint in raised.value.hint


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        ("{{ hostname + 1 }}", "needs numbers, not a string"),
        ("{{ 1 / 0 }}", "failed"),
        ("{{ nodes * 2 }}", "needs numbers, not a list"),
        ("{{ -true }}", "needs numbers, not a boolean"),
        ("{{ true + 1 }}", "not a boolean"),
        ("{{ 'x' | int }}", "needs a number"),
        ("{{ nodes['x':] }}", "must be integers"),
        ("{{ {nodes: 1} }}", "a key must be"),
        ("{{ [nodes, 1] | sort }}", "cannot be ordered"),
    ],
)
def test_refused_when_rendered(raw: str, says: str) -> None:
    with pytest.raises(TemplateError) as raised:
        compile_value(raw).render(VARS)
    assert says in raised.value.message


def test_undefined_names_the_nearest() -> None:
    with pytest.raises(UndefinedVariable, match=r"`\.hostnam` is not defined; did you mean `\.hostname`\?"):
        compile_value("{{ hostnam == 'x' }}").render(VARS)
