"""Where gert keeps what outlives a single run."""
