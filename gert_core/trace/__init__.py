"""The trace of a run: writing it as a hash chain, reading, signing and verifying it."""
