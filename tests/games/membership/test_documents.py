"""Documents are the trials; texts become features."""

from __future__ import annotations

import numpy as np
import pytest

import divulge
from divulge.data.features import Features
from divulge.errors import InputError
from divulge.games.membership import documents, lessons
from divulge.selftest.unseen import Families


def test_a_document_is_one_trial():
    data = Families(300, 5).table(np.random.default_rng(0))
    result = divulge.membership(data, document="family")
    assert result.trials["pool_members"] + result.trials["pool_nonmembers"] == 300
    found = result.diagnostics.documents
    assert (found.documents, found.records, found.largest) == (300, 1500, 5)
    assert "divided by 5" in found.sentence


@pytest.mark.slow
def test_records_that_stay_together_fool_an_audit_that_is_not_told():
    """The same games with and without the column: five copies are not five coins."""
    games = range(24)
    claims = {
        named: sum(Families(200, 8, named)(0.05, np.random.default_rng(k)) > 0.0 for k in games)
        for named in (True, False)
    }
    assert claims[True] <= 4
    assert claims[False] >= 8


def test_scores_and_features_are_means():
    of = documents.codes(np.array(["b", "a", "b"]), np.array([1, -1, 1], dtype=np.int8), "d")
    np.testing.assert_array_equal(of, [0, 1, 0])
    np.testing.assert_allclose(documents.means(np.array([1.0, 5.0, 3.0]), of), [2.0, 5.0])
    shown = documents.gathered(Features(np.array([[1.0], [5.0], [3.0]]), ("x",)), of)
    assert shown.names == ("x", documents.COUNT)
    np.testing.assert_allclose(shown.matrix[:, 0], [-1.0, 1.0])


def test_a_document_of_both_kinds_is_refused():
    data = {"member": [1, 0] * 50, "loss": np.arange(100.0), "d": np.arange(100) // 2}
    with pytest.raises(InputError, match="members and non-members"):
        divulge.membership(data, document="d")


def texts(rows: int = 900) -> dict[str, object]:
    rng = np.random.default_rng(0)
    member = rng.random(rows) < 0.5
    words = np.array(
        [
            "sea",
            "ship",
            "wind",
            "north",
            "calm",
            "sail",
            "rope",
            "mast",
            "wave",
            "salt",
            "gull",
            "tide",
        ]
    )
    share = np.where(member[:, None], np.linspace(1, 2, 12), np.linspace(2, 1, 12))
    share /= share.sum(axis=1, keepdims=True)
    drawn = np.array([rng.choice(12, 20, p=p) for p in share])
    loss = drawn.mean(axis=1) * -0.2 + 0.3 * rng.standard_normal(rows)
    return {"member": member, "loss": loss, "text": [" ".join(words[d]) for d in drawn]}


@pytest.mark.slow
def test_a_text_becomes_features():
    data = texts()
    naive = divulge.membership({k: v for k, v in data.items() if k != "text"})
    assert naive.verdict.status == "leak"
    result = divulge.membership(data, text="text")
    assert result.verdict.status != "leak"
    record = result.diagnostics.text
    assert not record.recognised
    assert record.features == result.trials["features"] > 12
    assert "words, topics" in record.sentence


def test_scores_of_tokens_make_a_table_of_texts():
    data = texts()
    data["perplexity"] = np.exp(np.asarray(data.pop("loss")))
    result = divulge.membership(data, score="perplexity", quick=True)
    assert result.diagnostics.text.recognised
    assert "was recognised as a text" in result.diagnostics.text.sentence
    alone = {k: v for k, v in data.items() if k != "text"}
    without = divulge.membership(alone, score="perplexity")
    assert without.diagnostics.text is None
    assert any("describe a text only in part" in r for r in without.verdict.reasons)


@pytest.mark.slow
def test_a_text_among_the_features_is_not_folded_into_categories():
    result = divulge.membership(texts(), features="text", quick=True)
    assert result.diagnostics.text.recognised
    assert lessons.TOKEN_WORDS  # short categories stay what they are
    short = {**texts(), "kind": np.where(np.arange(900) % 2, "a b", "c d")}
    short.pop("text")
    assert divulge.membership(short, features="kind", quick=True).diagnostics.text is None


def test_helpers_for_texts_need_a_public_model():
    with pytest.raises(InputError, match="public_model"):
        divulge.membership(texts(), text="text", helpers="auto")


def test_a_first_look_has_no_bound_and_the_quick_form_is_never_robust():
    said: list[str] = []

    def listen(stage: str, done: int, total: int) -> None:
        if total == 0:
            said.append(stage)

    rng = np.random.default_rng(0)
    member = rng.random(6000) < 0.5
    data = {"member": member, "x": rng.normal(size=6000), "loss": rng.normal(-3.0 * member)}
    result = divulge.membership(data, features="x", quick=True, progress=listen)
    assert "shift not yet removed" in said[0]
    assert "AUC of loss 0.9" in said[0]
    assert "None of this is a bound" in said[1]
    assert not any(word in " ".join(said) for word in ("epsilon", "mu ", "at least"))
    assert result.verdict.status == "leak"
    assert not result.verdict.robust
    assert "quick form" in result.verdict.reasons[-1]
    assert result.trials["rows_used"] == 4000
    said.clear()
    divulge.membership({"member": member, "loss": data["loss"]}, quick=True, progress=listen)
    assert said == []
