"""What a tool's file says about exit codes, directories, time limits, programs and commands."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

import pytest

from gert_core.approvals.inbox import entries
from gert_core.stores.directory import DirectoryStore

BOOK = """
    apiVersion: kernel/v0
    meta: {name: book, inputs: {n: {type: string, default: "0"}}}
    tools: [t]
    steps:
      - {id: a, type: tool, tool: t, action: look, inputs: {n: "{{ .n }}"}}
      - type: end
        outcome: {category: no_action, meta: {code: "{{ .a.code }}", word: "{{ .a.word | default 'none' }}"}}
"""
TOOL = """
    apiVersion: tool/v0
    meta: {name: t}
    contract: {inputs: {n: {type: string}}, effects: [process], writes: []}
    actions:
      look:
        argv: [sh, -c, 'echo here; exit "$1"', sh, "{{ .n }}"]
        exit_codes: [0, 3]
        contract: {outputs: {code: {type: int}, word: {type: string, required: false}}}
        extract: {code: {from: exit_code}, word: {pattern: "word=(.*)"}}
"""


@pytest.fixture
def write(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def put(name, text):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text).lstrip(), encoding="utf-8")
        return str(path)

    return put


def findings(gert, *files):
    code, out, _ = gert("validate", *files, "--json")
    document = json.loads(out)
    return code, {(d["rule"], d["severity"], d["line"]): d for d in document["diagnostics"]}


def test_words_of_a_command_that_yaml_reads_as_other_values_are_what_is_started(gert, write):
    """``true`` is a program, too."""
    write("tools/t.tool.yaml", "apiVersion: tool/v0\nmeta: {name: t}\nactions: {look: {argv: [true, 1]}}\n")
    steps = "steps: [{type: tool, tool: t}, {type: end, outcome: {category: no_action}}]\n"
    book = write("book.yaml", "apiVersion: kernel/v0\nmeta: {name: book}\ntools: [t]\n" + steps)
    assert findings(gert, book) == (0, {})
    assert gert("exec", book)[0] == 0


BLOCK = """
    apiVersion: kernel/v0
    meta: {name: book}
    tools: [t]
    steps:
      - id: group
        type: block
        timeout: 10s
        steps:
          - {id: a, type: tool, tool: t, action: look, timeout: INNER}
          - {id: w, type: wait, every: 1s, timeout: 20s, steps: [{id: b, type: tool, tool: t, action: look, scope: b}]}
        finally:
          - {id: c, type: tool, tool: t, action: look, scope: c, timeout: 30s}
      - {type: end, outcome: {category: no_action}}
