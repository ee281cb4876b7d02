"""``gert completion``: print a completion script for a shell."""

from __future__ import annotations

import inspect
from pathlib import Path  # noqa: TC003 - the annotations are read at run time
from typing import TYPE_CHECKING, Annotated, Any, Final

from msgspec import Struct

from gert_core.api.errors import UsageError
from gert_core.api.results import OutcomeCategory
from gert_core.cli import candidates
from gert_core.cli.lazy import typer
from gert_core.cli.render.terminal import out
from gert_core.cli.session import project_or_warning, registry_for
from gert_core.cli.verbs import VERBS, commands_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_VALUES: Final = {
    "--mode": "real dry-run probe replay",
    "--trace-sync": "group event none",
    "--on-drift": "refuse allow",
    "--questions": "ask suspend fail",
    "--progress": "auto live plain json",
    "--format": "text mermaid dot svg",
    "--fail-on": " ".join(OutcomeCategory),
}
_LISTS: Final = ("--fail-on",)
"""Those of them that take several, separated by commas."""
_OTHER_FILES: Final = ("--input", "--policy", "--trace", "--sarif", "--junit", "--output", "-o")
"""Options that take a file other than the runbook."""
_RUN_IDS: Final = "latest | [0-9]*T[0-9]*Z-*"
"""How shells tell that a word is a run."""
_RUN_PATTERN: Final = "latest|[0-9]+T[0-9]+Z-.*"


class CommandEntry(Struct, frozen=True, kw_only=True):
    """A command as typed: its words, what it is for, its commands or its options."""

    path: str
    summary: str
    commands: tuple[tuple[str, str], ...] = ()
    options: tuple[tuple[str, str], ...] = ()


def completion(
    ctx: typer.Context,
    shell: Annotated[str | None, typer.Argument(metavar="SHELL", help="bash, zsh or fish.")] = None,
    values: Annotated[
        str | None, typer.Option("--values", metavar="KIND", hidden=True, help="Print what the scripts ask for.")
    ] = None,
    of: Annotated[
        Path | None, typer.Option("--of", metavar="FILE", hidden=True, help="The runbook.", readable=False)
    ] = None,
    run: Annotated[str | None, typer.Option("--of-run", metavar="ID", hidden=True, help="The run.")] = None,
    command: Annotated[str, typer.Option("--for", metavar="COMMAND", hidden=True, help="The command.")] = "",
) -> int:
    """Print a completion script for a shell.

    It asks gert for run ids, tickets, scenarios, inputs, steps and tools; write it again after an update.
    """
    if values is not None:
        return _print_values(values, of, run, command)
    if shell not in _SHELLS:
        if shell is None:
            raise UsageError("the shell is missing", hint=f"the shells are {', '.join(_SHELLS)}")
        raise UsageError(f"there is no completion for {shell!r}", hint=f"the shells are {', '.join(_SHELLS)}")
    given = sorted(registry_for(project_or_warning(), ctx.obj, warn=False).commands().items())
    plugins = {name: command.summary for name, command in given if name not in VERBS}
    out(_SHELLS[shell](list(entries(plugins))).rstrip("\n"))
    return 0


def _print_values(kind: str, file: Path | None, run: str | None, command: str) -> int:
    """Print the values of a kind, one per line; names with line ends are left out."""
    if kind not in candidates.KINDS:
        raise UsageError(f"there are no values {kind!r}", hint=f"the kinds are {', '.join(candidates.KINDS)}")
    for value in candidates.values(kind, file, run=run, command=command):
        if value.isprintable():
            out(value)
    return 0


def entries(plugins: Mapping[str, str] | None = None) -> Iterator[CommandEntry]:
    """Yield every command: the program itself, then verb by verb, then those of ``plugins`` by name and summary."""
    from gert_core.cli.build import commands

    top = (("-p", "Load or leave out a plugin."), ("--version", "Show the version."), ("--help", "Explain."))
    yield CommandEntry(path="", summary="", commands=(*VERBS.items(), *(plugins or {}).items()), options=top)
    functions = {path: function for path, function, _ in commands()}
    for path, function, command in commands():
        verb, _, word = path.partition(" ")
        names = commands_of(verb)
        if word and word == next(iter(names)):
            found = tuple((name, _first_line(functions[f"{verb} {name}"])) for name in names)
            yield CommandEntry(path=verb, summary=VERBS[verb], commands=found)
        words = _words(function)
        summary = _first_line(function) if word else VERBS[verb]
        yield CommandEntry(path=path, summary=summary, commands=words, options=_options(command))
    for name, summary in (plugins or {}).items():
        yield CommandEntry(path=name, summary=summary, options=(("--help", "Explain the command."),))


def _words(function: Callable[..., object]) -> tuple[tuple[str, str], ...]:
    """Return the words that a command takes as its argument, if they are always the same."""
    from gert_core.cli.commands.schema import kinds, schema

    if function is schema:
        return tuple((kind, f"Of {kind}.") for kind in kinds())
    return tuple((shell, f"For {shell}.") for shell in _SHELLS) if function is completion else ()


