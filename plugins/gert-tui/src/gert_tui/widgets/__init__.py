"""The parts that screens consist of."""
