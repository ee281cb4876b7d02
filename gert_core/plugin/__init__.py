"""Plugins: discovery, selection, loading, and the registry of what they provide."""
