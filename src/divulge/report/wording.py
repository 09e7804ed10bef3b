"""Words for the keys of a result, each game's own among them; any value in a shape to be shown."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from divulge.report import canary_words, leakage_words, posterior_words, synthetic_words
from divulge.report.shared_words import CHECKS as CHECKS
from divulge.report.shared_words import LABELS as LABELS
from divulge.report.shared_words import ROUNDED_UP
from divulge.text import rounding
from divulge.text.rounding import percent as percent
from divulge.text.visible import visible as visible

STATUS_CLASSES = {"leak": "leak", "no evidence": "clear", "cannot conclude": "open"}

QUESTIONS = {
    "membership": "Can somebody who sees the model tell whether a record was used to train it?",
    "attribute": "Does the model give away the label, or a protected column, of the records it was "
    "trained on, beyond what the rest of the record tells anyway?",
    "retraining": "How well can somebody tell models trained with a record from models trained "
    "without it?",
    "synthetic": synthetic_words.QUESTION,
    "leakage": leakage_words.QUESTION,
    "canaries": canary_words.QUESTION,
}
"""What each game asks, for a reader who has not met it."""

MEANINGS = {
    "leak": "The audit proved that the model gives away at least this much about records it was "
    "trained on. It is a lower bound: the true leakage may be larger.",
    "no evidence": "The audit did not prove a leak. That does not make the model safe: more "
    "trials or a stronger attack may still prove one.",
    "cannot conclude": "The data at hand allow no answer in either direction, so no number is "
    "claimed.",
    "computed": leakage_words.MEANING,
}


@dataclass(frozen=True)
class Words:
    """How one game speaks of its trials: phrases that captions, axes and tables share."""

    yes: str
    """The trials whose truth is yes, and below those whose truth is no."""
    no: str
    each: str
    """What one trial shows, and below what it is if its truth is yes."""
    one: str
    taken: str
    """What happens to a trial that the attack says yes to."""
    happened: str
    """What an observer would like to know, as a sentence."""
    tell_apart: str
    judgement: str
    """What says, without the model, how likely a yes is."""
    doubt: str
    """The judgement at fault, and below what would be at fault, each within a sentence."""
    hidden: str
    labels: Mapping[str, str] = field(default_factory=lambda: LABELS, repr=False)
    checks: Mapping[str, tuple[str, str]] = field(default_factory=lambda: CHECKS, repr=False)


MEMBERSHIP = Words(
    yes="members",
    no="non-members",
    each="a record",
    one="a member",
    taken="accused",
    happened="a record was used",
    tell_apart="tell members apart",
    judgement="judgement of who looks like a member",
    doubt="the groups were judged wrongly",
    hidden="hidden difference between the groups",
)

ATTRIBUTE = Words(
    yes="true values",
    no="drawn values",
    each="a value shown",
    one="a true value",
    taken="taken for true",
    happened="the value shown is the true one",
    tell_apart="tell true values from drawn ones",
    judgement="proxy's judgement of which values are likely",
    doubt="the proxy is wrong",
    hidden="error of the proxy",
    labels={
        **LABELS,
        "allowance_epsilon": "deducted from epsilon for errors of the proxy",
        "allowance_mu": "deducted from mu for errors of the proxy",
        "c_lb": "given away without the model (c, at least)",
        "c_plus_epsilon_lb": "given away with the model and without (c + epsilon, at least)",
        "drawn": "drawn values shown",
        "epsilon_tilde": "epsilon less what is given away without the model (a measurement, not a "
        "bound)",
        "fpr": "drawn values taken for true",
        "negative_control_epsilon": "epsilon on held-out records, which the model never saw",
        "real": "true values shown",
        "tpr": "true values recognised",
        "tpr_at_fpr": "true values recognised at a share of drawn values taken for true",
    },
    checks={
        **CHECKS,
        "blind": (
            "What is given away without the model?",
            "A learner that sees the record and the value shown, but not the model, tries to tell "
            "true values from drawn ones: what it achieves is an error of the proxy, not a leak; "
            "0 is best.",
        ),
        "negative_control": (
            "Does the audit stay silent on records that the model never saw?",
            "The same audit on held-out records, which the model never saw. Anything above 0 is an "
            "error of the proxy, not a leak.",
        ),
    },
)

SYNTHETIC = Words(
    yes="members",
    no="generated records",
    each="a record",
    one="a member",
    taken="taken for members",
    happened="a record was used",
    tell_apart="tell members from generated records",
    judgement="judgement of which records look real",
    doubt="records were judged wrongly",
    hidden="hidden flaw of the generator",
    labels={**LABELS, **synthetic_words.LABELS},
    checks={**synthetic_words.CHECKS, **CHECKS, **synthetic_words.CHECKS},
)

LEAKAGE = Words(
    yes="records in the mean",
    no="records outside",
    each="a record",
    one="in the mean",
    taken="accused",
    happened="a record is in the mean",
    tell_apart="tell records in the mean from others",
    judgement="model of the mean",
    doubt="the model of the mean is wrong",
    hidden="error of the model",
    labels=leakage_words.labels(LABELS),
    checks={**leakage_words.CHECKS, **CHECKS},
)

CANARIES = Words(
    yes="included canaries",
    no="excluded canaries",
    each="a canary",
    one="an included one",
    taken="taken for included",
    happened="a canary was used",
    tell_apart="tell included canaries from excluded ones",
    judgement="coin",
    doubt="the coins were not fair",
    hidden="hidden unfairness of the coins",
    labels={**LABELS, **canary_words.LABELS},
    checks={**canary_words.CHECKS, **CHECKS},
)

RETRAINING = Words(
    yes="models trained with the record",
    no="models trained without it",
    each="a model",
    one="trained with the record",
    taken="taken for trained with the record",
    happened="the record was used",
    tell_apart="tell models trained with a record from models trained without it",
    judgement="prior",
    doubt="the priors are wrong",
    hidden="error of the prior",
    labels={**LABELS, **posterior_words.LABELS},
    checks=posterior_words.CHECKS,
)

GAMES = {
    "attribute": ATTRIBUTE,
    "canaries": CANARIES,
    "leakage": LEAKAGE,
    "retraining": RETRAINING,
    "synthetic": SYNTHETIC,
}


def words(game: str) -> Words:
    """The words of a game; those of membership for a game without its own."""
    return GAMES.get(game, MEMBERSHIP)


DEPTH = 4
ITEMS = 20
ROWS = 200
"""The longest table."""


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


def label(key: str, labels: Mapping[str, str] = LABELS) -> str:
    """Words for a key: ours if we know it, else a plain key with its underscores opened."""
    if re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", key) and len(key) <= 40:
        return labels.get(key, key.replace("_", " "))
    return key or "(no name)"


def finite(value: Any) -> float | None:
    """A number that can be drawn and rounded, or None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if -1e300 < value < 1e300 else None


