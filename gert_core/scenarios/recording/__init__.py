"""Recordings: scenarios that are made of finished runs, proven by replaying them, and kept with their traces."""
