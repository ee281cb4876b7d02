"""The engine: prepares, executes and resumes runs."""
