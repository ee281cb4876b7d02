"""Runs several blocks at the same time with forked state."""
