"""The membership game: known members against known non-members, after the fact."""

from divulge.games.membership.play import audit_pools, membership
from divulge.games.membership.pools import Pools
from divulge.games.membership.read import read_pools

__all__ = ["Pools", "audit_pools", "membership", "read_pools"]
