"""Runs as their traces tell them: state, fold, cache, result and directory."""
