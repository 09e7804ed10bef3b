"""The leakage game: how exposed each record is through a released mean. Computed, not proved."""

from divulge.games.leakage.play import leakage

__all__ = ["leakage"]
