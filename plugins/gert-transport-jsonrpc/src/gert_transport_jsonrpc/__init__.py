"""Calls tools in one persistent JSON-RPC process per run."""
