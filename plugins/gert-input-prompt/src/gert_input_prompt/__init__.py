"""Asks for inputs at the terminal."""
