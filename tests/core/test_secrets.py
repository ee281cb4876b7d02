"""Secrets: every form of a value is masked, masks cannot be forged, and everything comes back."""

from __future__ import annotations

import json
import shlex
import time
from base64 import b64encode, urlsafe_b64encode
from html import escape
from types import SimpleNamespace
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gert_core.api.errors import InputError, RunError
from gert_core.kit.excerpts import hiding, shorten
from gert_core.secrets import Masker, Secrets, child_environ, collect

VALUE = 's3cr3t/"väl ue"+%!'
PEM = "-----BEGIN KEY-----\nMIIBVgIBADANBgkqhkiG9w0BAQEF\nshort\n-----END KEY-----\n"


def there_and_back(masker: Masker, text: str) -> str:
    masked = masker.mask_text(text)
    assert masker.unmask(str(masked)) == text
    return masked


@pytest.mark.parametrize(
    ("text", "mask"),
    [
        (VALUE, "<REDACTED:PW>"),
        (json.dumps(VALUE)[1:-1], "<REDACTED:PW:json>"),
        (json.dumps(VALUE, ensure_ascii=False)[1:-1], "<REDACTED:PW:json-utf8>"),
        (quote(VALUE, safe=""), "<REDACTED:PW:url>"),
        (quote(VALUE), "<REDACTED:PW:url-path>"),
        (quote_plus(VALUE), "<REDACTED:PW:url-plus>"),
        (quote(VALUE, safe="").lower(), "<REDACTED:PW:url-lower>"),
        (b64encode(VALUE.encode()).decode(), "<REDACTED:PW:b64>"),
        (b64encode(VALUE.encode()).decode().rstrip("="), "<REDACTED:PW:b64-raw>"),
        (json.dumps(json.dumps(VALUE))[3:-3], "<REDACTED:PW:json-twice>"),
        (json.dumps(json.dumps(VALUE, ensure_ascii=False), ensure_ascii=False)[3:-3], "<REDACTED:PW:json-utf8-twice>"),
        (escape(VALUE), "<REDACTED:PW:html>"),
        (VALUE.encode().hex(), "<REDACTED:PW:hex>"),
        (VALUE.encode().hex().upper(), "<REDACTED:PW:hex-upper>"),
        ("".join(f"%{byte:02X}" for byte in VALUE.encode()), "<REDACTED:PW:url-all>"),
        ("".join(f"%{byte:02x}" for byte in VALUE.encode()), "<REDACTED:PW:url-all-lower>"),
    ],
)
def test_forms(text, mask) -> None:
    assert there_and_back(Masker({"PW": VALUE}), f"a {text} b {text}") == f"a {mask} b {mask}"


@pytest.mark.parametrize(
    "value", ["it's-o'clock", "back\\slash and 'quote'", "no\u00a0break 'x' space", "both \" and '", "$HOME `x`"]
)
def test_what_shells_and_python_quote(value) -> None:
    masker = Masker({"PW": value})
    quoted = (
        shlex.quote(value),
        shlex.join(["tool", value]),
        repr(value),
        repr([value]),
        ascii(value),
        repr(value.encode()),
    )
    for text in quoted:
        masked = there_and_back(masker, f"run {text} now")
        assert masked.count("<REDACTED:PW") == 1, text
        assert len(masked) < len(f"run {text} now") + len("<REDACTED:PW:repr-bytes>"), text
        assert not [word for word in value.split("'") if len(word) > 3 and word in masked], text


def test_urlsafe_base64() -> None:
    value = "??>>??>>~~"
    assert "-" in urlsafe_b64encode(value.encode()).decode() or "_" in urlsafe_b64encode(value.encode()).decode()
    masker = Masker({"PW": value})
    assert there_and_back(masker, urlsafe_b64encode(value.encode()).decode()) == "<REDACTED:PW:b64url>"


@pytest.mark.parametrize("before", ["", "u", "us", "user:", "user12:"])
@pytest.mark.parametrize("after", ["", "x", "xy", "\n"])
def test_base64_of_longer_data(before, after) -> None:
    secret = "Tr0ub4dor&3-correct"
    text = b64encode(f"{before}{secret}{after}".encode()).decode()
    masked = there_and_back(Masker({"PW": secret}), text)
    rest = masked.replace("=", "").split("<REDACTED:PW")
    assert len(rest) == 2
    assert len(rest[0]) <= len(before) * 8 // 6 + 1
    assert len(rest[1].partition(">")[2]) <= len(after) * 8 // 6 + 2


