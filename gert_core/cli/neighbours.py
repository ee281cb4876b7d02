"""The commands of gert for people who type those of other tools."""

from __future__ import annotations

from typing import Final

_NEIGHBOURS: Final = {
    "exec RUNBOOK": ("run", "apply", "play", "playbook", "start", "execute", "launch", "deploy", "up", "go", "do"),
    "validate FILE": ("lint", "check", "verify", "syntax-check", "fmt", "compile"),
    "exec RUNBOOK --mode dry-run": ("plan", "dry-run", "dryrun", "preview", "simulate"),
    "exec RUNBOOK --mode replay --scenario NAME": ("replay",),
    "runs list": ("ps", "list", "ls", "history", "executions", "jobs", "job", "get"),
    "runs logs ID": ("log", "logs", "output", "tail"),
    "runs status ID": ("status", "state", "info"),
    "runs show ID": ("show", "describe", "inspect"),
    "resume ID": ("retry", "continue", "rerun", "restart", "unpause"),
    "runs block ID --key KEY": ("pause", "hold"),
    "runs reconcile ID KEY=done": ("reconcile",),
    "approvals list": ("pending", "tickets", "inbox"),
    "graph RUNBOOK": ("tree", "draw", "visualize", "flow"),
    "explain RUNBOOK": ("why", "doc", "docs"),
    "tools list": ("actions", "modules", "galaxy"),
    "plugins list": ("plugin", "extensions"),
    "new runbook NAME": ("create", "add", "generate", "scaffold"),
    "keys new NAME": ("keygen", "key"),
    "runs prune": ("prune", "clean", "cleanup", "gc", "delete", "destroy", "rm"),
    "--help": ("help", "man", "usage"),
    "--version": ("version",),
}
"""By what to type instead: the words of Ansible, kubectl, Terraform, Rundeck, make and others."""


def neighbour(verb: str) -> str | None:
    """Return a hint for a word that is a command elsewhere."""
    for command, words in _NEIGHBOURS.items():
        if verb.lower() in words:
            return f"that is `gert {command}` here"
    return None


__all__ = ["neighbour"]
