"""What is stated: frozen records with a versioned JSON form."""

from divulge.result.diagnostics import Diagnostics
from divulge.result.form import plain
from divulge.result.of_posterior import PosteriorRecord
from divulge.result.record import SCHEMA, Bound, Result, Verdict, json_schema
from divulge.text.rounding import floor_to

__all__ = [
    "SCHEMA",
    "Bound",
    "Diagnostics",
    "PosteriorRecord",
    "Result",
    "Verdict",
    "floor_to",
    "json_schema",
    "plain",
]
