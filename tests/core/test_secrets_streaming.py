"""Output that is masked in parts: however it is cut, it comes out as the whole text would, and no part too early."""

from __future__ import annotations

import base64
import random
import re
import textwrap
import time
from itertools import pairwise

import pytest

from gert_core.secrets import Masker
from gert_core.secrets.streaming import MaskedStream

VALUES = {
    "TOKEN": "h5Kq-Zw82-Lr01",
    "PART": "h5Kq-Zw82",
    "URL": "https://user:p%20w/d@example.com/?a=b&c='d\"e",
    "KEY": "-----BEGIN KEY-----\nMIIBVgIBADANBgkqhkiG9w0BAQEF\nAASCAUAwggE8AgEAAkEAq7BFUpkG\n-----END KEY-----\n",
    "WORD": "grüße-ähnlich",
}
LONG = "".join(chr(33 + (i * 7) % 90) for i in range(300))


def masked(masker: Masker, data: bytes, cuts: list[int]) -> str:
    stream = MaskedStream(masker)
    edges = [0, *sorted(cuts), len(data)]
    parts = [stream.feed(data[a:b]) for a, b in pairwise(edges)]
    return "".join((*parts, stream.feed(b"", final=True)))


def text_of(rng: random.Random, values: dict[str, str]) -> str:
    """Text with secrets in many forms, whole and broken off, beside masks and line ends of both kinds."""
    newline = rng.choice(["\n", "\r\n"])
    parts = []
    for _ in range(rng.randint(1, 12)):
        value = rng.choice([*values.values(), "<REDACTED:TOKEN>", "<REDACTED:", "plain words", "ä"])
        form = rng.randrange(6)
        if form == 1:
            value = base64.b64encode(value.encode()).decode()
        elif form == 2:
            value = newline.join(textwrap.wrap(base64.b64encode(value.encode()).decode(), rng.choice([64, 76])))
        elif form == 3:
            value = value.encode().hex()
        elif form == 4:
            value = value[: rng.randint(0, len(value))].replace("\n", newline) + " "
        else:
            value = value.replace("\n", newline)  # of mixed ends of lines less is found
        parts.append(value + rng.choice(["", " ", newline, newline]))
    return "".join(parts) + newline + "###"


@pytest.mark.parametrize("seed", range(150))
def test_however_it_is_cut_it_comes_out_as_the_whole_text(seed):
    rng = random.Random(seed)
    values = {**VALUES, "LONG": LONG}
    masker = Masker(values)
    text = text_of(rng, values)
    data = text.encode()
    whole = masker.mask_text(text)
    assert masked(masker, data, []) == whole
    for _ in range(5):
        cuts = [rng.randint(0, len(data)) for _ in range(rng.randint(1, 10))]
        assert masked(masker, data, cuts) == whole, cuts
    assert masked(masker, data, list(range(1, len(data)))) == whole, "byte by byte"


def test_what_cannot_be_a_secret_is_not_held_back():
    stream = MaskedStream(Masker(VALUES))
    assert stream.feed(b"one line\n") == "one line\n"
    assert stream.feed(b"the token is h5Kq") == "the token is "
    assert stream.feed(b" not.") == "h5Kq not."


def test_the_beginning_of_a_secret_at_the_end_is_hidden():
    stream = MaskedStream(Masker(VALUES))
    assert stream.feed(b"the token is h5Kq-Zw82-Lr") == "the token is "
    assert "h5Kq" not in stream.feed(b"", final=True)


def test_bytes_that_are_not_utf8_are_replaced_once():
    stream = MaskedStream(Masker(VALUES))
    assert stream.feed(b"a\xc3") + stream.feed(b"\xa4b\xff") + stream.feed(b"", final=True) == "aäb\ufffd"


@pytest.mark.parametrize("value", ["hunter2-hunter2", "abcabcabc", "x9-secret-x9-secret-x9"])
@pytest.mark.parametrize("text", ["{}\n", "{}", "a {}\n", "{} b", "{}{}", "{} {}"])
def test_a_secret_that_begins_as_it_ends_leaves_nothing_behind(value, text):
    masker = Masker({"TOKEN": value})
    data = text.replace("{}", value).encode()
    for cuts in ([], [2], [len(value)], list(range(1, len(data)))):
        shown = masked(masker, data, cuts)
        assert not any(value[at : at + 4] in shown for at in range(len(value) - 3)), (cuts, shown)


@pytest.mark.parametrize("seed", range(60))
def test_values_that_overlap_each_other_and_themselves_leave_nothing_behind(seed):
    rng = random.Random(seed)
    letters = rng.choice(["a", "ab", "abc", "ab\n"])
    unit = "".join(rng.choice(letters) for _ in range(rng.randint(1, 4)))
    values = {"A": "x" + (unit * 12)[: rng.randint(4, 14)], "B": (unit * 12)[: rng.randint(4, 14)].strip() + "aaaa"}
    masker = Masker(values)
    text = "".join(rng.choice([*values.values(), *letters, "<REDACTED:"]) for _ in range(40)) + "###"
    whole = masker.mask_text(text)
    cuts = [rng.randint(0, len(text)) for _ in range(20)]
    shown = masked(masker, text.encode(), cuts)
    assert masker.unmask(shown) == text
    assert plain(shown) == plain(whole)


def plain(text: str) -> str:
    """What is not masked of a text."""
    return re.sub(r"<REDACTED:(?::|[^>]*>)", "", text)


@pytest.mark.parametrize("value", ["aaaaaaaa", "abababa"])
def test_a_value_that_repeats_itself_is_not_held_back(value):
    stream = MaskedStream(Masker({"TOKEN": value}))
    began = time.process_time()
    shown = [stream.feed((value[:2] * 2048).encode()) for _ in range(256)]
    assert all(shown)
    assert not plain("".join(shown))
    assert time.process_time() - began < 10
