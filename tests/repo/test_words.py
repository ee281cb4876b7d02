"""One word per thing: names of functions, verbs at the start of docstrings, and phrases that must not come back."""

from __future__ import annotations

import ast
import re

import pytest
from repository import ROOT, core_modules, member_directories

NO_VERB = re.compile(
    "A|After|All|An|Another|Any|As|At|Before|Both|But|By|Each|Either|Evidence|Every|Everything|File|For|From|He|How|I|"
    "If|In|Is|It|Its|Line|Message|Neither|No|Nobody|None|Nothing|Number|Of|On|One|Only|Or|Other|Our|Outside|Same|"
    "Several|She|So|Some|Something|Still|Such|Text|That|The|Their|Then|There|These|They|This|Those|Time|To|Two|Value|"
    "We|What|Whatever|When|Where|Whether|Which|Who|Whoever|Whose|Why|With|Without|You|Your|"
    "[A-Za-z]*(?:[^s]s|ing|ed)"
)
VERBS_THAT_LOOK_OTHERWISE = frozenset({"Bring", "Embed", "Feed", "Need", "Proceed", "Seed", "Focus", "Ring"})

PHRASES = {
    r"(?<!there )\b(?:is|are|was|were) no (?!longer\b|more\b)[a-z]+": "is not a valid ..., is not ...",
    r"\b(?:nobody|whoever|no one)\b": "say which program, person or field",
    r"second life|to go on with|goes? on with": "resume, continue",
    r"\b(?:vouch|rehears|courtroom|hearing\b|\bdesk\b|witness)": "no metaphors",
    r"\bjudge[sd]?\b|\bverdicts?\b(?!\")": "check, status, result",
}


THIRD_PERSON = (
    r"(?:Compare|Decide|Find|Keep|List|Look|Make|Prepare|Put|Read|Refuse|Return|Show|Tell|Validate|Wait|Write)s\b"
)
"""What the docstring of a module does not begin with: it says what the module is or, as functions do, what to do."""
ONE_MEANING = {
    "run": r"(?:cli/app|gert_core/host|hosting/(?:host|looking)|scenarios/run|testing/\w+|/step|domain/variables|steps/compiled)\.py",
    "resolve": r"(?:gert_core/inputs|gert_input_\w+/\w+|/constants|/state|/view|/data|/tools|plugin/lazy)\.py",
    "settle": r"/ledgers?\.py",
    r"(?:\w+_)?plain(?:_\w+)?": r"\Z.",
    r"recall_\w+": r"\Z.",
}
"""Names of functions, and the files that may have them: of a run or a step, of inputs, variables and names, of claims."""


def sources():
    return [*core_modules(), *(f for d in member_directories() for f in sorted((d / "src").rglob("*.py")))]


def name_of(file):
    return file.relative_to(ROOT).as_posix()


def is_property(node):
    return any(
        ast.unparse(decorator) in ("property", "cached_property", "functools.cached_property")
        for decorator in node.decorator_list
    )


def begins_with_a_verb(docstring):
    """Return whether the first word may be a verb in the imperative."""
    word = re.match(r"[A-Z][a-z]*(?=[\s,;:.]|-[a-z])", docstring)
    if word is None:
        return False
    if word[0] in VERBS_THAT_LOOK_OTHERWISE:
        return True
    return NO_VERB.fullmatch(word[0]) is None


def other_openings(tree):
    """Yield the line and the first line of every function docstring that begins with something else."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not is_property(node):
            docstring = ast.get_docstring(node)
            if docstring is not None and not begins_with_a_verb(docstring):
                yield node.lineno, docstring.splitlines()[0]


@pytest.mark.parametrize(
    ("docstring", "good"),
    [
        ("Return the runs kept under root, newest first.", True),
        ("Pass the value on.", True),
        ("Re-read the file.", True),
        ("The runs kept under root.", False),
        ("Whether the run has ended.", False),
        ("Returns the runs.", False),
        ("Seconds until the deadline.", False),
        ("``steps[2].inputs``.", False),
    ],
)
def test_the_check_knows_verbs(docstring, good):
    assert begins_with_a_verb(docstring) is good


@pytest.mark.parametrize("file", sources(), ids=name_of)
def test_function_docstrings_begin_with_a_verb(file):
    assert not [f"{name_of(file)}:{line}: {text}" for line, text in other_openings(ast.parse(file.read_text()))]


def pages():
    below = [*sorted((ROOT / "docs").rglob("*.md")), *(f for d in member_directories() for f in sorted(d.glob("*.md")))]
    return [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *below]


@pytest.mark.parametrize("file", pages(), ids=name_of)
def test_pages_have_no_words_of_courts_and_theatres(file):
    text = re.sub(r"```.*?```|`[^`\n]*`", "", file.read_text(), flags=re.DOTALL)
    assert not re.findall(r"\bjudge[sd]?\b|\bverdicts?\b|\brehears\w+|\bwitness\w*|\bdoors?\b", text, re.IGNORECASE)


@pytest.mark.parametrize("file", sources(), ids=name_of)
def test_phrases_do_not_come_back(file):
    found = [
        f"{name_of(file)}:{number}: {match[0]!r} (rather: {instead})"
        for number, line in enumerate(file.read_text().splitlines(), 1)
        for phrase, instead in PHRASES.items()
        for match in re.finditer(phrase, line, re.IGNORECASE)
    ]
    assert not found


@pytest.mark.parametrize("file", sources(), ids=name_of)
def test_functions_are_called_after_the_glossary(file):
    found = [
        f"{name_of(file)}:{node.lineno}: {node.name}"
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.FunctionDef)
        for word, places in ONE_MEANING.items()
        if re.fullmatch(word, node.name) and not re.search(places, name_of(file))
    ]
    assert not found


@pytest.mark.parametrize("file", sources(), ids=name_of)
def test_modules_that_do_something_say_so_in_the_imperative(file):
    assert re.match(THIRD_PERSON, ast.get_docstring(ast.parse(file.read_text()))) is None
