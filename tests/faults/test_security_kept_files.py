"""Files that a step keeps in its run: their names tell no secret, and files of the system are not kept."""

from __future__ import annotations

import base64
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from gertproc import Gert

if TYPE_CHECKING:
    from pathlib import Path

SECRET = "hunter2-and-more"
TOOL = """\
apiVersion: tool/v0
meta: { name: sh, transport: stdio }
contract: { effects: [filesystem], idempotent: true, inputs: { do: {} } }
actions: { do: { argv: ["sh", "-c", "{{ .do }}"] } }
"""
HEAD = """\
apiVersion: kernel/v0
meta: { name: keeping, inputs: { token: { from: env/TOKEN, secret: true } } }
tools: [sh]
steps:
"""
TAIL = "  - { type: end, outcome: { category: resolved, code: kept } }\n"
ARTIFACT = "  - { id: a, type: tool, tool: sh, inputs: { do: 'mkdir -p x; printf 1 > \"f-{{ .token }}.txt\"' }, artifacts: %s }\n"
ATTACHMENT = (
    "  - { id: look, type: manual, instructions: Look, required_evidence: [{ kind: attachment, name: shot }] }\n"
)


@pytest.fixture
def gert(tmp_path):
    made = Gert(tmp_path)
    made.write(tool_sh=TOOL)
    made.environ["TOKEN"] = SECRET
    return made


def everything(root: Path) -> bytes:
    """Names and contents of everything below a run directory."""
    return b"\n".join(
        bytes(path) + (b" " + path.read_bytes() if path.is_file() else b"") for path in sorted(root.rglob("*"))
    )


@pytest.mark.parametrize("artifacts", ["['f-{{ .token }}.txt']", "{ k: { path: 'f-{{ .token }}.txt' } }", None])
def test_no_name_of_a_kept_file_tells_a_secret(gert, artifacts):
    gert.write(book=HEAD + (ATTACHMENT if artifacts is None else ARTIFACT % artifacts) + TAIL)
    (gert.root / f"f-{SECRET}.txt").write_text("1")
    said = gert("exec", "book.yaml", answers=f"f-{SECRET}-absent\nf-{SECRET}.txt\n" if artifacts is None else "")
    assert said.code == 0, said.all
    assert [file.name for file in (gert.run() / "attachments").iterdir()] == ["f-REDACTED.txt"]
    shown = gert("runs", "show", gert.run().name).all + gert("runs", "artifacts", gert.run().name, "--json").all
    told = said.all + shown + everything(gert.run()).decode()
    assert SECRET not in told
    assert "f-REDACTED.txt" in shown + (gert.run() / "trace.jsonl").read_text()


def test_a_secret_with_a_slash_is_hidden_too(gert):
    gert.environ["TOKEN"] = "hunter/and-more"
    (gert.root / "hunter").mkdir()
    (gert.root / "hunter" / "and-more.txt").write_text("1")
    step = "  - { id: a, type: tool, tool: sh, inputs: { do: 'true' }, artifacts: ['{{ .token }}.txt'] }\n"
    gert.write(book=HEAD + step + TAIL)
    said = gert("exec", "book.yaml")
    assert said.code == 0, said.all
    assert [file.name for file in (gert.run() / "attachments").iterdir()] == ["REDACTED.txt"]
    assert b"and-more" not in everything(gert.run())


@pytest.mark.parametrize("path", ["/proc/self/environ", "/sys/kernel/uevent_seqnum", "/dev/null", "x/self/environ"])
@pytest.mark.parametrize("kind", ["artifact", "attachment"])
def test_files_of_the_system_are_not_kept(gert, kind, path):
    gert.cold = True  # its environment in /proc is its own
    (gert.root / "x").symlink_to("/proc")
    step = f"  - {{ id: a, type: tool, tool: sh, inputs: {{ do: 'true' }}, artifacts: {{ k: {{ path: {path} }} }} }}\n"
    gert.write(book=HEAD + (step if kind == "artifact" else ATTACHMENT) + TAIL)
    said = gert("exec", "book.yaml", answers=f"{path}\n" * 200)
    assert said.code == (0 if kind == "artifact" else 1), said.all
    assert "files of the system and of gert itself are not read" in (gert.run() / "trace.jsonl").read_text()
    assert list((gert.run() / "attachments").glob("*")) == []


