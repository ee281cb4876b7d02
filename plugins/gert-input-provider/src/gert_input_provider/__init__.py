"""Reads inputs from provider programs over JSON-RPC."""
