"""Secrets that used to get through: in errors, commands, wrapped output, statuses, files and environments."""

from __future__ import annotations

import base64
import json
import os
import re
import textwrap
from itertools import cycle, product
from urllib.parse import quote_plus

import pytest
from gertproc import Gert

from gert_core.secrets import Masker

QUOTED = 'it\'s a \\ "p4ss"\u00a0word'
LONG = "correct horse battery staple " * 5
TOOL = """\
apiVersion: tool/v0
meta: {name: spy, transport: stdio, binary: sh}
contract: {inputs: {script: {type: string}, more: {type: string, required: false, default: ""}}, outputs: {all: {}}, effects: [host], writes: []}
actions: {run: {argv: [sh, -c, "{{ .script }}", "{{ .more }}"], extract: {all: {from: stdout}}}}
"""
BOOK = """\
apiVersion: kernel/v0
meta:
  name: keys
  inputs: {script: {type: string, default: "true"}, pw: {type: TYPE, secret: true, required: false}}
  constants: CONSTANTS
  secrets: [SECRETS]
tools: [spy]
steps:
  - {id: spy, type: tool, tool: spy, inputs: {script: "{{ .script }}"}}
STEPS
  - {type: end, outcome: {category: resolved, code: done}}
"""


def book(*, constants: str = "{}", secrets: str = "", steps: str = "", type: str = "string") -> str:  # noqa: A002
    text = BOOK.replace("CONSTANTS", constants).replace("SECRETS", secrets).replace("TYPE", type)
    return text.replace("STEPS\n", textwrap.indent(textwrap.dedent(steps), "  "))


def written(gert: Gert, *said) -> str:
    files = [path.read_text(errors="replace") for path in gert.root.rglob("runs/**/*") if path.is_file()]
    return "\n".join([*files, *(one.all for one in said)])


def output_of(gert: Gert, step: str) -> str:
    (done,) = [e for e in gert.events() if e["type"] == "step_complete" and e["data"]["step_id"] == step]
    return done["data"]["outputs"]["all"]


def fragments(value: str, size: int = 8) -> list[str]:
    return [value[start : start + size] for start in range(len(value) - size + 1)]


@pytest.mark.parametrize("value", ["hunter2hunter2hunter2", QUOTED, LONG])
@pytest.mark.parametrize(
    "template", ["{{ int .pw }}", "{{ fromJson .pw }}", "{{ printf `%d` .pw }}", "{{ float (printf `some %s` .pw) }}"]
)
def test_no_constant_tells_a_secret_in_its_error(tmp_path, value, template):
    gert = Gert(tmp_path)
    gert.write(tool_spy=TOOL, book=book(constants=f'{{bad: "{template}"}}'))
    said = gert("exec", "book.yaml", "--var", f"pw={value}")
    assert said.code == 1, said.all
    assert "constant bad:" in said.err
    seen = written(gert, said)
    assert not [part for part in fragments(value) if part in seen], seen


PLACES = {
    "command": 'type: tool, tool: spy, inputs: {script: "exit 3", more: "{{ .pw }}"}',
    "template": 'type: tool, tool: spy, inputs: {script: "{{ int .pw }}"}',
    "map in a command": 'type: tool, tool: spy, inputs: {script: "exit 3", more: "x {{ .deep }}"}',
    "map in a template": 'type: tool, tool: spy, inputs: {script: "{{ int (printf `%s` .deep) }}"}',
    "map in a date": 'type: tool, tool: spy, inputs: {script: "{{ date `%Y` (toJson .deep) }}"}',
    "map in a number": 'type: tool, tool: spy, inputs: {script: "true", number: "x {{ .deep }}"}',
    "map in a check": 'type: assert, assert: [{type: equals, value: "x {{ .deep }}", expected: x}]',
    "map": 'type: assert, assert: [{type: equals, value: "{{ .deep }}", expected: x}]',
    "JSON": 'type: tool, tool: spy, inputs: {script: "{{ toJson .deep }}"}',
    "format": 'type: tool, tool: spy, inputs: {script: "{{ printf `%d` .deep }}"}',
}
"""Steps that fail and say by what, with a secret in it."""