def test_lines_of_multi_line_values() -> None:
    masker = Masker({"KEY": PEM})
    assert there_and_back(masker, PEM) == "<REDACTED:KEY>"
    assert there_and_back(masker, PEM.strip()) == "<REDACTED:KEY:strip>"
    assert there_and_back(masker, json.dumps({"k": PEM})) == '{"k": "<REDACTED:KEY:json>"}'
    assert there_and_back(masker, "got MIIBVgIBADANBgkqhkiG9w0BAQEF!") == "got <REDACTED:KEY:line2>!"
    assert there_and_back(masker, "  -----END KEY-----") == "  <REDACTED:KEY:line4>"
    assert there_and_back(masker, "short") == "short"


def test_literal_masks_are_escaped_and_cannot_be_forged() -> None:
    masker = Masker({"PW": "hunter22"})
    forged = "x <REDACTED:PW> y <REDACTED::PW> <REDACTED:"
    assert there_and_back(masker, forged) == "x <REDACTED::PW> y <REDACTED:::PW> <REDACTED::"
    for empty in (Masker({}), Masker({"PW": None})):
        assert there_and_back(empty, forged) == "x <REDACTED::PW> y <REDACTED:::PW> <REDACTED::"


def test_masking_twice_masks_once() -> None:
    masker = Masker({"PW": "hunter22"})
    once = masker.mask({"a": "hunter22 <REDACTED:PW>"})
    assert masker.mask(once) == once == {"a": "<REDACTED:PW> <REDACTED::PW>"}
    assert masker.hits(once) == 0


def test_the_longest_match_wins() -> None:
    masker = Masker({"A": "hunter22", "B": "hunter22-prod", "C": "my-hunter22"})
    assert there_and_back(masker, "hunter22-prod") == "<REDACTED:B>"
    assert there_and_back(masker, "my-hunter22") == "<REDACTED:C>"
    assert there_and_back(masker, "hunter22") == "<REDACTED:A>"
    assert there_and_back(masker, "my-hunter22-prod") == "<REDACTED:C><REDACTED:B:from8>"


def test_overlapping_secrets_leave_nothing() -> None:
    masker = Masker({"A": "abcdefgh", "B": "fghijklm", "M": "<REDAC"})
    assert there_and_back(masker, "--abcdefghijklm--") == "--<REDACTED:A><REDACTED:B:from3>--"
    assert there_and_back(masker, "abcdefghabcdefgh") == "<REDACTED:A><REDACTED:A>"
    assert there_and_back(Masker({"A": "aaaa"}), "aaaaaa") == "<REDACTED:A><REDACTED:A:from2>"
    there_and_back(masker, "x<REDACTED:A>")
    there_and_back(Masker({"E": "ED:abc"}), "<REDACTED:abc")


def test_structures_keys_and_what_is_no_text() -> None:
    masker = Masker({"PW": "12345"})
    value = {"12345": ["a12345", {"n": 12345, "b": True, "x": None, "f": 1.2345}], "t": ("12345",)}
    masked = masker.mask(value)
    assert masked == {
        "<REDACTED:PW>": ["a<REDACTED:PW>", {"n": "<REDACTED:PW:int>", "b": True, "x": None, "f": 1.2345}],
        "t": ["<REDACTED:PW>"],
    }
    assert masker.unmask(masked) == {**value, "t": ["12345"]}
    assert masker.hits(value) == 3
    assert (masker.count, Masker({}).count, Masker({"A": "", "B": None}).count) == (1, 0, 0)


def test_split_over_streams_each_part_is_judged_alone() -> None:
    masker = Masker({"PW": "hunter22"})
    assert masker.mask({"stdout": "hunt", "stderr": "er22"}) == {"stdout": "hunt", "stderr": "er22"}
    assert masker.mask_text("hunt" + "er22") == "<REDACTED:PW>"


@pytest.mark.parametrize("value", ["a", "abc"])
def test_short_values_are_refused_without_showing_them(value) -> None:
    with pytest.raises(InputError, match="secret PW is shorter than 4 characters") as caught:
        Masker({"PW": value})
    assert caught.value.hint
    assert f" {value} " not in caught.value.message


def test_names_that_would_break_the_mask_are_refused() -> None:
    for name in ("", "a:b", "a>b", "a b"):
        with pytest.raises(InputError, match="is not a valid name"):
            Masker({name: "longenough"})


