"""Asks for approvals at the terminal."""
