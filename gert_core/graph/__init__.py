"""Graphs of runbooks: the steps and how they follow each other, as text, Mermaid, DOT or SVG."""
