"""Documents: runbooks, tools, policies, projects and scenarios, read from YAML with positions."""
