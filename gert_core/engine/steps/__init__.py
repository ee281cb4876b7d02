"""One step of a run, from opening to its last event."""
