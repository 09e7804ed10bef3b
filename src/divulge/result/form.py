"""Is this JSON a result? Every type and range is checked, with the place of what is wrong.

What the verdict and the bounds hold is checked whole. Of measurements and diagnostics, which differ
from game to game, what a report draws or rounds is checked; other keys are let through as they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from divulge.errors import InputError

SCHEMA = 1
PARAMETERS = ("mu", "epsilon")
STATUSES = ("leak", "no evidence", "cannot conclude", "computed")
CORRECTIONS = ("none", "composition", "conditional", "signed", "balanced", "prior", "tau")
"""Every correction that a bound of any game can have."""
MOST_BOUNDS = 10_000
_SLACK = 1e-9
"""By so much a share may miss its range, as sums of floating-point numbers do."""


@dataclass(frozen=True)
class Field:
    """A value and its place in the document."""

    value: Any
    place: str = ""

    def wrong(self, rule: str) -> NoReturn:
        """InputError with the place, the rule and what was found."""
        found = repr(self.value)
        shown = found if len(found) <= 60 else found[:59] + "…"
        raise InputError(f"Not a divulge result: {self.place} must be {rule}. Found {shown}.")

    def mapping(self) -> Mapping[str, Any]:
        """An object whose keys are text."""
        if not isinstance(self.value, Mapping) or not all(isinstance(k, str) for k in self.value):
            self.wrong("an object")
        return self.value

    def at(self, key: str) -> Field:
        """What stands under a key that must be there."""
        place = f"{self.place}.{key}" if self.place else key
        if key not in self.mapping():
            raise InputError(f"Not a divulge result: {place} is missing.")
        return Field(self.value[key], place)

    def maybe(self, key: str, default: Any) -> Field:
        """What stands under a key that may be missing."""
        return self.at(key) if key in self.mapping() else Field(default, key)

    def items(self) -> list[Field]:
        """The entries of a list."""
        if not isinstance(self.value, list | tuple):
            self.wrong("a list")
        return [Field(v, f"{self.place}[{i}]") for i, v in enumerate(self.value)]

    def text(self) -> str:
        """A text."""
        return self.value if isinstance(self.value, str) else self.wrong("a text")

    def boolean(self) -> bool:
        """True or false, and not a word or number for it."""
        return self.value if isinstance(self.value, bool) else self.wrong("true or false")

    def choice(self, allowed: tuple[str, ...]) -> str:
        """One of a few texts."""
        if not isinstance(self.value, str) or self.value not in allowed:
            self.wrong("one of " + ", ".join(allowed))
        return self.value

    def number(
        self, rule: str = "a finite number", fits: Callable[[float], bool] = math.isfinite
    ) -> float:
        """A number that fits a rule; a boolean is not a number."""
        known = not isinstance(self.value, bool) and isinstance(self.value, int | float)
        if not known or not math.isfinite(self.value) or not fits(self.value):
            self.wrong(rule)
        return float(self.value)


def texts(field: Field) -> tuple[str, ...]:
    """A list of texts."""
    return tuple(entry.text() for entry in field.items())


def checked_bound(field: Field) -> dict[str, Any]:
    """The fields of a bound."""
    parameter = field.at("parameter").choice(PARAMETERS)
    delta = field.maybe("delta", None)
    if parameter == "mu":
        if delta.value is not None:
            delta.wrong("null for mu")
    else:
        delta.number("a number in [0, 1)", lambda v: 0.0 <= v < 1.0)
    return {
        "parameter": parameter,
        "delta": None if delta.value is None else float(delta.value),
        "value": field.at("value").number("a finite number of at least 0", lambda v: v >= 0.0),
        "confidence": field.at("confidence").number("a number in (0, 1)", lambda v: 0.0 < v < 1.0),
        "method": field.at("method").text(),
        "correction": field.at("correction").choice(CORRECTIONS),
        "headline": field.at("headline").boolean(),
        "theorem": field.maybe("theorem", "").text(),
        "assumptions": texts(field.maybe("assumptions", ())),
    }


def checked_verdict(field: Field) -> dict[str, Any]:
    """The fields of a verdict."""
    status = field.at("status").choice(STATUSES)
    robust = field.at("robust")
    if robust.boolean() and status in ("cannot conclude", "computed"):
        robust.wrong(f"false where the status is {status!r}")
    return {
        "status": status,
        "robust": robust.value,
        "sentence": field.at("sentence").text(),
        "reasons": texts(field.maybe("reasons", ())),
    }


def checked_bounds(field: Field) -> list[dict[str, Any]]:
    """The fields of every bound."""
    entries = field.items()
    if len(entries) > MOST_BOUNDS:
        field.wrong(f"a list of at most {MOST_BOUNDS} bounds")
    return [checked_bound(entry) for entry in entries]


def checked_measurements(field: Field) -> Mapping[str, Any]:
    """Numbers, words, and objects or lists of them; rates and areas are shares."""
    for key in field.mapping():
        entry = field.at(key)
        if key in _SHARES and entry.value is not None:
            entry.number("a number in [0, 1]", _share)
        elif key == "tpr_at_fpr":
            for rate in entry.mapping():
                _known(entry.at(rate), "a number in [0, 1] or null", _share)
        elif key in _FIGURES:
            _known(entry, "a finite number or null")
    return field.mapping()


def checked_diagnostics(field: Field) -> Mapping[str, Any]:
    """Everything that a chart draws is a list of numbers, side by side as long as each other."""
    for key in field.mapping():
        for path, shares in _SERIES.get(key, {}).items():
            for entry in _found(field.at(key), path.split(".")):
                rule = "a number in [0, 1] or null" if shares else "a finite number or null"
                for one in entry.items():
                    _known(one, rule, _share if shares else math.isfinite)
        for path in _NUMBERS.get(key, ()):
            for entry in _found(field.at(key), path.split(".")):
                _known(entry, "a finite number or null")
    return field.mapping()


def checked_posterior(field: Field) -> Mapping[str, Any] | None:
    """Quantiles are numbers, here and in the entries ``by_delta``."""
    if field.value is None:
        return None
    for path in (*_QUANTILES, *(f"by_delta.*.{path}" for path in (*_QUANTILES, "delta"))):
        for entry in _found(field, path.split(".")):
            _known(entry, "a finite number or null")
    return field.mapping()


def _found(field: Field, path: list[str]) -> list[Field]:
    """What stands at the end of a path; ``*`` stands for every entry of a list or an object."""
    if not path or field.value is None:
        return [field] if not path else []
    key, rest = path[0], path[1:]
    if key != "*":
        return _found(field.at(key), rest) if key in field.mapping() else []
    entries = [field.at(k) for k in field.value] if isinstance(field.value, dict) else field.items()
    return [found for entry in entries for found in _found(entry, rest)]


def _known(field: Field, rule: str, fits: Callable[[float], bool] = math.isfinite) -> None:
    if field.value is not None:
        field.number(rule, fits)


def _share(value: float) -> bool:
    return -_SLACK <= value <= 1.0 + _SLACK


_SHARES = frozenset(
    ("auc", "auc_of_residual_score", "agreement", "false_positive_rate", "false_negative_rate")
)
_FIGURES = frozenset(
    (
        "allowance_epsilon", "allowance_mu", "c_lb", "c_plus_epsilon_lb", "epsilon_tilde",
        "gamma_star", "gdp_equivalent_epsilon", "heldout_epsilon", "negative_control_epsilon",
        "one_run_epsilon", "real_nonmembers_c_lb", "real_nonmembers_epsilon",
        "repetitions_epsilon_mean", "repetitions_epsilon_sd", "residual_c_lb",
    )
)  # fmt: skip
_QUANTILES = tuple(
    f"{what}.{quantile}"
    for what in ("epsilon", "strength", "if_strongest_attack")
    for quantile in ("q05", "q50", "q95")
)
_SERIES: Mapping[str, Mapping[str, bool]] = {
    "overlap": {
        "edges": True, "members": False, "nonmembers": False, "members_kept": False,
        "nonmembers_kept": False,
    },
    "roc": {
        "fpr": True, "tpr": True, "proven.fpr": True, "proven.tpr": True, "claimed.fpr": True,
        "claimed.tpr": True,
    },
    "wealth": {"trials": False, "wealth": False, "epsilon": False},
    "sensitivity": {"gamma": False, "epsilon": False},
    "bootstrap": {"values": False},
    "repetitions": {"epsilon": False, "mu": False},
    "recall": {"*.recall": True, "*.precision": True, "*.guesses": False, "*.lower": False},
    "exposure": {"edges": True, "records": False},
    "power": {"*": True},
    "similar": {"own": True, "by_similar": True},
    "region": {"false_positive_rate": True, "false_negative_rate": True, "curves.*.x": False},
    "marginals": {"*.x": False, "*.density": False, "*.prior": False},
}  # fmt: skip
"""Lists that charts draw: the path, and whether every number of it is a share."""
_NUMBERS: Mapping[str, tuple[str, ...]] = {
    "roc": ("auc",),
    "wealth": ("goal",),
    "sensitivity": ("gamma_star",),
    "bootstrap": ("lower", "point"),
    "repetitions": ("count", "combined_epsilon", "combined_mu"),
    "blind": ("c_lb",),
    "negative_control": ("epsilon",),
    "balance": ("*.before", "*.after"),
    "tau": ("*.tau", "*.epsilon", "*.mu"),
    "rules": ("*.c_lb", "*.c_plus_epsilon_lb", "*.epsilon_tilde"),
    "comparison": ("*.epsilon", "*.mu", "*.auc"),
    "repeats": ("count", "c_lb.mean", "c_plus_epsilon_lb.mean", "epsilon_tilde.mean"),
}
"""Single numbers that are drawn or rounded."""