@pytest.mark.parametrize("value", [QUOTED, LONG])
@pytest.mark.parametrize("place", PLACES)
def test_quoting_does_not_undo_the_mask(tmp_path, place, value):
    """In commands, maps and errors of templates, by whatever quoting: not a word of the value is left."""
    gert = Gert(tmp_path)
    text = book(constants='{deep: {a: ["{{ .pw }}"]}}', steps=f"- {{id: a, continue_on_fail: true, {PLACES[place]}}}\n")
    tool = TOOL.replace("inputs: {", "inputs: {number: {type: int, required: false}, ")
    gert.write(tool_spy=tool, book=text)
    for mode in ("real", "dry-run"):
        said = gert("exec", "book.yaml", "--var", f"pw={value}", "--mode", mode, "--trace", f"{mode}.jsonl")
        assert said.code == 0, said.all
        seen = written(gert, said) + (tmp_path / f"{mode}.jsonl").read_text()
        assert "REDACTED" in seen
        assert [word for word in re.findall(r"\w{4,}", value) if word in seen] == [], seen


def stopped(place):
    """A run that printed the file ``lines`` and stopped at the next step; what it wrote."""
    steps = """\
    - {id: gate, type: tool, tool: spy, inputs: {script: "test -e go"}}
    - {id: same, type: tool, tool: spy, inputs: {script: 'printf "%s" "$0" > out', more: "{{ .spy.all }}"}}
    """
    gert = Gert(place, PW=LONG)
    gert.write(tool_spy=TOOL, book=book(secrets="{env: PW}", steps=steps))
    said = gert("exec", "book.yaml", "--var", "script=cat lines")
    assert said.code == 1
    seen = written(gert, said)
    return gert, seen


def resumed(gert):
    """Go on with it: the last step writes what the first one printed to the file ``out``."""
    (gert.root / "go").touch()
    again = gert("resume", "--run", gert.run().name, "--retry-failed")
    assert again.code == 0, again.all


@pytest.mark.parametrize("columns", [4, 19, 64, 76])
@pytest.mark.parametrize("before", ["", "u", "us", "user:"])
@pytest.mark.parametrize("encode", ["base64", "base32", "hex"])
def test_wrapped_encodings_are_masked_and_restored(tmp_path, columns, before, encode):
    """A secret that is encoded with something before it, and wrapped; a resumed run has the same text again."""
    data = (before + LONG + " and more").encode()
    encoders = {"base64": base64.b64encode, "base32": base64.b32encode, "hex": bytes.hex}
    text = encoders[encode](data)
    text = text if isinstance(text, str) else text.decode()
    lines = textwrap.wrap(text, columns)
    (tmp_path / "lines").write_text("\n".join(lines) + "\n")
    gert, seen = stopped(tmp_path)
    certain = "\n".join(lines)[columns + 1 + 8 : -30]
    shown = output_of(gert, "spy")
    assert len(certain) > 50
    assert not [place for place in range(len(certain) - 12) if certain[place : place + 12] in seen + shown]
    resumed(gert)
    assert (tmp_path / "out").read_text() == "\n".join(lines)


@pytest.mark.parametrize("ends", ["\r\n", "\r\n|\n", "\n|\r\n", "\n|\n|\r\n", "\r\n|\r\n|\n"])
def test_wrapped_encodings_are_masked_whatever_their_lines_end_with(tmp_path, ends):
    """Mixed ends of lines too, as in a text that several programs wrote; a resumed run has the same text again."""
    lines = textwrap.wrap(base64.b64encode(LONG.encode()).decode(), 64)
    assert len(lines) == 4
    text = "begin\n" + "".join(line + end for line, end in zip(lines, cycle(ends.split("|")), strict=False)) + "end"
    (tmp_path / "lines").write_bytes(text.encode())
    gert, seen = stopped(tmp_path)
    assert not [line for line in lines[:3] if line in seen]
    resumed(gert)
    assert (tmp_path / "out").read_bytes().decode() == text