def _first_line(function: Callable[..., object]) -> str:
    return inspect.cleandoc(function.__doc__ or "").partition("\n")[0]


def _options(command: Any) -> tuple[tuple[str, str], ...]:
    shown = [option for option in command.params if option.param_type_name == "option" and not option.hidden]
    found = [(name, option.help or "") for option in shown for name in option.opts]
    return (*found, ("--help", "Explain the command."))


# -- the scripts ------------------------------------------------------------------------------------------------

_FIND_COMMAND: Final = """\
    local command="" i
    for ((i = {first}; i < {last}; i++)); do
        case "${{{words}[i]}}" in
            -*) ;;
            *) case "$command ${{{words}[i]}}" in
                {paths}) command="${{command:+$command }}${{{words}[i]}}" ;;
            esac ;;
        esac
    done
"""


def _bash(found: list[CommandEntry]) -> str:
    cases = "\n".join(
        f"        {_quoted(e.path)}) words={_quoted(' '.join(n for n, _ in (*e.commands, *e.options)))} ;;"
        for e in found
    )
    values = "\n".join(
        f"        {name}) words={_quoted(words)}; word_only=1{'; list=1' if name in _LISTS else ''} ;;"
        for name, words in _VALUES.items()
    )
    asked = "\n".join(f"        {name}) kind={kind} ;;" for name, kind in candidates.OPTIONS.items())
    taken = "\n".join(f"            {_quoted(path)}) kind={kind} ;;" for path, kind in candidates.ARGUMENTS.items())
    groups = " | ".join(_quoted(e.path) for e in found if e.commands)
    find = _FIND_COMMAND.format(first=1, last="COMP_CWORD", words="COMP_WORDS", paths=_paths(found))
    return f"""\
# bash completion for gert
_gert() {{
    local current="${{COMP_WORDS[COMP_CWORD]}}" previous="${{COMP_WORDS[COMP_CWORD-1]}}" words="" word_only="" kind=""
    local list="" before=""
    # `--run=ID` is three words here.
    [[ $previous == "=" ]] && previous="${{COMP_WORDS[COMP_CWORD-2]}}"
    [[ $current == "=" ]] && current=""
{find}\
    case "$command" in
{cases}
    esac
    case "$command" in
        {groups}) word_only=1 ;;
    esac
    case "$previous" in
{values}
{asked}
        -*) ;;
        *) [[ $current == -* ]] || case "$command" in
{taken}
        esac ;;
    esac
    COMPREPLY=()
    if [[ -n $kind ]]; then
        local file="" run="" value
        for ((i = 2; i < COMP_CWORD; i++)); do
            case "${{COMP_WORDS[i-1]}}" in {" | ".join(_OTHER_FILES)}) continue ;; esac
            case "${{COMP_WORDS[i]}}" in {_RUN_IDS}) run="${{COMP_WORDS[i]}}" ;; esac
            [[ -z $file && (-d ${{COMP_WORDS[i]}} || ${{COMP_WORDS[i]}} == *.y*ml) && -e ${{COMP_WORDS[i]}} ]] &&
                file="${{COMP_WORDS[i]}}"
        done
        [[ $kind == {candidates.STEPS} && -z $file$run ]] && return  # the runbook comes first
        compopt +o default 2>/dev/null
        [[ $kind == inputs ]] && compopt -o nospace 2>/dev/null
        # Not by compgen -W, which would expand names as if they were typed.
        while IFS= read -r value; do
            [[ $value == "$current"* ]] && COMPREPLY+=("$(printf %q "$value")")
        done < <("$1" completion --values "$kind" --for="$command" ${{file:+--of="$file"}} \\
            ${{run:+--of-run="$run"}} 2>/dev/null)
        return
    fi
    # Without a match bash completes file names.
    if [[ -n $word_only || $current == -* ]]; then
        [[ -n $list && $current == *,* ]] && before="${{current%,*}},"
        COMPREPLY=($(compgen -P "$before" -W "$words" -- "${{current:${{#before}}}}"))
    fi
}}
complete -o default -F _gert gert
"""


_ZSH_LIST: Final = "compset -P '*,'; "