"""


@pytest.mark.parametrize(("inner", "said"), [("30s", True), ("10s", False), ("1s", False)])
def test_a_limit_longer_than_that_of_a_step_around_it_has_no_effect(gert, write, inner, said):
    write("tools/t.tool.yaml", TOOL)
    code, found = findings(gert, write("book.yaml", BLOCK.replace("INNER", inner)))
    assert (code, set(found)) == (0, {("timeout-ignored", "warning", 9)} if said else set())
    if said:
        (one,) = found.values()
        assert one["message"] == "`timeout: 30s` has no effect: `group` around it may take 10s at most"
        assert one["hint"] == "raise `timeout` of `group`, or leave it out here"


# -- names ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("net/dign", "net/dig"),
        ("nett/dig", "net/dig"),
        ("dign", "dig"),
        ("tt", "t"),
        ("./tools/tt.tool.yaml", "./tools/t.tool.yaml"),
        ("tools/tt.tool.yaml", "tools/t.tool.yaml"),
    ],
)
def test_a_tool_that_is_not_found_is_answered_with_the_name_that_may_be_meant(gert, write, name, meant):
    write("tools/t.tool.yaml", TOOL)
    end = "steps: [{type: end, outcome: {category: no_action}}]\n"
    book = "apiVersion: kernel/v0\nmeta: {name: book}\ntools: ['%s']\n" + end
    code, found = findings(gert, write("book.yaml", book % name))
    assert code == 1
    hint = found["tool-not-found", "error", 3]["hint"]
    assert hint.startswith(f"did you mean `{meant}`?")
    code, found = findings(gert, write("book.yaml", book % meant))
    assert (code, [one for one in found if one[0] != "program-missing"]) == (0, [])


# -- exit codes and optional outputs ------------------------------------------------------------------------------


@pytest.mark.parametrize(("n", "code", "meta"), [("0", 0, 0), ("3", 0, 3), ("1", 1, None)])
def test_listed_exit_codes_are_answers_and_others_failures(gert, write, n, code, meta):
    write("tools/t.tool.yaml", TOOL)
    got, out, _ = gert("exec", write("book.yaml", BOOK), "--var", f"n={n}", "--json")
    result = json.loads(out)
    assert got == code
    if code:
        assert result["failure"]["kind"] == "exit_code"
        assert "sh exited with code 1" in result["failure"]["message"]
    else:
        assert result["outcome"]["meta"] == {"code": meta, "word": "none"}


def test_an_answer_must_have_its_required_outputs(gert, write):
    write("tools/t.tool.yaml", TOOL.replace("required: false", "required: true"))
    code, out, _ = gert("exec", write("book.yaml", BOOK), "--var", "n=3", "--json")
    assert code == 1
    assert json.loads(out)["failure"]["kind"] == "extract"


def test_zero_is_a_failure_when_it_is_not_listed(gert, write):
    write("tools/t.tool.yaml", TOOL.replace("[0, 3]", "[3]"))
    code, out, _ = gert("exec", write("book.yaml", BOOK), "--json")
    assert code == 1
    assert json.loads(out)["failure"]["message"] == "sh exited with code 0, which `exit_codes` does not list"


def test_a_scenario_gives_exit_codes_the_same_meaning(gert, write, tmp_path):
    write("tools/t.tool.yaml", TOOL)
    book = write("book.yaml", BOOK)
    for n, status in (("3", "completed"), ("1", "failed")):
        write(f"s{n}/scenario.yaml", f"tool_responses: {{'t:look': [{{exit_code: {n}, stdout: word=x}}]}}")
        _, out, _ = gert("exec", book, "--mode", "replay", "--scenario", str(tmp_path / f"s{n}"), "--json")
        assert json.loads(out)["status"] == status


@pytest.mark.parametrize("codes", ["[]", "[256]", "[-1]", "[yes]", "0"])
def test_exit_codes_are_checked(gert, write, codes):
    code, found = findings(gert, write("t.tool.yaml", TOOL.replace("[0, 3]", codes)))
    assert code == 1
    assert [(rule, line) for rule, _, line in found] == [("wrong-type", 7)]


def test_a_template_among_exit_codes_is_answered_with_an_item(gert, write):
    file = write("tools/t.tool.yaml", TOOL.replace("[0, 3]", '[0, "{{ .n }}"]'))
    assert "hint: write a number, such as `3`: no template is filled in here" in gert("validate", file)[1]


# -- directories --------------------------------------------------------------------------------------------------

WHERE = """
    apiVersion: tool/v0
    meta: {name: t, cwd: CWD}
    contract: {effects: [process], writes: [], outputs: {out: {type: string}}}
    actions:
      look:
        argv: [sh, "{{ .tool.dir }}/where.sh"]
        env: {FROM: "{{ .tool.dir }}"}
        stdin: "{{ tool.dir }}"
        extract: {out: {from: stdout}}
"""
WHERE_BOOK = """
    apiVersion: kernel/v0
    meta: {name: book}
    tools: [../kit/t.tool.yaml]
    steps:
      - {id: a, type: tool, tool: t}
      - {type: end, outcome: {category: no_action, meta: {out: "{{ .a.out }}"}}}
