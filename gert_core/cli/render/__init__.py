"""Text for people and documents for programs: terminal, progress, timeline, findings and results."""
