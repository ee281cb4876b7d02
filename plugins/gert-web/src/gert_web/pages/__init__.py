"""The pages of ``gert web``."""
