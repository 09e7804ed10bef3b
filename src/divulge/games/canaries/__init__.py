"""The canary game: records included by coin flips before training, guessed afterwards."""

from divulge.games.canaries.planning import Plan, plan
from divulge.games.canaries.play import audit, audit_trials, write_plan

__all__ = ["Plan", "audit", "audit_trials", "plan", "write_plan"]
