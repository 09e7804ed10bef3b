"""The line-up: a value that was random by design, among others drawn just as it was."""

from divulge.games.lineup.play import lineup

__all__ = ["lineup"]
