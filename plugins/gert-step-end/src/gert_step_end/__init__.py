"""Ends the run with a structured outcome."""