@pytest.mark.parametrize("mount", ["mount --bind /proc here", "mount -t proc proc here"])
def test_a_file_system_of_the_kernel_elsewhere_is_known(gert, mount):
    """Needs the right to mount."""
    step = "  - { id: a, type: tool, tool: sh, inputs: { do: 'true' }, artifacts: [here/version] }\n"
    gert.write(book=HEAD + step + TAIL)
    script = f"mkdir here && {mount} && {sys.executable} -m gert_core exec book.yaml"
    try:
        done = subprocess.run(
            ["unshare", "-m", "sh", "-c", script],
            cwd=gert.root,
            env=gert.environ,
            capture_output=True,
            text=True,
            check=False,
        )
    except FileNotFoundError:
        pytest.skip("there is no unshare")
    if "mount:" in done.stderr or "unshare:" in done.stderr:
        pytest.skip("this process may not mount")
    assert done.returncode == 0, done.stderr
    assert "files of the system and of gert itself are not read" in (gert.run() / "trace.jsonl").read_text()
    assert list((gert.run() / "attachments").glob("*")) == []


@pytest.mark.parametrize("word", [SECRET, f"={SECRET}"])
def test_a_var_without_a_name_is_not_shown(gert, word):
    gert.write(book=HEAD + TAIL)
    del gert.environ["TOKEN"]
    said = gert("exec", "book.yaml", "--var", word)
    assert (said.code, "--var takes NAME=VALUE" in said.err) == (2, True), said.all
    assert SECRET not in said.all


@pytest.mark.parametrize("plant", ["mkfifo", "ln -s /tmp", "touch"])
def test_something_planted_in_place_of_their_directory_ends_no_run(gert, plant):
    """The tool has acted by then: its step is recorded, with a warning about what could not be kept."""
    book = (
        ARTIFACT.replace("mkdir -p x;", f"for run in runs/2*; do {plant} $run/attachments; done;")
        % "['f-{{ .token }}.txt']"
    )
    gert.write(book=HEAD + book + TAIL)
    said = gert("exec", "book.yaml", "--json")
    assert (said.code, said.document["status"]) == (0, "completed"), said.all
    (lost,) = [event for event in gert.events() if event["type"] == "contract_violation"]
    assert lost["data"]["kind"] == "missing_artifact"


@pytest.mark.parametrize(
    "content",
    [
        b"user: me\ntoken: %s\n",
        b"\x89PNG\r\n\x1a\n\xff\xfe\xc3%s\x00\xff",
        b"#" * (1024 * 1024 - 7) + b"%s" + b"#" * 100,
    ],
    ids=["text", "binary", "over the end of a block"],
)
@pytest.mark.parametrize(
    "spelled", [str.encode, lambda s: base64.b64encode(s.encode()), lambda s: s.encode().hex().encode()]
)
def test_an_attachment_with_a_secret_is_not_kept(gert, content, spelled):
    """Evidence is not altered, so it is refused; another file can be given instead."""
    gert.write(book=HEAD + ATTACHMENT + TAIL)
    (gert.root / "log.txt").write_bytes(content.replace(b"%s", spelled(SECRET)))
    (gert.root / "other.txt").write_text(SECRET[:-1])
    said = gert("exec", "book.yaml", answers="log.txt\nother.txt\n")
    assert said.code == 0, said.all
    assert "log.txt has the value of secret token in it and is not kept; remove it from the file" in said.all
    assert [(file.name, file.read_text()) for file in (gert.run() / "attachments").iterdir()] == [
        ("other.txt", SECRET[:-1])
    ]
    assert spelled(SECRET) not in everything(gert.run())


