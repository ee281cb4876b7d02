"""Runs tools as one process per call."""