ODD = "a&b<c>d 'é' \"~!(*)=/+"
SPELLINGS = {
    "Go": r"""a\u0026b\u003cc\u003ed 'é' \"~!(*)=/+""",
    "Go, in JSON again": r"""a\\u0026b\\u003cc\\u003ed 'é' \\\"~!(*)=/+""",
    "Gson": r"""a\u0026b\u003cc\u003ed \u0027é\u0027 \"~!(*)\u003d/+""",
    "System.Text.Json": r"""a\u0026b\u003Cc\u003Ed \u0027\u00E9\u0027 \u0022~!(*)=/\u002B""",
    "JSON in upper case": r"""a&b<c>d '\u00E9' \"~!(*)=/+""",
    "encodeURIComponent": "a%26b%3Cc%3Ed%20'%C3%A9'%20%22~!(*)%3D%2F%2B",
    "encodeURI": "a&b%3Cc%3Ed%20'%C3%A9'%20%22~!(*)=/+",
    "URLSearchParams": "a%26b%3Cc%3Ed+%27%C3%A9%27+%22%7E%21%28*%29%3D%2F%2B",
    "url.PathEscape": "a&b%3Cc%3Ed%20%27%C3%A9%27%20%22~%21%28%2A%29=%2F+",
    "XML": "a&amp;b&lt;c&gt;d &apos;é&apos; &quot;~!(*)=/+",
    "PHP": "a&amp;b&lt;c&gt;d 'é' &quot;~!(*)=/+",
    "ascii of Python": r"""a&b<c>d \'\xe9\' "~!(*)=/+""",
    "repr of repr": r"""a&b<c>d \\\'é\\\' "~!(*)=/+""",
    "xmlcharrefreplace": "a&amp;b&lt;c&gt;d &#x27;&#233;&#x27; &quot;~!(*)=/+",
    "htmlentities": "a&amp;b&lt;c&gt;d '&eacute;' &quot;~!(*)=/+",
    "decimal entities": "".join(f"&#{ord(one)};" for one in ODD),
    "hexadecimal entities": "".join(f"&#x{ord(one):X};" for one in ODD),
    "URL twice": "a%2526b%253Cc%253Ed%2520%2527%25C3%25A9%2527%2520%2522~%2521%2528%252A%2529%253D%252F%252B",
    "base32": base64.b32encode(ODD.encode()).decode(),
    "od": ODD.encode().hex(" "),
    "openssl": ODD.encode().hex(":").upper(),
    "xxd": ODD.encode().hex(" ", -2),
    "base64 of UTF-16": base64.b64encode(ODD.encode("utf-16-le")).decode(),
    "bytes of Python": r"""a&b<c>d \'\xc3\xa9\' "~!(*)=/+""",
    "repr of repr of bytes": repr(repr(ODD.encode()))[4:-3],
    "htmlspecialchars": "a&amp;b&lt;c&gt;d &#039;é&#039; &quot;~!(*)=/+",
    "padded entities": "".join(f"&#{ord(one):03};" for one in ODD),
    "entities with a capital X": "".join(f"&#X{ord(one):X};" for one in ODD),
    "xxd -u": ODD.encode().hex(" ", -2).upper(),
    "quote_plus twice": quote_plus(quote_plus(ODD)),
    "every byte for a URL, twice": "".join(f"%25{byte:02X}" for byte in ODD.encode()),
}


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_what_other_languages_quote_is_masked_and_restored(tmp_path, spelling):
    """As Go, Java, .NET, JavaScript, XML and PHP write a text; a resumed run has the same text again."""
    shown = SPELLINGS[spelling]
    (tmp_path / "lines").write_text(f"before {shown} after", encoding="utf-8")
    steps = """\
    - {id: gate, type: tool, tool: spy, inputs: {script: "test -e go"}}
    - {id: same, type: tool, tool: spy, inputs: {script: 'printf "%s" "$0" > out', more: "{{ .spy.all }}"}}
    """
    gert = Gert(tmp_path, PW=ODD)
    gert.write(tool_spy=TOOL, book=book(secrets="{env: PW}", steps=steps))
    said = gert("exec", "book.yaml", "--var", "script=cat lines")
    assert said.code == 1, said.all
    assert re.fullmatch(r"before <REDACTED:PW:[a-z0-9-]+> after", output_of(gert, "spy"))
    resumed(gert)
    assert (tmp_path / "out").read_text(encoding="utf-8") == f"before {shown} after"


@pytest.mark.parametrize(
    "value", ["comma,one two", "a~b c123", "~lead ing1", "p,w~x:y z!12", "a:~b=~c#d #", "#1 {x}^?"]
)
def test_what_bash_quotes_is_masked(tmp_path, value):
    gert = Gert(tmp_path, PW=value)
    gert.write(tool_spy=TOOL, book=book(secrets="{env: PW}"))
    (tmp_path / "quote").write_text('printf "%q" "$PW"')
    said = gert("exec", "book.yaml", "--var", "script=bash quote")
    assert said.code == 0, said.all
    assert re.fullmatch(r"<REDACTED:PW(:[a-z0-9-]+)?>", output_of(gert, "spy"))


