"""From trials to what is proved: the one pipeline, with its controls and measures."""
