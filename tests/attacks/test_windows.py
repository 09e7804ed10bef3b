"""The window attack: against a plain loop, on short texts, and on tiny language models."""

from __future__ import annotations

import numpy as np
import pytest
from planted import auc

import divulge
from divulge.attacks import registry
from divulge.attacks.windows import window_sizes, window_votes

NAN = np.nan


def by_loops(row: np.ndarray, sizes: list[int]) -> float:
    """The description in so many words."""
    values = row[np.isfinite(row)]
    shares = []
    for size in sizes:
        sums = [values[i : i + size].sum() for i in range(len(values) - size + 1)]
        if sums:
            shares.append(np.mean([s > 0.0 for s in sums]))
    return float(np.mean(shares)) if shares else float(values.sum() > 0.0)


def test_the_sizes_of_the_paper():
    assert window_sizes() == [2, 3, 4, 5, 8, 11, 15, 21, 29, 40]


def test_votes_are_those_of_a_plain_loop(rng):
    shifts = rng.normal(0.1, 1.0, size=(40, 60))
    shifts[np.arange(60) >= rng.integers(1, 61, size=40)[:, None]] = NAN
    expected = [by_loops(row, window_sizes()) for row in shifts]
    assert window_votes(shifts) == pytest.approx(expected)


def test_one_large_shift_does_not_outvote_the_rest():
    row = np.full((1, 30), -0.1)
    row[0, 10] = 100.0
    assert row.mean() > 0.0
    assert window_votes(row, [2])[0] == pytest.approx(2 / 29)


def test_a_text_of_one_token_is_one_window():
    assert window_votes(np.array([[1.0, NAN], [-1.0, NAN], [0.0, NAN]])).tolist() == [1.0, 0.0, 0.0]


def test_tiny_language_models_give_their_members_away(tmp_path, rng):
    """A base, and a target fine-tuned from it: both attacks by tokens, through divulge.score."""
    pytest.importorskip("torch", reason="torch is in the extra language")
    pytest.importorskip("transformers", reason="transformers is in the extra language")
    import copy

    from divulge.models import finetune

    words = [f"{a}{b}" for a in "bdfglmnprst" for b in ("an", "el", "or", "ui")]
    texts = [" ".join(rng.choice(words, size=10)) for _ in range(90)]
    tokenizer = finetune.byte_pairs(texts, 330)
    rows = finetune.padded(tokenizer(texts)["input_ids"], None)
    base = finetune.tiny(330, rows.shape[1] + 8, rng, layers=1, width=32, heads=2)
    finetune.finetune(base, rows[60:], rng, epochs=6, rate=5e-3)
    target = copy.deepcopy(base)
    finetune.finetune(target, rows[:30], rng, epochs=30, rate=1e-2)
    for name, network in (("base", base), ("target", target)):
        finetune.save(network, tokenizer, tmp_path / name)
    member = np.arange(60) < 30
    scored = divulge.score(
        {"text": texts[:60], "member": member}, text="text", model=tmp_path / "target",
        references=[tmp_path / "base"],
        attack=["loss", "reference_ratio", "error_tokens", "windows"],
    )  # fmt: skip
    areas = {
        n: auc(registry.direction(n) * scored[n].to_numpy(), member)
        for n in ("loss", "error_tokens", "windows")
    }
    assert areas["error_tokens"] > 0.8, areas
    assert areas["windows"] > 0.8, areas
