"""Continuing a run from its trace."""
