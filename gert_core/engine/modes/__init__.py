"""What stands behind the step context in each mode."""
