"""Stores of runs: choosing one, and the one that keeps each run in a directory."""
