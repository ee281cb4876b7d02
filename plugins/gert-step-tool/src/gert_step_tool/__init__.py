"""Runs an action of a declared tool as a runbook step."""
