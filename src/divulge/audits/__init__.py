"""Which game fits what somebody has, and the audit that follows from it."""

from divulge.audits.play import audit
from divulge.audits.which_game import Choice, choose

__all__ = ["Choice", "audit", "choose"]
