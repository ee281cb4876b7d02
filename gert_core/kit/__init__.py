"""What plugins may use besides the API: processes, tickets, comparing, wire formats, step models."""
