"""Words for the keys of a result, and any value in a shape that a page can show."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Decimal
from typing import Any

STATUS_CLASSES = {"leak": "leak", "no evidence": "clear", "cannot conclude": "open"}

QUESTIONS = {
    "membership": "Can somebody who sees the model tell whether a record was used to train it?",
    "attribute": "Can somebody who sees the model learn what a training record kept to itself?",
    "synthetic": "Can somebody who sees the model tell its training records from synthetic ones?",
}
"""What each game asks, for a reader who has not met it."""

MEANINGS = {
    "leak": "The audit proved that the model gives away at least this much about records it was "
    "trained on. It is a lower bound: the true leakage may be larger.",
    "no evidence": "The audit did not prove a leak. That does not make the model safe: more "
    "trials or a stronger attack may still prove one.",
    "cannot conclude": "The data at hand allow no answer in either direction, so no number is "
    "claimed.",
}

CHECKS = {
    "blind": (
        "What does the record alone give away?",
        "A learner that never sees the model tries to tell members apart. What it achieves is a "
        "difference between the groups, not a leak of the model; 0 is best.",
    ),
    "negative_control": (
        "Does a model that never saw the members stay silent?",
        "The same audit on a reference model. Anything above 0 is an error of the audit.",
    ),
    "duplicates": ("Do records stand in both groups?", ""),
    "draw": ("How were the trials drawn?", ""),
    "nuisance": ("How good are the helper models?", ""),
}
"""Diagnostics shown as tables, in this order: heading and how to read them."""

LABELS = {
    "allowance_epsilon": "deducted from epsilon for shift that may have been missed",
    "allowance_mu": "deducted from mu for shift that may have been missed",
    "auc_of_residual_score": "area under the curve after what the record explains is taken out",
    "auc": "area under the curve (0.5 is guessing)",
    "c_lb": "given away by the record alone (c, at least)",
    "c_plus_epsilon_lb": "given away by record and model together (c + epsilon, at least)",
    "epsilon_tilde": "epsilon less what the record alone gives away (a measurement, not a bound)",
    "fpr": "non-members accused",
    "gamma_star": "odds ratio that would explain the finding away (Gamma*)",
    "goal": "wealth to reach",
    "log_loss": "log-loss",
    "lower": "lower value reported",
    "members_kept": "members kept",
    "negative_control_epsilon": "epsilon of a reference model that never saw the members",
    "nonmembers": "non-members",
    "nonmembers_kept": "non-members kept",
    "pool_members": "members brought",
    "pool_nonmembers": "non-members brought",
    "point": "value without resampling",
    "sha256": "SHA-256",
    "share_within": "share of the records within the overlap",
    "tpr": "members recognised",
    "tpr_at_fpr": "members recognised at a share of non-members accused",
}

DEPTH = 4
ITEMS = 20

# Marks and overrides of writing direction; right-to-left letters need none of them.
_TURNS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


@dataclass(frozen=True)
class Shape:
    """A value ready to be shown: one text, pairs of label and shape, or a table."""

    text: str = ""
    pairs: tuple[tuple[str, Shape], ...] = ()
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[Shape, ...], ...] = ()
    numeric: bool = False

    @property
    def empty(self) -> bool:
        """Whether there is nothing to show."""
        return not (self.text or self.pairs or self.rows)


def label(key: str) -> str:
    """Words for a key: ours if we know it, else a plain key with its underscores opened."""
    if re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", key) and len(key) <= 40:
        return LABELS.get(key, key.replace("_", " "))
    return key or "(no name)"


def visible(text: str) -> str:
    """The text with what would be invisible, or would turn its direction, spelled out."""
    return "".join(f"⟨U+{ord(c):04X}⟩" if c in _TURNS or _unseen(c) else c for c in text)


def percent(share: float) -> str:
    """``95%``, ``97.5%``; rounded down, so that 99.9996% is not shown as 100%."""
    return f"{_floored(100 * Decimal(repr(share)), 3)}%"


def number(value: float) -> str:
    """At most three decimals, or three digits if it is small; rounded towards the smaller claim."""
    exact = Decimal(repr(value))
    if not exact.is_finite():
        return str(value)
    if abs(exact) >= Decimal("1e15"):
        return f"{value:g}"
    digits = 3 if exact == 0 or abs(exact) >= Decimal("0.01") else 2 - exact.adjusted()
    return _floored(exact, digits) if digits <= 6 else f"{value:.3g}"


def shape(value: Any, depth: int = 0) -> Shape:
    """Any plain JSON value, nested or not, in a shape that can be shown."""
    if depth >= DEPTH and isinstance(value, Mapping | list):
        return Shape(_short(json.dumps(value, ensure_ascii=False)))
    if isinstance(value, Mapping):
        return Shape(pairs=tuple((label(str(k)), shape(v, depth + 1)) for k, v in value.items()))
    if isinstance(value, list):
        return _listed(value, depth)
    if value is None:
        return Shape("not computed")
    if isinstance(value, bool):
        return Shape("yes" if value else "no")
    if isinstance(value, int | float):
        return Shape(number(value) if isinstance(value, float) else str(value), numeric=True)
    return Shape(str(value))


def _unseen(character: str) -> bool:
    """Control characters but for white space, and halves of surrogate pairs."""
    return unicodedata.category(character) in ("Cc", "Cs") and character not in "\t\n\r"


def _listed(values: list[Any], depth: int) -> Shape:
    """A table if the entries are mappings, else one line."""
    if values and all(isinstance(v, Mapping) and v for v in values):
        keys = list(dict.fromkeys(k for v in values for k in v))
        rows = tuple(
            tuple(shape(v[k], depth + 1) if k in v else Shape() for k in keys) for v in values
        )
        return Shape(columns=tuple(label(str(k)) for k in keys), rows=rows)
    if any(isinstance(v, Mapping | list) for v in values):
        shapes = [shape(v, depth + 1) for v in values[:ITEMS]]
        rest = [("…", Shape(f"and {len(values) - ITEMS} more"))] if len(values) > ITEMS else []
        return Shape(pairs=(*((str(i), s) for i, s in enumerate(shapes, 1)), *rest))
    parts = [shape(v, depth + 1).text for v in values[:ITEMS]]
    more = f" … and {len(values) - ITEMS} more" if len(values) > ITEMS else ""
    return Shape(", ".join(parts) + more if parts else "none")


def _floored(exact: Decimal, digits: int) -> str:
    text = f"{exact.quantize(Decimal(1).scaleb(-digits), rounding=ROUND_FLOOR):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _short(text: str, limit: int = 300) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
