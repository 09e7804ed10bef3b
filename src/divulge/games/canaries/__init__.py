"""The canary game: coins or secrets that a plan draws before training, guessed afterwards."""

from divulge.games.canaries.planning import Plan
from divulge.games.canaries.plans import load, plan
from divulge.games.canaries.planting import LineUpPlan
from divulge.games.canaries.play import audit, audit_trials, write_plan
from divulge.games.canaries.rehearsing import rehearse, rehearse_table

__all__ = [
    "LineUpPlan",
    "Plan",
    "audit",
    "audit_trials",
    "load",
    "plan",
    "rehearse",
    "rehearse_table",
    "write_plan",
]
