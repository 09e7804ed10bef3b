"""The retraining game: epsilon from the error counts of attacks on retrained models."""

from divulge.games.retraining.play import ErrorCounts, Estimate, audit, estimate, retraining

__all__ = ["ErrorCounts", "Estimate", "audit", "estimate", "retraining"]
