"""Over all outputs: no number that a person reads is larger than the claim behind it.

Claims of a kind that every rounding to fewer than seven digits would raise (43.0999996 to 43.1) are
planted wherever a result holds one; then terminal, page, charts, JSON and the sentences of
``check`` are searched for a number just above one of them.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sample import pinned

import divulge
from divulge.claims import Claim, check, described
from divulge.proof import state
from divulge.report import html
from divulge.report.terminal import result_text
from divulge.result import Result

pytest.importorskip("altair", reason="altair is in the extra report")

CLAIMS = frozenset(
    (
        "value", "epsilon", "mu", "c_lb", "c_plus_epsilon_lb", "epsilon_tilde", "gamma_star",
        "negative_control_epsilon", "heldout_epsilon", "one_run_epsilon", "real_nonmembers_c_lb",
        "real_nonmembers_epsilon", "residual_c_lb", "combined_epsilon", "combined_mu", "lower",
        "gdp_equivalent_epsilon",
    )
)  # fmt: skip
DEDUCTED = frozenset(("allowance_epsilon", "allowance_mu"))
NAMES = ("membership-bootstrap", "attribute-heldout", "synthetic-control")
LEAK = pinned(NAMES[0])
MU = next(b for b in LEAK.headline() if b.parameter == "mu")
NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e[-+]?\d+)?")
NEAR = 0.005


class Planted:
    """Claims that take the place of a result's own."""

    def __init__(self) -> None:
        self.claims: list[float] = []
        self.deducted: list[float] = []

    def claim(self) -> float:
        count = len(self.claims)  # never beside a whole number, which may be a count
        self.claims.append(43.0999996 + count // 9 + count % 9 / 10)
        return self.claims[-1]

    def within(self, value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            series = key == "repetitions"  # drawn as the bins of a histogram, which claim nothing
            kept = {k for k, v in value.items() if series and isinstance(v, list)}
            return {k: v if k in kept else self.within(v, k) for k, v in value.items()}
        if isinstance(value, list | tuple) and key not in ("epsilon", "mu", "lower"):
            return [self.within(v, key) for v in value]
        if isinstance(value, list | tuple):  # a series: one of it is enough
            return [*value[:-1], self.claim()]
        if isinstance(value, float) and key in DEDUCTED:
            self.deducted.append(83.2000004 + len(self.deducted) / 10)
            return self.deducted[-1]
        return self.claim() if isinstance(value, float) and key in CLAIMS else value

    def result(self, given: Result) -> Result:
        bounds = tuple(replace(b, value=self.claim()) for b in given.bounds)
        words = state.findings_in_words(list(bounds))
        given = replace(given, bounds=bounds, verdict=replace(given.verdict, sentence=words))
        data = given.to_json()
        measured = {**data["measurements"], "allowance_epsilon": 0.1}
        data["measurements"] = self.within(measured)
        data["diagnostics"] = self.within(data["diagnostics"])
        return replace(Result.from_json(data), bounds=bounds)


def without_code(page: str) -> str:
    """The page as it is read: without style, libraries and the charts' data."""
    return re.sub(r"<(script|style)\b.*?</\1>", " ", page, flags=re.DOTALL)


def drawn(page: str) -> list[float]:
    """Every number that a chart can show, as a tooltip rounds it (``.6~g``)."""
    found = re.search(r'id="specifications">(.*?)</script>', page, flags=re.DOTALL)
    out: list[float] = []

    def look(value: Any) -> None:
        if isinstance(value, dict | list):
            for part in value.values() if isinstance(value, dict) else value:
                look(part)
        elif isinstance(value, str):
            out.extend(map(float, NUMBER.findall(value)))
        elif isinstance(value, float | int) and not isinstance(value, bool):
            out.append(float(f"{value:.6g}"))

    look([spec["spec"].get("datasets", spec["spec"]) for spec in json.loads(found[1])])
    return out


def shown(result: Result) -> Iterator[tuple[str, list[float]]]:
    for width in (60, 200):
        yield f"terminal {width}", [float(n) for n in NUMBER.findall(result_text(result, width))]
    told = described(result, Claim.parse("mu=0.1"))
    page = html.page(result, told)
    yield "page", [float(n) for n in NUMBER.findall(without_code(page))]
    yield "charts", drawn(page)
    yield "fragment", [float(n) for n in NUMBER.findall(html.fragment(result))]
    yield "JSON", [float(n) for n in NUMBER.findall(result.dumps())]
    for claim in ("mu=0.1", "mu=99", "epsilon=1", "epsilon=99,delta=1e-5"):
        sentence = check(result, Claim.parse(claim)).sentence
        yield f"check {claim}", [float(n) for n in NUMBER.findall(sentence)]


@pytest.mark.parametrize("name", NAMES)
def test_no_output_claims_more_than_the_result(name):
    planted = Planted()
    result = planted.result(pinned(name))
    assert len(planted.claims) > 8
    seen = 0
    for where, numbers in shown(result):
        near = [n for n in numbers if 43.0 < n < 44.0 + len(planted.claims) / 9]
        seen += len(near)
        for n in near:
            over = [c for c in planted.claims if c < n <= c + NEAR]
            assert not over, f"{where} shows {n} for {over[0]}"
        under = [n for n in numbers for d in planted.deducted if d - NEAR <= n < d]
        assert not under, f"{where} shows {under[0]}, less than is deducted"
    assert seen > 3 * len(planted.claims)


def test_the_search_finds_a_number_that_is_rounded_up(monkeypatch):
    from divulge.text import rounding

    monkeypatch.setattr(rounding, "at_least", lambda value, digits=3: f"{value:.{digits}f}")
    with pytest.raises(AssertionError, match=r"shows 43\.1"):
        test_no_output_claims_more_than_the_result(NAMES[0])


@pytest.mark.parametrize("value", [0.98659, 1.9996, 0.0004, 2.0])
def test_check_prints_what_was_proved_or_less(value):
    result = replace(LEAK, bounds=(replace(MU, value=value),))
    for claim in ("mu=0.9865", "mu=1.99955", "mu=0.0003", "mu=7"):
        judged = check(result, Claim.parse(claim))
        at_least = float(re.search(r"is at least (\d+\.\d+)", judged.sentence)[1])
        allowed = float(re.search(r"up to (\d+\.\d+)", judged.sentence)[1])
        assert at_least <= value
        assert (at_least > allowed) == judged.refuted


def test_a_real_posterior_is_not_overstated():
    result = divulge.retraining([[40, 1000, 250, 1000]], deltas=(1e-3,))
    value = result.bounds[0].value
    for where, numbers in shown(result):
        assert not [n for n in numbers if value < n <= value + 0.001], where


SOURCE = Path(divulge.__file__).parent
SPOKEN = sorted(
    [*SOURCE.glob("report/*.py"), *SOURCE.glob("games/*.py"), *SOURCE.glob("cli/*.py"),
     SOURCE / "claims.py", SOURCE / "demo.py", SOURCE / "proof/adjust.py"]
)  # fmt: skip
CLAIM_WORDS = re.compile(r"epsilon|gamma|\bmu\b|c_lb|bound|\bcontrol\b|confidence|lower")


@pytest.mark.parametrize("path", SPOKEN, ids=lambda p: p.name)
def test_no_claim_is_formatted_without_saying_which_way_it_rounds(path):
    """``f"{bound.value:.3f}"`` rounds to the nearest; ``rounding`` has the words for a claim."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FormattedValue) and node.format_spec is not None:
            spec, what = ast.unparse(node.format_spec), ast.unparse(node.value)
            if re.search(r"\.\d*[fge%]", spec) and CLAIM_WORDS.search(what):
                pytest.fail(f"{path.name}:{node.lineno} rounds {what} to the nearest: {spec}")