def test_a_secret_that_is_gone_is_named_on_resume() -> None:
    masked = Masker({"PW": "hunter22"}).mask({"a": "hunter22"})
    for now in (Masker({}), Masker({"PW": None})):
        with pytest.raises(RunError, match="secret PW is needed") as caught:
            now.unmask(masked)
        assert caught.value.kind == "secret_missing"


@given(
    st.dictionaries(
        st.sampled_from(["A", "B", "C"]),
        st.text('ab/+\n "ä<RED', min_size=4, max_size=12).filter(str.strip),
        max_size=3,
    ),
    st.lists(st.sampled_from(["<REDACTED:", ":", "A>", "x", "ab", "\n", '"', "<REDACTED:A>"]), max_size=12),
    st.data(),
)
def test_every_text_comes_back_and_no_value_stays(values, parts, data) -> None:
    masker = Masker(values)
    pieces = [*parts, *values.values()]
    text = "".join(data.draw(st.permutations(pieces)))
    masked = masker.mask_text(text)
    assert masker.unmask(str(masked)) == text
    encoded = json.dumps({"k": text}, ensure_ascii=False, separators=(",", ":"))
    assert masker.suspicious(encoded) == (masked != text)
    plain = [value for value in values.values() if not set(value) & set("<RED")]
    assert not any(value in masked for value in plain)


def secret(env: str, *, required: bool = True) -> SimpleNamespace:
    return SimpleNamespace(env=env, required=required)


def runbook() -> SimpleNamespace:
    tools = {
        "az": SimpleNamespace(tool=SimpleNamespace(all_secrets=(secret("AZ"), secret("OPT", required=False)))),
        "kubectl": SimpleNamespace(tool=SimpleNamespace(all_secrets=(secret("KUBE"),))),
    }
    meta = SimpleNamespace(secrets=[secret("TOKEN")], inputs={}, on_outcome={})
    return SimpleNamespace(model=SimpleNamespace(meta=meta), tools=tools)


def test_collect_and_who_sees_what() -> None:
    environ = {"TOKEN": "tok-value", "AZ": "az-value", "KUBE": "", "HOME": "/h", "GERT_TRACE_SIGNING_KEY": "x"}
    secrets = collect(runbook(), environ)
    assert secrets.names == ("TOKEN", "AZ", "OPT", "KUBE")
    assert dict(secrets.values) == {"TOKEN": "tok-value", "AZ": "az-value", "OPT": None, "KUBE": None}
    assert secrets.allowed("az") == {"TOKEN", "AZ", "OPT"}
    assert secrets.missing("az") == ()
    assert secrets.missing("kubectl") == ("KUBE",)
    assert secrets.missing() == ()
    assert secrets.child_environ(environ, "kubectl") == {"TOKEN": "tok-value", "KUBE": "", "HOME": "/h"}
    assert secrets.child_environ(environ, "az") == {"TOKEN": "tok-value", "AZ": "az-value", "HOME": "/h"}
    assert secrets.masker().count == 2


@pytest.mark.parametrize(
    "name",
    ["GERT_TRACE_SIGNING_KEY", "GERT_TRACE_SIGNING_KEY_ID", "GERT_APPROVAL_VERIFY_KEY_BOB", "GERT_X_KEYRING"],
)
def test_no_child_sees_a_key_of_gert(name) -> None:
    assert child_environ({name: "v", "GERT_DEBUG": "1", "MY_KEY": "m"}, [name]) == {"GERT_DEBUG": "1", "MY_KEY": "m"}


def test_secret_inputs_are_masked_by_their_names() -> None:
    secrets = Secrets(values={"TOKEN": "tok-value"})
    masker = secrets.masker(
        {"pin": 12345, "pw": "hunter22", "TOKEN": "other-value", "creds": {"user": "alice", "n": [None, True]}}
    )
    text = "12345 hunter22 tok-value other-value alice user"
    assert there_and_back(masker, text) == (
        "<REDACTED:pin> <REDACTED:pw> <REDACTED:TOKEN> <REDACTED:input.TOKEN> <REDACTED:creds.user> user"
    )
    with pytest.raises(InputError, match="pin"):
        secrets.masker({"pin": 12})


