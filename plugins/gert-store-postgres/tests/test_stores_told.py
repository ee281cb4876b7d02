"""What runs owe people is kept and claimed in databases as it is in files: delivered once, by whichever process."""

from __future__ import annotations

import subprocess

import pytest
from gertproc import COMMAND, Gert

from gert_core.testing.receivers import Receiver

BOOK = """\
apiVersion: kernel/v0
meta: { name: disk-check }
steps:
  - { type: end, outcome: { category: escalated, code: disk_full } }
"""


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_a_database_keeps_what_became_of_notifications(request, tmp_path, kind):
    store = "sqlite:runs.db" if kind == "sqlite" else request.getfixturevalue("url")
    gert = Gert(tmp_path, GERT_STORE=store)
    gert.write(book=BOOK)
    (tmp_path / "gert-project.yaml").write_text("notify: [{on: escalated, webhook: env/HOOK}]\n")
    assert gert("exec", "book.yaml", HOOK="http://127.0.0.1:9/x").code == 0
    (one,) = gert("notify", "list", "--json").document["notifications"]
    assert (one["status"], one["attempts"], one["error"]) == ("failed", 3, "no connection")
    with Receiver() as receiver:
        environ = gert.environ | {"HOOK": receiver.url()}
        several = [
            subprocess.Popen(
                [*COMMAND, "notify", "flush", "--now"], cwd=tmp_path, env=environ, stderr=subprocess.DEVNULL
            )
            for _ in range(3)
        ]
        assert [process.wait(60) for process in several] == [0, 0, 0]
    assert [got.headers["gert-delivery"] for got in receiver.got] == [one["id"]]
    (told,) = gert("notify", "list", "--all", "--json").document["notifications"]
    assert (told["status"], told["attempts"]) == ("delivered", 4)
    assert not (tmp_path / "runs").exists()
