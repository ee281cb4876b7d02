"""One name in two spellings that Unicode takes for the same is one person, not two."""

from __future__ import annotations

import sys
from unicodedata import normalize

import pytest
from gertproc import Gert
from people import BOOK, TOOL

from gert_core.governance.people import comparable_id

RULE = "governance: {rules: [{effects: [danger], action: require-approval, min_approvers: 2, exclude_actor: false}]}"
FORMS = ("NFC", "NFD", "NFKC", "NFKD")
DOTLESS = "a\u0131x"
"""A letter of its own, whose capital is that of another one."""


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("\u0390x", "\u03aa\u0301x"),
        ("\u03b0x", "\u03ab\u0301x"),
        ("\u01f0x", "J\u030cx"),
        ("stra\u00dfe", "STRASSE"),
        ("\u0149x", "\u02bcNx"),
    ],
)
def test_two_spellings_of_a_name_do_not_approve_as_two_people(tmp_path, one, other):
    gert = Gert(tmp_path)
    gert.write(tool_act=TOOL, book=BOOK.replace("name: people", f"name: people, {RULE}"))
    said = gert("exec", "book.yaml", "--approval", "inbox", "--as", "olga", "--json")
    ticket = said.document["pending"][0]["ticket_id"]
    assert gert("approve", ticket, "--as", one).code in (0, 2)
    gert("approve", ticket, "--as", other)
    assert gert("resume", "latest", "--json").document["status"] == "approval_pending"
    assert not (tmp_path / "acted").exists()
    assert gert("approve", ticket, "--as", "ann").code == 0
    assert gert("resume", "latest", "--json").document["status"] == "completed"


def test_every_character_is_the_same_in_every_form_of_it():
    differing = []
    for number in range(sys.maxunicode + 1):
        text = f"a{chr(number)}x"
        known = comparable_id(text)
        spellings = {known, text.casefold(), text.lower(), *(normalize(form, text) for form in FORMS)}
        if text != DOTLESS:
            spellings.add(text.upper())
        if any(comparable_id(spelling) != known for spelling in spellings):
            differing.append(hex(number))
    assert differing == []