def test_parts_of_a_secret_object_are_found_by_the_names_that_they_had() -> None:
    masker = Secrets().masker({"pw": {"a": {"b": "first-value"}, "a.b": "other-value", "KEY9": ["third-value", 86753]}})
    masked = masker.mask("first-value other-value third-value")
    assert masked == "<REDACTED:pw.a.b> <REDACTED:pw.#1> <REDACTED:pw.#2.0>"
    assert masker.unmask(str(masked)) == "first-value other-value third-value"
    assert (
        masker.unmask("<REDACTED:pw.KEY9.0:hex> <REDACTED::pw.KEY9.0>")
        == f"{b'third-value'.hex()} <REDACTED:pw.KEY9.0>"
    )
    assert masker.unmask("<REDACTED:pw.KEY9.1:int>") == 86753


@pytest.mark.parametrize("value", ["aaaaaaaa", "abababa", "0000"])
def test_a_value_that_repeats_itself_is_masked_in_linear_time(value) -> None:
    masker = Masker({"PW": value})
    text = (value[:2] * (1 << 19))[: 1 << 20]
    began = time.process_time()
    masked = there_and_back(masker, text)
    assert value not in masker.mask_text(masker.mask_fragments(text))
    assert time.process_time() - began < 10
    assert value not in masked
    assert masked.count("<REDACTED:PW") <= 2 * len(text) // len(value)


@pytest.mark.parametrize("order", ["utf-16-le", "utf-16-be"])
def test_utf_16_is_masked(order) -> None:
    masker = Masker({"PW": "hunter2-and-more"})
    shown = "x" + "hunter2-and-more".encode(order).decode() + "x"
    masked = masker.mask_text(shown)
    assert "h\0u" not in masked
    assert "r\0e" not in masked
    assert masker.unmask(masked) == shown
    for before in range(3):
        text = b64encode(bytes(before) + "hunter2-and-more".encode(order) + b"zz").decode()
        assert text[8:-8] not in masker.mask_text(text)


def test_lines_in_json_are_put_together() -> None:
    """What decides quickly that an event has no secret sees through wrapped lines, and escapes that look like ends."""
    masker = Masker({"PW": "hunter2-and-more"})
    text = b64encode(b"hunter2-and-more").decode()
    assert masker.suspicious(json.dumps({"out": "\n".join(text)}))
    assert masker.suspicious(json.dumps({"out": "\\" + "\r\n".join(text)}))
    assert not masker.suspicious(json.dumps({"out": "\n".join(text[1:])}))


def test_no_text_is_cut_inside_a_value_that_overlaps_itself() -> None:
    with hiding(Masker({"PW": "abababa"}).places):
        assert shorten("xx " + "ab" * 40, 20) == "xx <REDACTED>…"


@pytest.mark.parametrize("secret", [123456, "123456", -123456, "-123456", 4829.135, "-4829.135", "-1.5e+30"])
def test_a_secret_number_with_the_other_sign_is_hidden_and_restored(secret):
    masker = Masker({"pin": secret})
    other = -(float(secret) if "." in str(secret) else int(secret))
    for value in (other, [other], {"a": f"it is {other}!"}, f"{abs(other)} {-abs(other)}"):
        shown = masker.mask(value)
        assert str(abs(other)) not in json.dumps(shown)
        assert masker.unmask(shown) == value
    assert masker.suspicious(json.dumps({"v": other}))


def test_a_secret_number_that_is_short_without_its_sign_hides_no_other_number():
    masker = Masker({"pin": "-123"})
    assert masker.mask([123, -123]) == [123, "<REDACTED:pin:int>"]


@pytest.mark.parametrize("around", ["{}\n", " {}", "\t{} \r\n"])
@pytest.mark.parametrize(
    "shown",
    [
        lambda text: b64encode(text.encode()).decode(),
        lambda text: text.encode().hex(),
        lambda text: quote(text, safe=""),
        lambda text: json.dumps(text)[1:-1],
        lambda text: text.replace("'", "'\"'\"'"),
        lambda text: b64encode(f"user:{text}".encode()).decode(),
        lambda text: b64encode(text.encode()).decode()[:20] + "\n" + b64encode(text.encode()).decode()[20:],
    ],
    ids=["base64", "hex", "url", "json", "shell", "inside of base64", "wrapped"],
)
def test_encodings_of_a_value_without_the_blanks_around_it_are_masked(around, shown):
    """As `"$(echo "$TOKEN")"` of a shell gives it."""
    bare = "p@ss \"w0rd' quartz/Lamp"
    masked = there_and_back(Masker({"KEY": around.format(bare)}), f"<{shown(bare)}>")
    assert "REDACTED:KEY:" in masked, masked
    assert shown(bare) not in masked
