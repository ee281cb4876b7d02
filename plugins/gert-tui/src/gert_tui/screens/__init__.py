"""The screens: lists, a run, pages of text and forms."""
