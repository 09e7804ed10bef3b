"""Attacks on language models: zlib, lower case, reference, Min-K% and Min-K%++."""

from __future__ import annotations

import zlib
from dataclasses import replace

import numpy as np
import pytest
from planted import language

from divulge.attacks import (
    error_tokens,
    lowercase,
    min_k,
    min_k_plus,
    reference_ratio,
    windows,
    zlib_ratio,
)
from divulge.attacks.base import Observed
from divulge.errors import InputError
from divulge.models.base import Answers

TOKENS = np.array([[-1.0, -4.0, -2.0, -8.0, -0.5], [-3.0, -1.0, np.nan, np.nan, np.nan]])


def seen(**words) -> Observed:
    return Observed(Answers(tokens=TOKENS), **words)


def test_zlib_is_the_whole_loss_over_the_bytes():
    texts = ["The sea, the sea.", "It is"]
    size = [len(zlib.compress(t.encode())) for t in texts]
    expected = [15.5 / size[0], 4.0 / size[1]]
    assert zlib_ratio.ATTACK(seen(texts=texts)) == pytest.approx(expected)


def test_lower_case_and_reference_are_ratios_of_losses_per_token():
    other = Answers(tokens=np.array([[-2.0, -2.0, np.nan], [-1.0, -1.0, -4.0]]))
    assert lowercase.ATTACK(seen(lowered=other)) == pytest.approx([3.1 / 2, 2.0 / 2])
    assert reference_ratio.ATTACK(seen(references=(other,))) == pytest.approx([3.1 / 2, 2.0 / 2])
    second = Answers(tokens=np.full((2, 1), -6.0))
    both = reference_ratio.ATTACK(seen(references=(other, second)))
    assert both == pytest.approx([3.1 / 4, 2.0 / 4])


def test_min_k_is_the_mean_of_the_least_likely_fifth_at_least_one():
    assert min_k.ATTACK(seen()) == pytest.approx([8.0, 3.0])
    longer = Answers(tokens=-np.arange(1.0, 11.0)[None, :])
    assert min_k.ATTACK(Observed(longer)) == pytest.approx([9.5])


def test_min_k_plus_by_hand():
    means = np.full((2, 5), -2.0)
    deviations = np.array([[1.0, 0.5, 1.0, 4.0, 1.0], [2.0, 1.0, 1.0, 1.0, 1.0]])
    target = Answers(tokens=TOKENS, means=means, deviations=deviations)
    # Standard units: 1, -4, 0, -1.5, 1.5 and -0.5, 1; the least of each, with the sign of a loss.
    assert min_k_plus.ATTACK(Observed(target)) == pytest.approx([4.0, 0.5])


def test_min_k_plus_ignores_a_shift_or_scale_of_a_place(rng):
    observed, _ = language(rng, n=20)
    base = min_k_plus.ATTACK(observed)
    shift = rng.normal(size=observed.target.tokens.shape)
    scale = rng.uniform(0.5, 2.0, size=shift.shape)
    t = observed.target
    moved = Answers(
        tokens=t.tokens * scale + shift,
        means=t.means * scale + shift,
        deviations=t.deviations * scale,
    )
    assert min_k_plus.ATTACK(replace(observed, target=moved)) == pytest.approx(base)


def test_a_certain_place_says_nothing():
    target = Answers(
        tokens=np.array([[0.0, -1.0]]),
        means=np.array([[0.0, -1.5]]),
        deviations=np.array([[0.0, 1.0]]),
    )
    assert np.isfinite(min_k_plus.ATTACK(Observed(target))).all()


def test_padding_changes_no_score(rng):
    observed, _ = language(rng, n=30)

    def wider(answers: Answers) -> Answers:
        pad = ((0, 0), (0, 7))
        parts = (answers.tokens, answers.means, answers.deviations, answers.best)
        padded = [np.pad(p, pad, constant_values=np.nan) for p in parts]
        return Answers(tokens=padded[0], means=padded[1], deviations=padded[2], best=padded[3])

    padded = replace(
        observed,
        target=wider(observed.target),
        lowered=wider(observed.lowered),
        references=tuple(map(wider, observed.references)),
    )
    for module in (
        zlib_ratio, lowercase, reference_ratio, min_k, min_k_plus, error_tokens, windows
    ):  # fmt: skip
        assert module.ATTACK(padded) == pytest.approx(module.ATTACK(observed))


@pytest.mark.parametrize(
    ("module", "lacking"),
    [
        (zlib_ratio, "the text of each record"),
        (lowercase, "lower case"),
        (reference_ratio, "a reference model"),
        (min_k_plus, "whole distribution"),
        (error_tokens, "its most likely token"),
        (windows, "a reference model"),
    ],
)
def test_what_is_missing_is_named(module, lacking):
    with pytest.raises(InputError, match=f"'{module.ATTACK.name}' also needs: .*{lacking}"):
        module.ATTACK(seen())
