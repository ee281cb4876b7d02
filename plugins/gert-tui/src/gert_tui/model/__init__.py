"""What the screens show of a run, without anything of a screen."""
