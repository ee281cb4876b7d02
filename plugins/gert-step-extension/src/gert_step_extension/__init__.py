"""Runs a step through an external runner program over JSON-RPC."""
