"""Keeps approval tickets as files in the run directory."""