"""


@pytest.mark.parametrize(
    ("word", "directory"), [("caller", "elsewhere"), ("tool", "kit"), ("runbook", "books"), ("project", "")]
)
def test_a_program_starts_in_the_directory_that_the_tool_names(gert, write, tmp_path, monkeypatch, word, directory):
    write("gert-project.yaml", "name: p")
    write("kit/t.tool.yaml", WHERE.replace("CWD", word))
    write("kit/where.sh", 'echo "$PWD $FROM $(cat)"')
    book = write("books/book.yaml", WHERE_BOOK)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    code, out, _ = gert("exec", book, "--json")
    kit = tmp_path / "kit"
    where = str(tmp_path / directory).rstrip("/")
    assert (code, json.loads(out)["outcome"]["meta"]["out"]) == (0, f"{where} {kit} {kit}")


def test_without_a_project_its_directory_is_the_runbooks(gert, write, tmp_path):
    write("kit/t.tool.yaml", WHERE.replace("CWD", "project"))
    write("kit/where.sh", 'echo "$PWD"')
    _, out, _ = gert("exec", write("books/book.yaml", WHERE_BOOK), "--json")
    assert json.loads(out)["outcome"]["meta"]["out"] == str(tmp_path / "books")


def test_a_relative_program_is_found_from_the_tools_directory_by_preflight_and_approvals(gert, write, tmp_path):
    tool = WHERE.replace("CWD", "tool").replace('[sh, "{{ .tool.dir }}/where.sh"]', "[./where.sh]")
    write("kit/t.tool.yaml", tool)
    script = tmp_path / "kit" / "where.sh"
    gated = WHERE_BOOK.replace("{name: book}", "{name: book, governance: {rules: [{default: require-approval}]}}")
    book = write("books/book.yaml", gated)
    code, out, _ = gert("exec", book, "--approval", "inbox", "--json")
    assert code == 2  # the file is not there
    assert "needs program './where.sh', which is not an executable file" in out
    write("kit/where.sh", "#!/bin/sh\necho $PWD")
    script.chmod(0o755)
    code, out, _ = gert("exec", book, "--approval", "inbox", "--json")
    assert json.loads(out)["status"] == "approval_pending"
    (entry,) = entries(DirectoryStore(tmp_path / "runs"))
    command = entry.request.document["command"]
    assert command["cwd"] == str(tmp_path / "kit")
    assert command["program"] == str(script)
    assert command["program_sha256"]
    assert command["stdin"] == str(tmp_path / "kit")


def test_a_replay_shows_no_directory_of_this_machine(gert, write, tmp_path):
    write("kit/t.tool.yaml", WHERE.replace("CWD", "tool"))
    write("s/scenario.yaml", "tool_responses: {'t': [{stdout: x}]}")
    book, trace = write("books/book.yaml", WHERE_BOOK), tmp_path / "t.jsonl"
    code, *_ = gert("exec", book, "--mode", "replay", "--scenario", str(tmp_path / "s"), "--trace", str(trace))
    assert code == 0
    assert f"{tmp_path / 'kit'}/where.sh" not in trace.read_text()
    assert "<tool.dir>/where.sh" in trace.read_text()


def test_tool_is_reserved_and_has_only_its_directory(gert, write):
    bad = WHERE.replace("CWD", "tool").replace("{effects:", "{inputs: {tool: {type: string}}, effects:")
    code, found = findings(gert, write("t.tool.yaml", bad.replace("{{ tool.dir }}", "{{ .tool.name }}")))
    assert code == 1
    assert set(found) == {("reserved-name", "error", 3), ("unresolved-variable", "error", 8)}
    assert found[("unresolved-variable", "error", 8)]["hint"] == "write `.tool.dir`"


# -- time limits --------------------------------------------------------------------------------------------------


def test_without_a_ceiling_the_steps_timeout_counts_whatever_its_length(gert, write, monkeypatch):
    monkeypatch.setattr("gert_core.engine.modes.real.DEFAULT_TOOL_TIMEOUT", 0.2)
    slow = TOOL.replace("echo here; exit", "sleep 0.6; exit")
    write("tools/t.tool.yaml", slow)
    book = write("book.yaml", BOOK)
    _, out, _ = gert("exec", book, "--json")
    assert json.loads(out)["failure"]["kind"] == "timeout"
    code, *_ = gert("exec", write("long.yaml", BOOK.replace("action: look,", "action: look, timeout: 90s,")))
    assert code == 0
    write("tools/t.tool.yaml", slow.replace("{name: t}", "{name: t, timeout: 200ms}"))
    _, out, _ = gert("exec", write("long.yaml", BOOK.replace("action: look,", "action: look, timeout: 90s,")), "--json")
    assert json.loads(out)["failure"]["kind"] == "timeout"


@pytest.mark.parametrize(
    ("tool", "said"),
    [
        (TOOL.replace("{name: t}", "{name: t, timeout: 5s}"), "tool `t` may take 5s at most"),
        (TOOL.replace("exit_codes:", "timeout: 5s\n        exit_codes:"), "action `look` may take 5s at most"),
        (TOOL.replace("{name: t}", "{name: t, timeout: 10s}"), None),
        (TOOL, None),
    ],
)
def test_a_longer_timeout_of_a_step_is_said_to_have_no_effect(gert, write, tool, said):
    write("tools/t.tool.yaml", tool)
    code, found = findings(gert, write("book.yaml", BOOK.replace("action: look,", "action: look, timeout: 10s,")))
    assert code == 0
    assert set(found) == ({("timeout-ignored", "warning", 5)} if said else set())
    for finding in found.values():
        assert finding["message"] == f"`timeout: 10s` has no effect: {said}"


# -- commands and programs ----------------------------------------------------------------------------------------


def test_a_shell_word_is_reported_with_a_command_that_works(gert, write):
    write("words", "x\nx\n")
    pipe = TOOL.replace(
        """[sh, -c, 'echo here; exit "$1"', sh, "{{ .n }}"]""", '[grep, "{{ .n }}", words, "|", wc, -l]'
    )
    tool = write("tools/t.tool.yaml", pipe)
    code, found = findings(gert, tool)
    assert (code, list(found)) == (0, [("not-acted-on", "warning", 6)])
    (finding,) = found.values()
    assert finding["message"] == "`|` is handed to `grep` as an argument: no shell is involved"
    spelled = finding["hint"].removeprefix("write `argv: ").removesuffix("`")
    mended = pipe.replace('[grep, "{{ .n }}", words, "|", wc, -l]', spelled).replace("word=(.*)", "([0-9]+)")
    write("tools/t.tool.yaml", mended)
    _, out, _ = gert("exec", write("book.yaml", BOOK), "--var", "n=x", "--json")
    assert json.loads(out)["outcome"]["meta"] == {"code": 0, "word": "2"}


def test_a_shell_word_of_a_tool_with_a_binary_is_moved_to_another_tool(gert, write):
    write("words", "x\nx\n")
    tool = "apiVersion: tool/v0\nmeta: {name: t, binary: grep}\ncontract: {effects: []}\nactions: {a: {argv: ARGV}}\n"
    code, found = findings(gert, write("tools/t.tool.yaml", tool.replace("ARGV", '[grep, x, words, "|", wc, -l]')))
    assert code == 0
    (finding,) = found.values()
    spelled = finding["hint"].removeprefix("move it to a tool without `binary`, as `argv: ").removesuffix("`")
    assert spelled == "[sh, -c, 'grep x words | wc -l']"
    mended = tool.replace(", binary: grep", "").replace("ARGV", spelled)
    assert findings(gert, write("tools/t.tool.yaml", mended)) == (0, {})


@pytest.mark.parametrize("argv", ['[expr, "3", ">", "2"]', '[sh, -c, "a | b"]', '[find, ".", -exec, ls, ";"]'])
def test_other_words_are_not_reported(gert, write, argv):
    _, found = findings(
        gert, write("t.tool.yaml", TOOL.replace("""[sh, -c, 'echo here; exit "$1"', sh, "{{ .n }}"]""", argv))
    )
    assert not [rule for rule, *_ in found if rule == "not-acted-on"]


def test_a_missing_program_is_a_warning_that_strict_does_not_count(gert, write):
    write("tools/t.tool.yaml", TOOL.replace("[sh, -c", "[no-such-program-here, -c"))
    book = write("book.yaml", BOOK)
    code, found = findings(gert, book)
    assert (code, list(found)) == (0, [("program-missing", "warning", 6)])
    code, out, _ = gert("validate", book, "--strict")
    assert (code, "program `no-such-program-here` is not on PATH" in out) == (0, True)


def test_a_warning_about_the_document_still_fails_with_strict(gert, write):
    write("tools/t.tool.yaml", TOOL.replace("{name: t}", "{name: t, timeout: 5s}"))
    book = write("book.yaml", BOOK.replace("action: look,", "action: look, timeout: 10s,"))
    assert gert("validate", book, "--strict")[0] == 1


# -- actions that no step uses, names that a pack serves ----------------------------------------------------------


@pytest.mark.parametrize(
    ("idle", "rule"),
    [
        ('idle: {argv: [echo, "{{ .nope }}"]}', "unresolved-variable"),
        ("idle: {agrv: [echo]}", "unknown-field"),
        ("idle: {argv: echo hello}", "wrong-type"),
    ],
)
def test_an_error_in_an_action_that_no_step_uses_is_a_warning(gert, write, idle, rule):
    tool = write("tools/t.tool.yaml", TOOL + f"      {idle}\n")
    book = write("book.yaml", BOOK)
    code, found = findings(gert, book)
    assert (code, list(found)) == (0, [(rule, "warning", 10)])
    assert gert("exec", book)[0] == 0
    assert findings(gert, tool)[0] == 1
    used = write("used.yaml", BOOK.replace("action: look", "action: idle"))
    assert findings(gert, used)[0] == 1


@pytest.mark.parametrize("idle", ["idle: {agrv: [echo]}", "idle: {argv: echo hello}"])
@pytest.mark.parametrize("last", [True, False])
def test_it_is_a_warning_also_where_an_action_that_is_used_is_wrong(gert, write, idle, last):
    wrong = "wrong: {argv: echo it}"
    first, second = (wrong, idle) if last else (idle, wrong)
    write("tools/t.tool.yaml", TOOL + f"      {first}\n      {second}\n")
    code, found = findings(gert, write("book.yaml", BOOK.replace("action: look", "action: wrong")))
    told = {line: severity for _, severity, line in found}
    assert code == 1
    assert (told[11 if last else 10], told[10 if last else 11]) == ("warning", "error")


@pytest.mark.parametrize("files", [("book.yaml", "tools/t.tool.yaml"), ("tools/t.tool.yaml", "book.yaml"), (".",)])
def test_an_error_in_an_action_that_no_step_uses_is_told_once(gert, write, files):
    write("tools/t.tool.yaml", TOOL + '      idle: {argv: [echo, "{{ .nope }}"]}\n')
    write("book.yaml", BOOK)
    code, out, _ = gert("validate", *files, "--sarif", "found.sarif")
    assert (code, out.count("[unresolved-variable]"), out.count("  error  `.nope`")) == (1, 1, 1), out
    assert "2 documents, 1 not valid: 1 error\n" in out
    (run,) = json.loads(Path("found.sarif").read_text())["runs"]
    assert [(one["ruleId"], one["level"]) for one in run["results"]] == [("unresolved-variable", "error")]


def test_a_file_that_a_pack_hides_is_said(gert, write, tmp_path):
    write("tools/git.tool.yaml", TOOL)
    book = write(
        "books/book.yaml",
        "apiVersion: kernel/v0\nmeta: {name: b}\ntools: [git]\nsteps: [{type: end, outcome: {category: no_action}}]\n",
    )
    code, found = findings(gert, book)
    assert (code, list(found)) == (0, [("not-acted-on", "warning", 3)])
    (finding,) = found.values()
    assert finding["message"] == "tool `git` is the one of the installed pack `git`, not ../tools/git.tool.yaml"
    for name in ("git/git", "../tools/git.tool.yaml"):
        text = (tmp_path / "books" / "book.yaml").read_text().replace("[git]", f"[{name}]")
        assert findings(gert, write("books/other.yaml", text)) == (0, {})


@pytest.mark.parametrize("where", ["tool", "action", "step"])
def test_a_default_of_an_output_is_said_to_have_no_effect(gert, write, where):
    declared = "outputs: {word: {type: string, required: false, default: none}}"
    tool, book = TOOL, BOOK
    if where == "step":
        book = BOOK.replace("id: a,", f"id: a, contract: {{{declared}}},")
    elif where == "tool":
        tool = TOOL.replace("contract: {inputs", f"contract: {{{declared}, inputs", 1)
    else:
        tool = TOOL.replace("required: false}", "required: false, default: none}")
    write("book.yaml", book)
    write("tools/t.tool.yaml", tool)
    _, out, _ = gert("validate", "book.yaml", "--json")
    (found,) = json.loads(out)["diagnostics"]
    assert (found["rule"], found["severity"]) == ("not-acted-on", "warning")
    assert found["message"].startswith("the default of the output `word` is never used")
    assert found["hint"].startswith("remove it")


@pytest.mark.parametrize("code", [0, 3])
def test_the_exit_code_is_known_although_nothing_can_be_extracted(write, gert, code):
    write("book.yaml", BOOK.replace("id: a,", "id: a, continue_on_fail: true,").replace(".a.code", ".a.exit_code"))
    write("tools/t.tool.yaml", TOOL.replace("word: {type: string, required: false}", "word: {type: string}"))
    done, out, err = gert("exec", "book.yaml", "--json", "--var", f"n={code}")
    assert (done, json.loads(out)["outcome"]["meta"]["code"]) == (0, code), err


def test_an_action_lacks_what_its_transport_needs(write, gert):
    lacking = TOOL.replace("""argv: [sh, -c, 'echo here; exit "$1"', sh, "{{ .n }}"]""", "description: nothing")
    write("book.yaml", BOOK)
    write("tools/t.tool.yaml", lacking)
    done, out, _ = gert("validate", "book.yaml", "--json")
    (found,) = [one for one in json.loads(out)["diagnostics"] if one["severity"] == "error"]
    assert (done, found["rule"], found["line"]) == (1, "missing-field", 5)
    assert found["message"] == "action `look` has no `argv`, which the transport `stdio` needs to call it"
    write("tools/t.tool.yaml", lacking.replace("name: t}", "name: t, transport: jsonrpc, binary: sh}"))
    assert "action `look` has no `method`, which the transport `jsonrpc` needs" in gert("validate", "book.yaml")[1]
    write("tools/t.tool.yaml", lacking.replace("name: t}", "name: t, binary: sh}"))
    assert gert("validate", "book.yaml")[0] == 0