def _zsh(found: list[CommandEntry]) -> str:
    find = _FIND_COMMAND.format(first=2, last="CURRENT", words="words", paths=_paths(found))
    cases = []
    for entry in found:
        shown = [_quoted(f"{name}:{text.replace(':', ' ')}") for name, text in (*entry.commands, *entry.options)]
        listed = "\n                ".join(shown)
        files = "" if entry.commands else "; [[ $PREFIX == -* ]] || _files"
        wanted = "" if entry.commands else "[[ $PREFIX == -* ]] && "
        cases.append(
            f"        {_quoted(entry.path)})\n            found=(\n                {listed}\n            )\n"
            f"            {wanted}_describe command found{files} ;;"
        )
    values = "\n".join(
        f"        {name}) {_ZSH_LIST if name in _LISTS else ''}compadd -- {words}; return ;;"
        for name, words in _VALUES.items()
    )
    asked = "\n".join(f"        {name}) _gert_values {kind}; return ;;" for name, kind in candidates.OPTIONS.items())
    taken = "\n".join(
        f"        {_quoted(path)}) [[ $PREFIX == -* ]] || {{ _gert_values {kind}; return; }} ;;"
        for path, kind in candidates.ARGUMENTS.items()
    )
    others = " | ".join(_OTHER_FILES)
    body = "\n".join(cases)
    return f"""\
#compdef gert
# zsh completion for gert
_gert_values() {{
    local file="" run="" i
    local -a found more
    for ((i = 3; i < CURRENT; i++)); do
        case "${{words[i-1]}}" in {others}) continue ;; esac
        case "${{words[i]}}" in {_RUN_IDS}) run="${{words[i]}}" ;; esac
        [[ -z $file && (-d ${{words[i]}} || ${{words[i]}} == *.y*ml) && -e ${{words[i]}} ]] && file="${{words[i]}}"
    done
    [[ $1 == {candidates.STEPS} && -z $file$run ]] && {{ _files; return; }}
    [[ $1 == inputs ]] && more=(-S '')
    found=(${{(f)"$($words[1] completion --values $1 --for="$command" ${{file:+--of=$file}} \\
        ${{run:+--of-run=$run}} 2>/dev/null)"}})
    compadd $more -- $found
}}
_gert() {{
    local -a found
{find}\
    case "${{words[CURRENT-1]}}" in
{values}
{asked}
    esac
    case "$command" in
{taken}
    esac
    case "$command" in
{body}
    esac
}}
if [[ $funcstack[1] == _gert ]]; then _gert "$@"; else compdef _gert gert; fi
"""


def _fish(found: list[CommandEntry]) -> str:
    lines = ["# fish completion for gert", _FISH_COMMAND, _FISH_VALUES, _FISH_LIST]
    lines.append(f"set -g __gert_paths {' '.join(_quoted(e.path) for e in found if e.path)}")
    for entry in found:
        given = f"complete -c gert -n {_quoted(f'__gert_at {_double(entry.path)}')}"
        if entry.commands:
            lines.append(f"{given} -f")
        lines += [f"{given} -a {_quoted(name)} -d {_quoted(text)}" for name, text in entry.commands]
        if entry.path in candidates.ARGUMENTS:
            lines.append(f"{given} -f -a '(__gert_values {candidates.ARGUMENTS[entry.path]})'")
        for name, text in entry.options:
            spelled = f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}"
            lines.append(f"{given} {spelled}{_fish_value(name)} -d {_quoted(text)}")
    return "\n".join(lines) + "\n"


_FISH_COMMAND: Final = """\
function __gert_at
    set -l command
    for word in (commandline -opc)[2..-1]
        if not string match -q -- '-*' $word; and contains -- (string trim -- "$command $word") $__gert_paths
            set command (string trim -- "$command $word")
        end
    end
    test "$command" = "$argv[1]"
end"""


_FISH_VALUES: Final = f"""\
function __gert_values
    set -l words (commandline -opc)
    set -l of
    set -l run
    for i in (seq 3 (count $words))
        contains -- $words[(math $i - 1)] {" ".join(_OTHER_FILES)}; and continue
        if string match -qr -- '^({_RUN_PATTERN})$' $words[$i]
            set run --of-run=$words[$i]
        end
        if test -z "$of"; and test -e "$words[$i]"
            if test -d "$words[$i]"; or string match -q -- '*.y*ml' $words[$i]
                set of --of=$words[$i]
            end
        end
    end
    if test "$argv[1]" = {candidates.STEPS}; and test -z "$of$run"
        __fish_complete_path (commandline -ct)
        return
    end
    $words[1] completion --values $argv[1] --for="$words[2..3]" $of $run 2>/dev/null
end"""


_FISH_LIST: Final = """\
function __gert_list
    set -l before (string match -r -- '^.*,' (commandline -ct))
    printf '%s\\n' "$before"$argv
end"""


def _fish_value(name: str) -> str:
    if name in _LISTS:
        return f" -x -a '(__gert_list {_VALUES[name]})'"
    if name in _VALUES:
        return f" -x -a {_quoted(_VALUES[name])}"
    return f" -x -a '(__gert_values {candidates.OPTIONS[name]})'" if name in candidates.OPTIONS else ""


def _paths(found: list[CommandEntry]) -> str:
    """Return the shell patterns of words that continue a command, each behind the command so far."""
    steps = [e.path.rpartition(" ") for e in found if e.path]
    return " | ".join(_quoted(f"{before} {word}") for before, _, word in steps)


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _double(text: str) -> str:
    return f'"{text}"'


_SHELLS: Final = {"bash": _bash, "zsh": _zsh, "fish": _fish}

__all__ = ["CommandEntry", "completion", "entries"]
