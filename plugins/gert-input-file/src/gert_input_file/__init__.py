"""Reads inputs from files."""
