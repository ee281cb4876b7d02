"""Where runs stand: status, progress, what they wait for and what they kept, all computed from the fold."""
