"""Asks a person to do something and collects the evidence."""