def number(value: float) -> str:
    """At most three decimals, or three digits if it is small; rounded towards the smaller claim."""
    return rounding.short(value)


def agreement(proxy: Any) -> str:
    """What the entry ``proxy`` says of trials that carry no information; empty if nothing."""
    share = finite(proxy.get("agreement")) if isinstance(proxy, Mapping) else None
    if share is None or not 0.0 <= share <= 1.0:
        return ""
    return (
        f"In {percent(share, 1)} of the records the drawn value would equal the true one; these "
        "trials carry no information."
    )


def replays(repetitions: Any) -> str:
    """What the entry ``repetitions`` proves; empty if nothing."""
    given = repetitions if isinstance(repetitions, Mapping) else {}
    found = [(name, finite(given.get(f"combined_{name}"))) for name in ("epsilon", "mu")]
    parts = [f"{name} at least {number(value)}" for name, value in found if value is not None]
    if not parts:
        return ""
    count = finite(given.get("count"))
    many = f"{count:.0f} replays" if count is not None and count >= 0 else "All replays"
    return (
        f"{many} of the coin flips combined: {' and '.join(parts)}. A mean over replays is not a "
        "bound."
    )


def shape(
    value: Any, labels: Mapping[str, str] = LABELS, depth: int = 0, up: bool = False
) -> Shape:
    """Any plain JSON value, nested or not, in a shape that can be shown."""
    if depth >= DEPTH and isinstance(value, Mapping | list):
        return Shape(_short(json.dumps(value, ensure_ascii=False)))
    if isinstance(value, Mapping):
        parts = (
            (label(str(k), labels), shape(v, labels, depth + 1, up or k in ROUNDED_UP))
            for k, v in value.items()
        )
        return Shape(pairs=tuple(parts))
    if isinstance(value, list):
        return _listed(value, labels, depth, up)
    if value is None:
        return Shape("not computed")
    if isinstance(value, bool):
        return Shape("yes" if value else "no")
    if isinstance(value, int | float):
        rounded = rounding.rounded_up if up else rounding.short
        return Shape(rounded(value) if isinstance(value, float) else str(value), numeric=True)
    return Shape(str(value))


def _listed(values: list[Any], labels: Mapping[str, str], depth: int, up: bool) -> Shape:
    """A table if the entries are mappings, else one line."""
    if values and all(isinstance(v, Mapping) and v for v in values):
        keys = list(dict.fromkeys(k for v in values[:ROWS] for k in v))
        rows = [
            tuple(
                shape(v[k], labels, depth + 1, up or k in ROUNDED_UP) if k in v else Shape()
                for k in keys
            )
            for v in values[:ROWS]
        ]
        if len(values) > ROWS:
            rows.append((Shape(f"… and {len(values) - ROWS} more"), *[Shape()] * (len(keys) - 1)))
        return Shape(columns=tuple(label(str(k), labels) for k in keys), rows=tuple(rows))
    if any(isinstance(v, Mapping | list) for v in values):
        shapes = [shape(v, labels, depth + 1, up) for v in values[:ITEMS]]
        rest = [("…", Shape(f"and {len(values) - ITEMS} more"))] if len(values) > ITEMS else []
        return Shape(pairs=(*((str(i), s) for i, s in enumerate(shapes, 1)), *rest))
    parts = [shape(v, labels, depth + 1, up).text for v in values[:ITEMS]]
    more = f" … and {len(values) - ITEMS} more" if len(values) > ITEMS else ""
    return Shape(", ".join(parts) + more if parts else "none")


def _short(text: str, limit: int = 300) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
