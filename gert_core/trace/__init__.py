"""The trace of a run: written as a chain, read, verified and folded."""
