"""JSON-RPC 2.0 over the standard streams of a child process."""
