"""Helpers that plugins may use besides the API: processes, tickets, comparing, logging, wire formats, step models."""
