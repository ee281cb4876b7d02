"""Checks values against expectations and reports expected and actual."""
