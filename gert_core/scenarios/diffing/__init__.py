"""Differences between what scenarios came to before and come to now."""
