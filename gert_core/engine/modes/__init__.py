"""The backends of the modes: real, dry-run, probe and replay."""