@pytest.mark.parametrize(("encode", "size"), [(base64.b64encode, 13), (base64.b32encode, 11), (bytes.hex, 8)])
def test_wrapped_encodings_are_masked_from_a_length_on(encode, size):
    """The page has these lengths; a shorter secret is not found in each place and at each width."""
    secret = "Zq7-hunter2-x"[:size]
    for before, width in product(range(12), range(1, 40)):
        text = encode(b"p" * before + secret.encode() + b" and more")
        lines = textwrap.wrap(text if isinstance(text, str) else text.decode(), width)
        assert "<REDACTED:" in Masker({"S": secret}).mask_text("\n".join(lines)), (before, width)


@pytest.mark.parametrize(
    "shown",
    [
        None,
        r'{"a": "abc\ufffd\ufffddef-very-long"}',
        "<abc\ufffd\ufffddef-very-long>",
        "<abc\ufffddef-very-long>",
        "a=abc%E2%82def-very-long",
        r"b'abc\xe2\x82def-very-long'",
        r'{"a": "abc\udce2\udc82def-very-long"}',
    ],
)
def test_a_secret_that_is_not_text_is_masked(tmp_path, shown):
    """Bytes that are not UTF-8, which whatever decodes them replaces, by one mark together or by one each."""
    gert = Gert(tmp_path, PW=os.fsdecode(b"abc\xe2\x82def-very-long"))
    gert.write(tool_spy=TOOL, book=book(secrets="{env: PW}"))
    (tmp_path / "lines").write_text(shown or "", encoding="utf-8")
    said = gert("exec", "book.yaml", "--var", "script=cat lines" if shown else 'script=printf "%s" "$PW"')
    assert said.code == 0, said.all
    assert "def-very" not in written(gert, said)
    assert "<REDACTED:PW" in output_of(gert, "spy")


def test_a_secret_input_that_is_not_text_is_masked(tmp_path):
    gert = Gert(tmp_path, PW=os.fsdecode(b"abc\xe2\x82def-very-long"))
    steps = """- {id: a, type: tool, tool: spy, inputs: {script: 'printf "%s" "$0"', more: "{{ .pw }}"}}\n"""
    gert.write(tool_spy=TOOL, book=book(steps=steps).replace("secret: true", "secret: true, from: env/PW"))
    said = gert("exec", "book.yaml")
    assert "def-very" not in written(gert, said)
    assert said.code == 0, said.all
    assert output_of(gert, "a").startswith("<REDACTED:pw")


@pytest.mark.parametrize("value", ["hunter2hunter2", QUOTED, "héunt%er&2 [x]/y"])
@pytest.mark.parametrize("parallel", ["false", "true"])
def test_no_key_of_an_item_and_no_principal_tells_a_secret(tmp_path, value, parallel):
    """Keys are ids of gert's own in the trace, principals stand outside its data: both may come from templates."""
    gert = Gert(tmp_path)
    steps = """\
    - id: each
      type: tool
      tool: spy
      inputs: {script: "true"}
      principal: item
      for_each: {over: [{id: "{{ .pw }}", role: "of {{ .pw }}"}], as: x, key: "at {{ .x.id }}", parallel: PARALLEL}
    - {id: named, type: tool, tool: spy, inputs: {script: "true"}, principal: {kind: agent, id: "{{ .pw }}"}}
    - {id: gate, type: tool, tool: spy, inputs: {script: "test -e go"}}
    - {id: same, type: assert, assert: [{type: equals, value: "{{ index .each (printf `at %s` .pw) `all` }}", expected: ""}]}
    """
    gert.write(tool_spy=TOOL, book=book(steps=steps.replace("PARALLEL", parallel)))
    said = gert("exec", "book.yaml", "--var", f"pw={value}")
    assert said.code == 1, said.all
    (item,) = [event for event in gert.events() if event["type"] == "for_each_item"]
    assert item["data"]["key"] == "at <REDACTED:pw>"
    assert item["step_key"] == "each[at%20%3CREDACTED%3Apw%3E]"
    assert item["principal"] == {"kind": "agent", "id": "<REDACTED:pw>", "role": "of <REDACTED:pw>"}
    (tmp_path / "go").touch()
    again = gert("resume", "--run", gert.run().name, "--retry-failed", "--var", f"pw={value}")
    assert again.code == 0, again.all
    seen = written(gert, said, again)
    for form in (value, repr(value)[1:-1], json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]):
        assert form not in seen


