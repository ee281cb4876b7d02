"""Builds the reference pages that come from the code."""
