"""The commands of gert, one module per verb; ``gert_core.cli.verbs`` lists them."""
