"""Show a contract in one line."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gert_core.api import Contract


def contract_line(contract: Contract) -> str:
    """Return what a contract declares: effects, writes, reads, and whether it may be repeated."""
    parts = [
        f"{name} {', '.join(tags) or 'none'}"
        for name, tags in (("effects", contract.effects), ("writes", contract.writes), ("reads", contract.reads))
    ]
    if contract.writing and not contract.writes:
        parts.append("counts as writing because it declares too little")
    parts.append("idempotent" if contract.idempotent else "not idempotent")
    parts.append("deterministic" if contract.deterministic else "not deterministic")
    return "; ".join(parts)


__all__ = ["contract_line"]
