"""What is stated: frozen records with a versioned JSON form."""

from divulge.result.form import SCHEMA
from divulge.result.record import Bound, Result, Verdict, plain
from divulge.text.rounding import floor_to

__all__ = ["SCHEMA", "Bound", "Result", "Verdict", "floor_to", "plain"]
