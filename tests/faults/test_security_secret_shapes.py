"""Secrets of unusual shapes: numbers with signs and fractions, keys of objects, values that repeat themselves."""

from __future__ import annotations

import json
import time

import pytest
from gertproc import Gert

TOOL = """\
apiVersion: tool/v0
meta: {name: say, transport: stdio, binary: sh}
secrets: [{env: TOKEN, required: false}]
contract: {inputs: {script: {type: string}, arg: {type: string, default: ""}}, outputs: {v: {}}, effects: [host], writes: []}
actions:
  json: {argv: [sh, -c, "{{ .script }}", "{{ .arg }}"], extract: {v: {from: json, path: v}}}
  text: {argv: [sh, -c, "{{ .script }}", "{{ .arg }}"], extract: {v: {from: stdout}}}
"""
BOOK = """\
apiVersion: kernel/v0
meta:
  name: shapes
  inputs: {pw: {type: object, secret: true, required: false}}
tools: [say]
steps:
STEPS
  - {id: gate, type: tool, tool: say, action: text, inputs: {script: "test -e go"}}
  - {id: same, type: tool, tool: say, action: text, inputs: {script: 'printf "%s" "$0" > out', arg: "{{ toJson .first.v }}"}}
  - {type: end, outcome: {category: resolved, meta: {said: "{{ .first.v }}"}}}
"""


def made(place, first: str, **environ: str) -> Gert:
    gert = Gert(place, **environ)
    gert.write(tool_say=TOOL, book=BOOK.replace("STEPS", f"  - {{id: first, type: tool, tool: say, {first}}}"))
    return gert


def shown(gert: Gert, *given: str) -> str:
    """Run until the gate, then resume to the end; return all that was written or said."""
    said = gert("exec", "book.yaml", "-vv", *given)
    assert said.code == 1, said.all
    (gert.root / "go").touch()
    again = gert("resume", "--run", gert.run().name, "--retry-failed", *given)
    assert again.code == 0, again.all
    looked = [gert("runs", "show", gert.run().name), gert("runs", "show", gert.run().name, "--json")]
    files = [path.read_text(errors="replace") for path in gert.run().rglob("*") if path.is_file()]
    return "\n".join([*files, *(one.all for one in (said, again, *looked))]).replace(gert.run().name, "")


@pytest.mark.parametrize(
    ("secret", "spelled", "mask"),
    [
        ("-482913", "-482913", "int"),
        ("-482913", "-482913.0", "float"),
        ("4829.135", "4829.135", "float"),
        ("4829.135", "4829.1350", "float"),
        ("4829.135", "4.829135e3", "float"),
        ("4829.1350", "4829.135", "float"),
        ("4.829135E+3", "4829.135", "float"),
        ("-0.004829135", "-0.004829135", "float"),
        ("12345678901234567890", "1.2345678901234567e19", "float"),
    ],
)
def test_a_secret_with_a_sign_or_a_fraction_is_hidden_as_a_number_too(tmp_path, secret, spelled, mask):
    script = """printf '{"v": %s}' "$(cat spelled)\""""
    gert = made(tmp_path, f"action: json, inputs: {{script: {json.dumps(script)}}}", TOKEN=secret)
    (tmp_path / "spelled").write_text(spelled)
    seen = shown(gert)
    assert f"<REDACTED:TOKEN:{mask}>" in seen
    for text in (spelled, secret, "482913", "829135", "829.135", "4567890"):
        assert text not in seen
    assert json.loads((tmp_path / "out").read_text()) == json.loads(spelled)


@pytest.mark.parametrize(
    ("secret", "spelled", "mask"),
    [
        ("482913\n", "482913", "int"),
        (" 482913", "482913", "int"),
        ("\t4829.135 ", "4829.135", "float"),
        ("0482913", "482913", "int"),
        ("+482913", "482913", "int"),
        ("+0482913\n", "-482913", "minus:int"),
        ("482913.", "482913.0", "float"),
        ("0" * 396 + "482913", "482913", "int"),
        ("-" + "0" * 4000 + "482913", "-482913", "int"),
        ("482913." + "0" * 400, "482913.0", "float"),
    ],
)
def test_a_secret_that_only_reads_as_a_number_is_hidden_as_one_too(tmp_path, secret, spelled, mask):
    """With blanks, zeros or a plus, which whatever reads the number leaves out; given back as the number."""
    script = """printf '{"v": %s}' "$(cat spelled)\""""
    gert = made(tmp_path, f"action: json, inputs: {{script: {json.dumps(script)}}}", TOKEN=secret)
    (tmp_path / "spelled").write_text(spelled)
    seen = shown(gert)
    assert f"<REDACTED:TOKEN:{mask}>" in seen
    for text in ("482913", "829.135"):
        assert text not in seen
    assert json.loads((tmp_path / "out").read_text()) == json.loads(spelled)


def test_a_number_beside_a_secret_output_with_blanks_is_hidden(tmp_path):
    gert = made(tmp_path, """action: json, inputs: {script: 'cat made'}""")
    tool = TOOL.replace("v: {}", "v: {}, p: {secret: true, required: false}").replace(
        "path: v}}}", "path: v}, p: {from: json, path: p}}}", 1
    )
    gert.write(tool_say=tool)
    (tmp_path / "made").write_text('{"p": " 0482913\\n", "v": 482913}')
    gert("exec", "book.yaml", "-vv")
    looked = gert("runs", "show", gert.run().name, "--json")
    seen = looked.all + (gert.run() / "trace.jsonl").read_text()
    assert ":int>" in seen
    assert "482913" not in seen.replace(gert.run().name, "")


