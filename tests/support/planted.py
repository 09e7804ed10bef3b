"""A planted leak: models know the records that they were trained on a little better."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from divulge.attacks import registry
from divulge.attacks.base import Observed
from divulge.models.base import Answers, log_softmax

CLASSIFIER = (
    "loss", "confidence", "entropy", "modified_entropy", "logit_gap", "difficulty", "ratio",
    "rmia_offline", "rmia", "lira_offline", "lira", "quantile", "learned",
)  # fmt: skip
LANGUAGE = (
    "loss", "difficulty", "ratio", "zlib", "lowercase", "reference_ratio", "min_k", "min_k_plus",
    "error_tokens", "windows",
)  # fmt: skip


def classifier(
    rng: np.random.Generator, n: int = 600, gain: float = 1.5, shadows: int = 10
) -> tuple[Observed, np.ndarray]:
    """A classifier's answers; how hard a record is depends on its features."""

    def records(count: int, member: np.ndarray, inside: np.ndarray) -> Observed:
        features = rng.normal(size=(count, 3))
        easy = 1.5 + 1.2 * features[:, 0] + rng.normal(0.0, 0.5, size=count)
        labels = rng.integers(4, size=count)

        def answers(seen: np.ndarray) -> Answers:
            logits = rng.normal(0.0, 0.4, size=(count, 4))
            logits[np.arange(count), labels] += easy + gain * seen
            return Answers(log_probabilities=log_softmax(logits))

        return Observed(
            target=answers(member),
            labels=labels,
            references=tuple(answers(np.zeros(count)) for _ in range(2)),
            shadows=tuple(answers(inside[:, k]) for k in range(inside.shape[1])),
            inside=inside,
            features=features,
        )

    member = np.arange(n) < n // 2
    half = np.argsort(rng.random((n, shadows)), axis=1) < shadows // 2
    others = records(400, np.zeros(400), np.zeros((400, shadows), dtype=bool))
    return replace(records(n, member, half), population=others), member


def language(
    rng: np.random.Generator, n: int = 400, gain: float = 0.6
) -> tuple[Observed, np.ndarray]:
    """A language model's answers to texts of several lengths."""
    width = 30
    beyond = np.arange(width) >= rng.integers(10, width + 1, size=n)[:, None]
    means = -np.abs(rng.normal(2.0, 0.6, size=(n, width)))
    deviations = rng.uniform(0.5, 1.5, size=(n, width))
    hard = rng.normal(0.0, 0.3, size=(n, 1))
    member = np.arange(n) < n // 2

    def answers(seen: np.ndarray) -> Answers:
        drawn = means - hard + deviations * rng.normal(size=(n, width)) + gain * seen[:, None]
        tokens = np.where(beyond, np.nan, np.minimum(drawn, -1e-3))
        best = np.maximum(tokens, -1.0)  # whatever is below is not the most likely token
        return Answers(tokens=tokens, means=means, deviations=deviations, best=best)

    lengths = (~beyond).sum(axis=1)
    alphabet = list("abcdefghijklmnop qrstuvwxyz")
    texts = ["".join(rng.choice(alphabet, size=4 * int(k))) for k in lengths]
    outside = np.zeros(n)
    observed = Observed(
        target=answers(member),
        texts=texts,
        lowered=answers(outside),
        references=(answers(outside),),
    )
    return observed, member


def oriented(name: str, observed: Observed) -> np.ndarray:
    """The score of a built-in attack, larger for members."""
    return registry.direction(name) * registry.find(name)(observed)


def classes(*rows: list[float]) -> Answers:
    """Probabilities per class, written out."""
    return Answers(log_probabilities=np.log(np.asarray(rows)))


def auc(score: np.ndarray, member: np.ndarray) -> float:
    """Share of pairs in the right order, ties half."""
    difference = score[member][:, None] - score[~member][None, :]
    return float(np.mean((difference > 0) + 0.5 * (difference == 0)))
