"""Examples of every command, shown at the end of its help and in the reference."""

from __future__ import annotations

from typing import Final

from gert_core.cli.render.help import examples as examples_of

EXAMPLES: Final[dict[str, tuple[tuple[str, str], ...]]] = {
    "validate": (
        ("gert validate disk-check.yaml", "one document"),
        ("gert validate .", "everything below a directory"),
        ("gert validate . --strict --sarif findings.sarif", "in CI, warnings included"),
    ),
    "exec": (
        ("gert exec disk-check.yaml --var limit=95", "run it, with an input"),
        ("gert exec disk-check.yaml --mode dry-run", "show what would happen"),
        ("gert exec disk-check.yaml --mode replay --scenario nearly-full", "replay a scenario"),
        ("gert exec disk-check.yaml --approval inbox --json", "let others approve later"),
        ("gert exec disk-check.yaml --record first", "keep the run as a scenario"),
    ),
    "test": (
        ("gert test disk-check.yaml", "its scenarios"),
        ("gert test . -j 4 --junit results.xml", "all runbooks here, in CI"),
        ("gert test . --scenario 'nearly-*' --fail-fast", "some of them"),
    ),
    "diff": (
        ("gert diff disk-check.yaml", "do its golden scenarios come to what they came to before?"),
        ("gert diff . --all --against main", "all scenarios, compared with the documents of a revision"),
        ("gert diff disk-check.yaml --json", "for a script; exit code 1 when something changed"),
    ),
    "scenario list": (("gert scenario list disk-check.yaml", "its scenarios, golden ones with a star"),),
    "scenario new": (("gert scenario new disk-check.yaml df-fails", "canned answers to start from"),),
    "scenario record": (("gert scenario record latest --name first", "keep a run that is over"),),
    "scenario promote": (
        ("gert scenario promote first", "make it golden"),
        ("gert scenario promote recordings/first/ --name healthy", "and move it beside its runbook"),
    ),
    "scenario demote": (("gert scenario demote first --runbook disk-check.yaml", "keep it, but do not run it"),),
    "scenario prune": (
        ("gert scenario prune --older 90d", "recordings that would be deleted"),
        ("gert scenario prune --older 90d --yes", "delete them"),
    ),
    "scenario scan": (("gert scenario scan scenarios/", "is there a token in any of them?"),),
    "graph": (
        ("gert graph disk-check.yaml", "as a tree, in the terminal"),
        ("gert graph disk-check.yaml -o disk-check.svg", "as a picture"),
        ("gert graph disk-check.yaml --format mermaid", "for a page in Markdown"),
        ("gert graph disk-check.yaml --run latest", "what became of each step"),
    ),
    "explain": (
        ("gert explain disk-check.yaml", "every step"),
        ("gert explain disk-check.yaml clear", "one step: what it touches, who decides, what a crash means"),
        ("gert explain disk-check.yaml clear --json", "for a script"),
    ),
    "tools list": (("gert tools list", "the tools of this project and of the installed packs"),),
    "tools show": (("gert tools show net/curl", "its actions, and a step to paste for each"),),
    "resume": (
        ("gert resume ID", "after an approval or a crash"),
        ("gert resume latest --retry-failed", "try the failed step of the newest run again"),
        ("gert resume ID --reconcile clear=done", "after finding out that the step was done"),
    ),
    "answer": (
        ("gert answer latest look", "be asked what the step asks"),
        ("gert answer latest look confirm=yes --as alice", "give the answers at once"),
        ("gert answer latest look --reject 'wrong rack'", "the step fails"),
    ),
    "approve": (("gert approve TICKET --as alice --reason 'change 4711'", "see `gert approvals list`"),),
    "reject": (("gert reject TICKET --as alice --reason 'not today'", "the step does not run"),),
    "approvals list": (
        ("gert approvals list", "pending requests"),
        ("gert approvals list --all", "everything"),
    ),
    "approvals show": (("gert approvals show TICKET", "the request in full"),),
    "approvals comment": (('gert approvals comment TICKET "which cluster is it?"', "ask, without answering"),),
    "approvals link": (
        ("gert approvals link TICKET --for alice", "an address for one person, at which she decides once"),
        ("gert approvals link TICKET --for alice --expires 15m", "for a short time only"),
    ),
    "runs list": (
        ("gert runs list", "all runs, the newest first"),
        ("gert runs list --status failed,error --since 7d", "what failed this week"),
        ("gert runs list --active --ids", "ids only, one per line, of runs that are not over"),
        ("gert runs list -n 5 --json", "for a script"),
    ),
    "runs artifacts": (("gert runs artifacts ID", "the files and values that its steps kept"),),
    "runs logs": (
        ("gert runs logs ID", "what its tools wrote"),
        ("gert runs logs ID STEP", "of one step only"),
        ("gert runs logs latest -f", "and what they write from now on"),
    ),
    "runs progress": (
        ("gert runs progress ID", "how far it is"),
        ("gert runs progress latest --follow --json", "every new value, a JSON document per line"),
    ),
    "runs block": (
        ("gert runs block ID --key change-freeze --reason 'until Monday'", "it cannot be resumed meanwhile"),
    ),
    "runs unblock": (("gert runs unblock ID --key change-freeze", "then `gert resume ID`"),),
    "runs show": (
        ("gert runs show ID", "its steps and where it would resume"),
        ("gert runs show latest", "the same of the newest run; the beginning of an id does, too"),
        ("gert runs show ID --follow", "what happens until it ends; exits as the run does"),
    ),
    "runs status": (("gert runs status ID --json", "status, last event, what it waits for, who executes it"),),
    "runs tail": (
        ("gert runs tail latest -n 20", "its last events"),
        ("gert runs tail latest --follow", "and those to come, until it ends"),
        ("gert runs tail ID --since-seq 40 --json", "the lines of the trace after event 40"),
    ),
    "runs verify-ledger": (("gert runs verify-ledger ID", "is its trace unchanged?"),),
    "runs summaries": (("gert runs summaries ID --type task_progress", "the latest of one type"),),
    "runs resume-point": (("gert runs resume-point ID", "where it would go on, and what it needs"),),
    "runs lease": (("gert runs lease ID", "which process executes it"),),
    "runs reconcile": (("gert runs reconcile ID clear=done", "after finding out that the step was done"),),
    "runs cleanup": (
        ("gert runs cleanup", "end what was killed and never resumed"),
        ("gert runs cleanup --older-than 2h", "if nothing happened for two hours"),
    ),
    "runs cancel": (("gert runs cancel ID --reason 'wrong server'", "stop it, wherever it is executed"),),
    "runs export": (
        ("gert runs export latest > trace.jsonl", "its trace"),
        ("gert runs export latest --out run.tar", "everything, to unpack below another runs directory"),
    ),
    "notify list": (
        ("gert notify list", "what was not delivered, and why"),
        ("gert notify list latest --all", "everything that the newest run owes or told"),
    ),
    "notify flush": (
        ("gert notify flush", "try what is due; every minute from cron"),
        ("gert notify flush ID --now", "after the receiver was repaired"),
    ),
    "notify drop": (("gert notify drop ID", "a notification, or all of a run"),),
    "store copy": (
        ("gert store copy file:runs sqlite:runs.db", "all runs that are over"),
        ("gert store copy file:runs sqlite:runs.db --run latest --move", "a run that goes on there"),
    ),
    "store upgrade": (("gert store upgrade --store sqlite:runs.db", "after an update of gert that asks for it"),),
    "runs prune": (
        ("gert runs prune --older-than 30d --dry-run", "what would be deleted"),
        ("gert runs prune --older-than 30d --keep 100 --status completed", "delete it, but keep the newest 100"),
    ),
    "trace verify": (
        ("gert trace verify runs/ID/trace.jsonl", "is it unchanged?"),
        ("gert trace verify runs/ID/trace.jsonl --key-id prod-2026", "and signed with this key?"),
    ),
    "trace show": (
        ("gert trace show runs/ID/trace.jsonl", "the timeline"),
        ("gert trace show runs/ID/trace.jsonl --type governance_decision", "only the decisions"),
    ),
    "policy explain": (
        ("gert policy explain disk-check.yaml", "the decision for every step, and why"),
        ("gert policy explain disk-check.yaml --policy strict.yaml", "with a further policy"),
    ),
    "plugins list": (("gert plugins list", "what is installed, in which state"),),
    "plugins show": (("gert plugins show step-assert", "what it provides"),),
    "plugins why": (
        ("gert plugins why step:wait", "which plugin provides the step type `wait`, or would"),
        ("gert plugins why tool:net/http", "which plugin and file a listed tool comes from"),
        ("gert plugins why policy", "which plugins have policies; also `diagnostics`, `observer` and `checks`"),
    ),
    "doctor": (
        ("gert doctor", "what is wrong here, and what to do"),
        ("gert doctor --json", "for a script; exit code 1 when something fails"),
    ),
    "schema": (
        ("gert schema > runbook.schema.json", "for your editor"),
        ("gert schema policy --json", "another kind, on one line"),
        ("gert schema behaviour", "hooks, statuses, events, kinds and more, for other programs"),
    ),
    "init": (("gert init", "start here"), ("gert init my-runbooks", "start in a new directory")),
    "new runbook": (("gert new runbook restart-web", "restart-web.yaml, with a scenario"),),
    "new tool": (("gert new tool systemctl", "tools/systemctl.tool.yaml"),),
    "new scenario": (("gert new scenario disk-full --runbook disk-check.yaml", "with answers to fill in"),),
    "new plugin": (
        ("gert new plugin step-sleep", "a step type"),
        ("gert new plugin approval-chat", "a way to ask for approvals"),
        ("gert new plugin notify-chat", "a way to tell people how runs end"),
        ("gert new plugin policy-acme", "rules for everybody"),
        ("gert new plugin guard-acme", "checks of runbooks, and rules that depend on the project"),
    ),
    "keys new": (
        ("gert keys new alice", "for approvals: what alice keeps, and what others are given"),
        ("gert keys new prod-2026 --for trace", "for traces"),
    ),
    "keys show": (("gert keys show --for trace", "the public part of the key in the environment"),),
    "completion": (
        ("gert completion bash > ~/.local/share/bash-completion/completions/gert", "bash"),
        ("gert completion zsh > ~/.zfunc/_gert", "zsh, with ~/.zfunc in $fpath"),
        ("gert completion fish > ~/.config/fish/completions/gert.fish", "fish"),
    ),
}
"""By command, as typed after ``gert``: what to type, and what it is for."""


def lines(command: str, *, width: int | None = None) -> list[str]:
    """Return the examples of a command for a terminal of this width; of a group, the first one of each command."""
    found = EXAMPLES.get(command) or [
        examples[0] for name, examples in EXAMPLES.items() if name.startswith(f"{command} ")
    ]
    return examples_of(found, width=width)


__all__ = ["EXAMPLES", "lines"]