SHARED = {name: f"hmac-sha256:{base64.b64encode(name.encode() * 2).decode()}" for name in ("SIGNING_KEY", "VERIFY_KEY")}
PRIVATE = {
    "GERT_TRACE_SIGNING_KEY": SHARED["SIGNING_KEY"],
    "GERT_APPROVAL_VERIFY_KEY": SHARED["VERIFY_KEY"],
    "GERT_APPROVAL_VERIFY_KEY_ALICE": SHARED["VERIFY_KEY"].swapcase(),
    "GERT_WEBHOOK_SIGNING_KEY": "a-key-of-another-use",
}
PUBLIC = {
    "GERT_TRACE_SIGNING_KEY_ID": "night-2026",
    "GERT_TRACE_SIGNING_ALG": "hmac-sha256",
    "GERT_TRACE_VERIFY_KEY_OLD": "ed25519:A6EHv/POEL4dcN0Y50vAmWfk1jCbpQ1fHdyGZBJVMbg=",
}


def test_which_keys_of_gert_are_masked(tmp_path):
    """Private and shared ones, also those of a key id; neither ids and algorithms nor public keys. No tool gets any."""
    gert = Gert(tmp_path, **PRIVATE, **PUBLIC)
    gert.write(tool_spy=TOOL, book=book())
    (tmp_path / "keys").write_text("\n".join((*PRIVATE.values(), *PUBLIC.values())))
    said = gert("exec", "book.yaml", "--var", "script=env; cat keys")
    assert said.code == 0, said.all
    (done,) = [e for e in gert.events() if e["type"] == "step_complete" and e["data"]["step_id"] == "spy"]
    environ, _, rest = done["data"]["outputs"]["all"].partition("<REDACTED:")
    assert "GERT_IDEMPOTENCY_KEY=" in environ
    assert not [name for name in (*PRIVATE, *PUBLIC) if "_KEY" in name and f"{name}=" in environ + rest]
    assert f"<REDACTED:{rest}".splitlines() == [*(f"<REDACTED:{name}>" for name in PRIVATE), *PUBLIC.values()]


def test_a_secret_that_is_a_kind_of_error(tmp_path):
    """The kind of a failure is gert's own word; what a tool says is masked although it is the same."""
    gert = Gert(tmp_path, PW="exit_code")
    gert.write(tool_spy=TOOL, book=book(secrets="{env: PW}"))
    said = gert("exec", "book.yaml", "--json", "--var", "script=echo exit_code >&2; exit 3")
    assert (said.code, said.document["failure"]["kind"]) == (1, "exit_code"), said.all
    (done,) = [e["data"] for e in gert.events() if e["type"] == "step_complete" and e["data"]["step_id"] == "spy"]
    assert done["failure"]["kind"] == "exit_code"
    assert "exit_code" not in done["failure"]["message"]
    (tmp_path / "go").touch()
    again = gert("resume", "--run", gert.run().name, "--retry-failed", "--json")
    assert again.document["failure"]["kind"] == "exit_code", again.all


@pytest.mark.parametrize("word", ["success", "completed", "resolved", "tool", "gate", "allow", "0.00"])
def test_a_secret_that_is_a_word_of_the_trace(tmp_path, word):
    gert = Gert(tmp_path, PW=word)
    steps = '- {id: gate, type: tool, tool: spy, inputs: {script: "test -e go"}}\n'
    gert.write(tool_spy=TOOL, book=book(secrets="{env: PW}", steps=steps))
    said = gert("exec", "book.yaml", "--var", 'script=echo "$PW"')
    assert said.code == 1, said.all
    assert f'"all":"{word}"' not in (gert.run() / "trace.jsonl").read_text()
    (tmp_path / "go").touch()
    again = gert("resume", "--run", gert.run().name, "--retry-failed")
    assert again.code == 0, again.all
    assert gert("trace", "verify", str(gert.run() / "trace.jsonl")).code == 0


def test_a_number_can_be_secret(tmp_path):
    gert = Gert(tmp_path)
    steps = """\
    - {id: say, type: tool, tool: spy, inputs: {script: "echo pin {{ .pw }}"}}
    - {id: gate, type: tool, tool: spy, inputs: {script: "test -e go"}}
    - {id: same, type: assert, assert: [{type: equals, value: "{{ .pw }}", expected: 90210}]}
    """
    gert.write(tool_spy=TOOL, book=book(steps=steps, type="int"))
    said = gert("exec", "book.yaml", "--var", "pw=90210")
    assert said.code == 1
    seen = written(gert, said)
    assert "90210" not in seen.replace(gert.run().name, "")
    assert gert.events()[0]["data"]["inputs"]["pw"] == "<REDACTED:pw:int>"
    (tmp_path / "go").touch()
    again = gert("resume", "--run", gert.run().name, "--retry-failed", "--var", "pw=90210")
    assert again.code == 0, again.all
    short = gert("exec", "book.yaml", "--var", "pw=123")
    assert (short.code, "shorter than 4" in short.err) == (2, True), short.all


