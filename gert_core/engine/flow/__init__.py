"""Which steps run, in which order and at the same time."""
