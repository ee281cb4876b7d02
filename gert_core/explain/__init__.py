"""What can be said about a runbook's steps and about tools before anything runs."""
