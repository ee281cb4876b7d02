"""Part of gert_core."""