def test_a_secret_that_is_a_small_number_hides_no_other_number(tmp_path):
    gert = made(tmp_path, """action: json, inputs: {script: 'printf "{\\"v\\": 1}"'}""", TOKEN="1.000")
    shown(gert)
    assert "REDACTED:TOKEN" not in (gert.run() / "trace.jsonl").read_text()


KEYS = {
    "AKIAHUNTERKEY": "wJalrXUtn",
    "HUNT: <er> KEY": "zebra crossing",
    "id": "shortkey-value",
    "a.b": {"": "nested9"},
}


def test_the_keys_of_a_secret_object_are_hidden(tmp_path):
    """Whatever characters they have; a run that is resumed has all of them again."""
    gert = made(tmp_path, """action: json, inputs: {script: 'printf "{\\"v\\": %s}" "$0"', arg: "{{ toJson .pw }}"}""")
    seen = shown(gert, "--var", f"pw={json.dumps(KEYS)}")
    for text in ("HUNTER", "HUNT:", "KEY", "wJalr", "zebra", "shortkey-value", "nested9"):
        assert text not in seen, text
    assert json.loads((tmp_path / "out").read_text()) == KEYS


def test_keys_of_a_secret_object_that_are_words_of_gert_end_no_run(tmp_path):
    words = ("name", "path", "type", "kind", "value", "text", "status", "outputs", "inputs", "steps", "data", "message")
    gert = made(tmp_path, """action: json, inputs: {script: 'printf "{\\"v\\": %s}" "$0"', arg: "{{ toJson .pw }}"}""")
    given = {word: f"hidden-{number}" for number, word in enumerate(words)}
    assert "hidden-" not in shown(gert, "--var", f"pw={json.dumps(given)}")
    assert json.loads((tmp_path / "out").read_text()) == given
    assert gert("trace", "verify", "--run", gert.run().name).code == 0


@pytest.mark.parametrize("secret", ["aaaaaaaa", "abababa"])
@pytest.mark.parametrize("how", ["", "sleep 1.2; exit 3"])
def test_a_secret_that_repeats_itself_holds_nothing_up(tmp_path, secret, how):
    """A long output of nothing else, shown as it comes, kept in a file, and in the message of a failure."""
    script = f"yes {secret[:2] * 512} | tr -d '\\\\n' | head -c 1048576; {how}"
    gert = made(tmp_path, f'action: text, inputs: {{script: "{script}"}}', TOKEN=secret)
    began = time.monotonic()
    said = gert("exec", "book.yaml", "-v")
    taken = time.monotonic() - began
    assert said.code == 1
    kept = b"".join(path.read_bytes() for path in gert.run().rglob("*") if path.is_file())
    assert secret.encode() not in kept
    assert secret not in said.all
    assert b"<REDACTED:TOKEN" in kept
    assert taken < 20


ASKING = """\
apiVersion: kernel/v0
meta:
  name: asking
  inputs: {pw: {type: string, secret: true, required: true}}
steps:
  - id: ask
    type: manual
    instructions: "Look at {{ .pw }}"
    required_evidence:
      - {kind: choice, name: one, description: "which {{ .pw }}", options: ["yes", "{{ .pw }}", "not {{ .pw }}"]}
      - {kind: checklist, name: all, items: ["did {{ .pw }}"]}
      - {kind: text, name: why, description: "why {{ .pw }} ?"}
      - {kind: attachment, name: file, description: "{{ .pw }}"}
  - {type: end, outcome: {category: resolved}}
"""


@pytest.mark.parametrize(
    "secret", ["quartz\tsilver", "quartz\nsilver moon", "quartz\u200bsilver ü", "quartz\x1b[1msilver"]
)
@pytest.mark.parametrize("given", [(), ("--questions", "suspend"), ("--mode", "dry-run", "--keep")])
def test_a_secret_with_invisible_characters_is_in_no_question(tmp_path, secret, given):
    """Titles, options and items are shown on one line each; spelled out (``\\u0009``) a secret would not be found."""
    gert = Gert(tmp_path)
    gert.write(asking=ASKING)
    (tmp_path / "in.json").write_text(json.dumps({"pw": secret}))
    (tmp_path / "seen").write_text("")
    said = gert("exec", "asking.yaml", "--input", "in.json", *given, answers="x\n1\nall\nit is\nseen\n")
    kept = "".join(path.read_text(errors="replace") for path in gert.run().rglob("*") if path.is_file())
    shown = said.all + kept + gert("runs", "show", gert.run().name).all
    assert "REDACTED" in shown
    assert not [word for word in ("quartz", "silver", "moon") if word in shown], shown
    if not given:
        assert said.code == 0, said.all
    if "suspend" in given:  # the answers are still to the same questions
        answered = gert("answer", gert.run().name, "ask", "one=2", "all=all", "why=it is", "file=seen")
        assert answered.code == 0, answered.all
        done = gert("resume", gert.run().name, "--input", "in.json", "--json")
        assert (done.code, done.document["status"]) == (0, "completed"), done.all
        assert not [word for word in ("quartz", "silver", "moon") if word in done.all], done.all