@pytest.mark.parametrize(
    "path",
    [
        "/proc/self/environ",
        "/dev/stdin",
        "/sys/kernel/mm/transparent_hugepage/enabled",
        "/etc/gert/plugins.yaml",
        "link",
    ],
)
def test_files_of_the_system_are_no_inputs(tmp_path, path):
    key = base64.b64encode(b"a key that signs things, of 32 b").decode()
    gert = Gert(tmp_path, cold=True, GERT_TRACE_SIGNING_KEY=key)  # its environment in /proc is its own
    (tmp_path / "link").symlink_to("/proc/self/environ")
    gert.write(
        book="apiVersion: kernel/v0\nmeta: {name: x, inputs: {all: {from: file/PATH}}}\n"
        "steps: [{type: end, outcome: {category: resolved, code: done}}]\n".replace("PATH", path)
    )
    said = gert("exec", "book.yaml")
    assert said.code == 2
    assert "of the system and of gert itself are not read" in said.err
    assert key not in written(gert, said)
    assert gert.runs() == []


@pytest.mark.parametrize("path", ["runs/one/trace.jsonl", "link"])
def test_files_of_runs_are_no_inputs(tmp_path, path):
    gert = Gert(tmp_path)
    (tmp_path / "runs" / "one").mkdir(parents=True)
    (tmp_path / "runs" / "one" / "trace.jsonl").write_text("{}\n")
    gert.write(
        book="apiVersion: kernel/v0\nmeta: {name: x, inputs: {all: {from: file/PATH}}}\n"
        "steps: [{type: end, outcome: {category: resolved, code: done}}]\n".replace("PATH", path)
    )
    (tmp_path / "link").symlink_to("runs/one/trace.jsonl")
    said = gert("exec", "book.yaml")
    assert (said.code, "of the system and of gert itself are not read" in said.err) == (2, True), said.all


def test_tokens_of_providers_reach_no_tool(tmp_path):
    gert = Gert(tmp_path, CHAT_TOKEN="xoxb-the-chat-token", VAULT="vault-token-1234", PLAIN="plain-value")
    gert.environ |= {"CMDB_PASSWORD": "cmdb-password", "OTHER_TOKEN": "other-token-1"}
    (tmp_path / "gert-project.yaml").write_text(
        "name: p\napprovals: {config: {token_env: CHAT_TOKEN, nested: [{key: env/VAULT}], url: PLAIN}}\n"
        "providers: {cmdb: {binary: ./cmdb, config: {password_env: CMDB_PASSWORD}}}\n"
        "plugins: {config: {step-tool: {token: env/OTHER_TOKEN}}}\n"
    )
    gert.write(tool_spy=TOOL, book=book())
    said = gert("exec", "book.yaml", "--var", "script=env; echo xoxb-the-chat-token")
    assert said.code == 0, said.all
    (done,) = [e for e in gert.events() if e["type"] == "step_complete" and e["data"]["step_id"] == "spy"]
    seen = done["data"]["outputs"]["all"]
    assert "PLAIN=plain-value" in seen
    assert "CHAT_TOKEN=" not in seen
    assert "VAULT=" not in seen
    assert "CMDB_PASSWORD=" not in seen
    assert "OTHER_TOKEN=" not in seen
    assert "<REDACTED:CHAT_TOKEN>" in seen, "masked wherever it comes from"
    gert.write(book=book(secrets="{env: VAULT}"))
    assert gert("exec", "book.yaml", "--var", 'script=test "$VAULT" = vault-token-1234').code == 0, "declared: given"


def test_the_variable_of_a_secret_input_reaches_no_tool(tmp_path):
    gert = Gert(tmp_path, DB_PASSWORD="hunter2hunter2")
    gert.write(tool_spy=TOOL, book=book().replace("secret: true", "secret: true, from: env/DB_PASSWORD"))
    said = gert("exec", "book.yaml", "--var", "script=env")
    assert said.code == 0, said.all
    assert "DB_PASSWORD=" not in written(gert, said)
