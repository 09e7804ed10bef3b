"""Numbers that people read, rounded towards the smaller claim.

A lower bound, an odds ratio that a finding survives and a confidence are rounded down; what is
deducted and a p-value are rounded up. Rounding is decimal and exact: a binary product such as
``0.11699999999999999 * 1000`` is 117.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

_LARGE = Decimal("1e15")
"""Beyond it a double has no decimals worth rounding."""


def floor_to(value: float, digits: int) -> float:
    """The largest number of so many decimals that is not above the value."""
    return float(_rounded(value, digits, ROUND_FLOOR))


def at_least(value: float, digits: int = 3) -> str:
    """A lower bound with so many decimals: ``0.986`` for 0.98659."""
    return _text(value, digits, ROUND_FLOOR)


def at_most(value: float, digits: int = 3) -> str:
    """What is deducted, a p-value or an allowed value: ``0.987`` for 0.98659."""
    return _text(value, digits, ROUND_CEILING)


def short(value: float, rounding: str = ROUND_FLOOR) -> str:
    """At most three decimals, or three digits if it is small; rounded down unless told otherwise.

    ``0.95``, ``0.000123``, ``1.2e-09``.
    """
    exact = _exact(value)
    if not exact.is_finite() or abs(exact) >= _LARGE:
        return f"{value:g}"
    digits = 3 if exact == 0 or abs(exact) >= Decimal("0.01") else 2 - exact.adjusted()
    if digits > 6:
        return f"{float(_quantised(exact, digits, rounding)):g}"
    return _trimmed(_quantised(exact, digits, rounding))


def rounded_up(value: float) -> str:
    """``short``, but up."""
    return short(value, ROUND_CEILING)


def percent(share: float, digits: int = 3) -> str:
    """``95%``, ``97.5%``; rounded down, so that 99.9996% is not shown as 100%."""
    exact = _exact(share)
    if not exact.is_finite():
        return f"{share:g}"
    return f"{_trimmed(_quantised(100 * exact, digits, ROUND_FLOOR))}%"


def confidence(error: float) -> str:
    """What is left beside an error, as a percentage: ``95%`` for 0.05."""
    return f"{_trimmed(_quantised(100 - 100 * _exact(error), 9, ROUND_FLOOR))}%"


def share(confidence: float) -> str:
    """A confidence as a number, at most four decimals: ``0.975``, ``0.9833``."""
    return _trimmed(_quantised(_exact(confidence), 4, ROUND_FLOOR))


def exact(value: float) -> str:
    """A value that somebody gave, such as a delta: as short as it can be without changing it."""
    text = f"{value:g}"
    return text if float(text) == value else repr(float(value))


def apart(smaller: float, larger: float, digits: int = 3) -> tuple[str, str]:
    """Two numbers, the smaller rounded up and the larger down, with digits enough to differ."""
    for count in range(digits, 17):
        low, high = at_most(smaller, count), at_least(larger, count)
        if Decimal(low) < Decimal(high):
            return low, high
    return repr(float(smaller)), repr(float(larger))


def _exact(value: float) -> Decimal:
    """The decimal that prints the double, not its binary expansion: 0.29 is 0.29."""
    return Decimal(repr(float(value)))


def _rounded(value: float, digits: int, rounding: str) -> Decimal:
    exact = _exact(value)
    if not exact.is_finite() or abs(exact) >= _LARGE:
        return exact
    return _quantised(exact, digits, rounding)


def _quantised(exact: Decimal, digits: int, rounding: str) -> Decimal:
    return exact.quantize(Decimal(1).scaleb(-digits), rounding=rounding)


def _text(value: float, digits: int, rounding: str) -> str:
    found = _rounded(value, digits, rounding)
    if not found.is_finite() or abs(found) >= _LARGE:
        return f"{float(found):g}"
    return f"{found:f}" if found else f"{abs(found):f}"


def _trimmed(value: Decimal) -> str:
    text = f"{value:f}" if value else "0"
    return text.rstrip("0").rstrip(".") if "." in text else text
