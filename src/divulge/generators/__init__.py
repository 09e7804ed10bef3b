"""Where do synthetic records come from? One small interface, one file per kind of generator."""
