"""Takes the first arm whose condition is true."""
