"""Reads inputs from environment variables."""
