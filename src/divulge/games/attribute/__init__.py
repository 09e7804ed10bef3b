"""The attribute game: is the value shown with a training record its own, or a drawn one?"""

from divulge.games.attribute.play import attribute, audit_records

__all__ = ["attribute", "audit_records"]