def test_an_attachment_with_a_secret_is_not_kept_while_the_run_waits(gert):
    """Who answers need not know the run's secrets: such a file is removed when the run looks at it."""
    gert.write(book=HEAD.replace("meta: {", "meta: { secrets: [{ env: OTHER }],") + ATTACHMENT + TAIL)
    gert.environ["OTHER"] = "another-secret"
    (gert.root / "a.txt").write_text("xanother-secretx")
    (gert.root / "b.txt").write_text(f"x{SECRET}x")
    assert gert("exec", "book.yaml", "--questions", "suspend").code == 0
    run = gert.run().name
    said = gert("answer", run, "look", "shot=a.txt")
    assert (said.code, "a.txt has the value of secret OTHER in it and is not kept" in said.err) == (2, True), said.all
    assert b"another-secret" not in everything(gert.run())
    said = gert("answer", run, "look", "shot=b.txt", TOKEN="")
    assert said.code == 0, said.all
    said = gert("resume", run, "--questions", "suspend")
    assert "b.txt has the value of secret token in it and is not kept" in said.all
    assert SECRET.encode() not in everything(gert.run())
    (gert.root / "b.txt").write_text("x")
    assert gert("answer", run, "look", "shot=b.txt").code == 0
    said = gert("resume", run)
    assert said.code == 0, said.all
    assert [file.read_text() for file in (gert.run() / "attachments").iterdir()] == ["x"]


@pytest.mark.parametrize("linked", ["the file", "the directory", "a second name"])
def test_an_upload_behind_a_link_is_not_kept(gert, linked, tmp_path_factory):
    gert.write(book=HEAD + ATTACHMENT + TAIL)
    (gert.root / "shot.txt").write_text("a picture")
    assert gert("exec", "book.yaml", "--questions", "suspend").code == 0
    assert gert("answer", gert.run().name, "look", "shot=shot.txt").code == 0
    other = tmp_path_factory.mktemp("other")
    (other / "shot.txt").write_text(f"not of the run: {SECRET}")
    uploads = gert.run() / "uploads"
    (uploads / "shot.txt").unlink()
    if linked == "the file":
        (uploads / "shot.txt").symlink_to(other / "shot.txt")
    elif linked == "a second name":
        (uploads / "shot.txt").hardlink_to(other / "shot.txt")
    else:
        uploads.rmdir()
        uploads.symlink_to(other)
    said = gert("resume", "--run", gert.run().name)
    assert said.code == 1
    assert ("has 2 names" if linked == "a second name" else "is a symbolic link") in said.all
    assert "a plugin failed" not in said.all
    assert (other / "shot.txt").exists()
    assert not list((gert.run() / "attachments").glob("*"))


def test_a_planted_answer_does_not_bring_a_key_of_gert_out(gert):
    ask = "  - { id: look, type: manual, instructions: Look, required_evidence: [{ kind: text, name: note }] }\n"
    use = "  - { id: use, type: tool, tool: sh, inputs: { do: 'printf %s \"{{ .look.note }}\" > got' } }\n"
    gert.write(book=HEAD + ask + use + TAIL)
    key = "ed25519:" + base64.b64encode(bytes(range(32))).decode()
    keys = {"GERT_TRACE_SIGNING_KEY": key, "GERT_TRACE_SIGNING_KEY_ID": "k1"}
    assert gert("exec", "book.yaml", "--questions", "suspend", **keys).code == 0
    assert gert("answer", gert.run().name, "look", "note=hello", **keys).code == 0
    (answer,) = (gert.run() / "answers").iterdir()
    answer.write_text(answer.read_text().replace("hello", "<REDACTED:GERT_TRACE_SIGNING_KEY>"))
    said = gert("resume", "--run", gert.run().name, **keys)
    assert said.code == 0, said.all
    assert (gert.root / "got").read_text() == "<REDACTED:GERT_TRACE_SIGNING_KEY>"
    assert key[8:] not in said.all + everything(gert.run()).decode()
