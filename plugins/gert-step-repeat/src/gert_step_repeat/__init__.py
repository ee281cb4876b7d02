"""Repeats a block of steps up to a bound, until a condition holds."""
