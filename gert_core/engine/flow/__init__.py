"""Flow: lists of steps, concurrent blocks and loops."""
