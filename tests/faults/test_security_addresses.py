"""Passwords in addresses of stores and servers, however they are written, are neither shown nor left unmasked."""

from __future__ import annotations

import pytest
from gertproc import Gert

from gert_core.kit.store_urls import has_password, passwords_of, without_password

SECRET = "hunter2-Zebra"
HOST = "127.0.0.1:1"


@pytest.mark.parametrize(
    ("address", "shown", "passwords"),
    [
        (f"postgres://u:{SECRET}@h/db?application_name=a@b", "postgres://u@h/db?application_name=a@b", (SECRET,)),
        (f"postgres://u:x@{SECRET}@h/db", "postgres://u@h/db", (f"x@{SECRET}",)),
        (f"postgres://u:x/{SECRET}@h/db", "postgres://u@h/db", (f"x/{SECRET}",)),
        (f"postgres://u:{SECRET}@h,i/db", "postgres://u@h,i/db", (SECRET,)),
        (f"postgres://u@h/db?%70assword={SECRET}", "postgres://u@h/db?%70assword=***", (SECRET,)),
        (f"postgres://u@h/db?a=1&sslPassword={SECRET}#x", "postgres://u@h/db?a=1&sslPassword=***#x", (SECRET,)),
        (f"acme://h?client_secret={SECRET}&api_key={SECRET}", "acme://h?client_secret=***&api_key=***", (SECRET,) * 2),
        (f"postgres://u@h/db?password={SECRET}%2F", "postgres://u@h/db?password=***", (f"{SECRET}/",)),
        ("postgres://u@h:5432/db?sslmode=require", "postgres://u@h:5432/db?sslmode=require", ()),
        (f"postgres://h/db?options=-c%20x.password%3D{SECRET}%20-ca%3Db", "postgres://h/db?options=***", (SECRET,)),
        ("postgres://h/db?options=-csearch_path%3Dx", "postgres://h/db?options=-csearch_path%3Dx", ()),
        ("sqlite:runs.db", "sqlite:runs.db", ()),
    ],
)
def test_every_spelling_of_a_password_in_an_address_is_found(address, shown, passwords):
    assert (without_password(address), passwords_of(address)) == (shown, passwords)
    assert has_password(address) == bool(passwords)


@pytest.mark.parametrize("command", ["runs list", "doctor", "resume", "exec", "approve", "runs", "store copy x y"])
def test_an_address_among_the_words_of_a_command_shows_no_password(tmp_path, command):
    said = Gert(tmp_path)(*command.split(), f"postgres://u:{SECRET}@{HOST}/db")
    assert (said.code, SECRET in said.all, "u:***@" in said.err) == (2, False, True), said.all


def test_an_input_without_its_flag_is_not_shown(tmp_path):
    said = Gert(tmp_path)("exec", "book.yaml", f"token={SECRET}")
    assert (said.code, SECRET in said.all, "token=..." in said.err) == (2, False, True), said.all


@pytest.mark.parametrize(
    "address",
    [
        f"postgres://u@{HOST}/db?%70assword={SECRET}",
        f"postgres:host=127.0.0.1 port=1 password={SECRET}",
        f"postgres:u:{SECRET}@{HOST}/db",
        f"postgres://u:{SECRET}",
        f"postgres://u@{HOST}/db?oauth_client_secret={SECRET}",
    ],
)
def test_no_message_about_an_address_shows_its_password(tmp_path, address):
    gert = Gert(tmp_path)
    for said in (gert("runs", "list", "--store", address), gert("doctor", GERT_STORE=address)):
        assert (said.code in (1, 2), SECRET in said.all) == (True, False), said.all


@pytest.mark.parametrize(
    "where", ["https://gert:hunter2-pw@example.net/mcp", "https://example.net/mcp?access_token=hunter2-pw"]
)
def test_a_password_in_the_address_of_a_server_is_refused_and_not_shown(tmp_path, where):
    gert = Gert(tmp_path)
    gert.write(
        tool_remote=f"apiVersion: tool/v0\nmeta: {{name: remote, transport: mcp, connect: '{where}'}}\nactions: {{run: {{}}}}\n",
        book="apiVersion: kernel/v0\nmeta: {name: book}\ntools: [remote]\nsteps:\n  - {id: ask, type: tool, tool: remote}\n"
        "  - {type: end, outcome: {category: resolved, code: asked}}\n",
    )
    for command in (("validate", "tools/remote.tool.yaml"), ("validate", "book.yaml", "--json"), ("exec", "book.yaml")):
        said = gert(*command)
        assert said.code == 1, said.all
        assert "connect-credentials" in said.all
        assert "hunter2-pw" not in said.all, said.all
    assert gert.runs() == []
