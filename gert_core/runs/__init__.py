"""Runs read from their traces: state, fold, cache, result and directory."""
