"""Helpers that plugins may use besides the API: processes, tickets, comparing, display, logs, wire formats, models."""
