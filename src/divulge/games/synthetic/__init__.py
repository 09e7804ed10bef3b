"""The synthetic game: members alone, with generated records in place of non-members."""

from divulge.games.synthetic.play import synthetic

__all__ = ["synthetic"]
