"""``divulge.shadows``: drawn without regard to membership, found by content, resumable."""

from __future__ import annotations

import warnings

import cloudpickle
import numpy as np
import own_makers
import pandas as pd
import pytest
from model_data import NAMES, two_classes
from planted import auc
from sklearn.linear_model import LogisticRegression

import divulge
from divulge.attacks import registry, shadow_table
from divulge.attacks.kept_shadows import read_kept
from divulge.data import tables
from divulge.errors import InputError, Note

FRAME = two_classes().iloc[:240].reset_index(drop=True)
OTHERS = two_classes().iloc[240:300].drop(columns="member")
GIVEN = {"features": "x_*", "label": "y", "count": 6, "seed": 2}


def trained(data=FRAME, model="own_makers:nearest", **more):
    return divulge.shadows(data, model=model, **{**GIVEN, **more})


def same(a, b) -> bool:
    return a.to_arrow().equals(b.to_arrow())


def test_each_model_trains_on_half_of_the_records_and_answers_for_all():
    kept = read_kept(trained(population=OTHERS))
    assert kept.inside.shape == (300, 6)
    assert sorted(kept.inside.sum(axis=1)) == [0] * 60 + [3] * 240
    missed = 0
    for k, model in enumerate(kept.models):
        at = model.ask(tables.read(FRAME)).log_probabilities
        own = at[np.arange(240), FRAME["y"]]
        inside = kept.marked(tables.read(FRAME))[kept.marks[k]].to_numpy()
        assert (own[inside] == 0.0).all()  # a nearest neighbour knows what it was fitted on
        missed += int((own[~inside] < 0.0).sum())
    assert missed > 0  # one of the models may know its other half by luck


def test_membership_the_order_and_the_files_of_the_records_have_no_say(rng):
    """Truths flipped, rows shuffled, members apart: the same models to the last bit."""
    first = trained(model=LogisticRegression(max_iter=50))
    flipped = FRAME.assign(member=1 - FRAME["member"])
    shuffled = FRAME.iloc[rng.permutation(240)]
    member = FRAME["member"] == 1
    for data in (flipped, shuffled, FRAME.drop(columns="member")):
        assert same(first, trained(data, model=LogisticRegression(max_iter=50)))
    apart = divulge.shadows(
        members=FRAME[member], nonmembers=FRAME[~member].iloc[::-1],
        model=LogisticRegression(max_iter=50), **GIVEN,
    )  # fmt: skip
    assert same(first, apart)
    assert not same(first, trained(model=LogisticRegression(max_iter=50), seed=3))


def test_the_column_of_truths_cannot_be_learned_from():
    with pytest.raises(InputError, match="'member' says who is a member: shadow models must not"):
        trained(features="*")
    with pytest.raises(InputError, match="'member' says who is a member"):
        trained(label="member")


def test_equal_records_are_together_inside_or_outside():
    twice = pd.concat([FRAME, FRAME.iloc[:20].assign(member=0)])
    kept = read_kept(trained(twice))
    assert len(kept.inside) == 240
    lesson = shadow_table._TableLesson
    seen = []
    before = lesson.__call__

    def noted(self, rows, seed, name):
        seen.append(int(self.repeats[rows].sum()))
        return before(self, rows, seed, name)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lesson, "__call__", noted)
        trained(twice)
    assert sum(seen) == 3 * 260  # copies count in the training


def test_scores_with_shadow_models_beat_those_of_the_target_alone():
    target = own_makers.forest(0).fit(
        FRAME[NAMES].to_numpy()[FRAME["member"] == 1], FRAME["y"][FRAME["member"] == 1]
    )
    kept = trained(model="own_makers:forest", population=OTHERS, count=8)
    scored = divulge.score(
        FRAME, model=target, features="x_*", label="y", shadows=kept, population=OTHERS
    )
    names = set(registry.BY_NAME) & set(scored.columns)
    assert {"lira", "lira_offline", "rmia", "learned", "loss"} <= names
    assert [c for c in scored.columns if c not in names] == list(FRAME.columns)  # no mark is left
    member = FRAME["member"].to_numpy() == 1
    areas = {n: auc(registry.direction(n) * scored[n].to_numpy(), member) for n in names}
    best = max(areas[n] for n in ("lira_offline", "rmia", "learned"))
    assert best > areas["loss"] + 0.05, areas


def test_a_truth_has_no_say_in_the_scores():
    target = own_makers.forest(0).fit(FRAME[NAMES].to_numpy()[::2], FRAME["y"][::2])
    kept = trained(model="own_makers:tree")
    asked = {"features": "x_*", "label": "y", "model": target, "shadows": kept}
    flipped = FRAME.assign(member=1 - FRAME["member"])
    first, second = (
        divulge.score(f, attack=["learned", "lira"], **asked) for f in (FRAME, flipped)
    )
    for name in ("learned", "lira"):
        assert np.array_equal(first[name].to_numpy(), second[name].to_numpy())


def test_the_table_on_disk_serves_any_order_and_chunks(tmp_path, rng):
    target = own_makers.tree(0).fit(FRAME[NAMES].to_numpy(), FRAME["y"])
    place = tmp_path / "shadows.parquet"
    assert trained(table=place) is None
    asked = {"model": target, "features": "x_*", "label": "y", "attack": ["lira", "loss"]}
    whole = divulge.score(FRAME, shadows=place, **asked)
    order = rng.permutation(240)[:150]
    some = divulge.score(
        FRAME.iloc[order], shadows=str(place), chunk=40, cache=tmp_path / "kept", **asked
    )
    found = divulge.score(FRAME.iloc[order], shadows=trained(), **asked)
    assert np.array_equal(some["lira"].to_numpy(), found["lira"].to_numpy())
    assert np.array_equal(whole["loss"].to_numpy()[order], some["loss"].to_numpy())


def test_finished_models_are_found_again(tmp_path, monkeypatch):
    calls = []
    before = shadow_table._TableLesson.__call__

    def interrupted(self, rows, seed, name):
        calls.append(name)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return before(self, rows, seed, name)

    monkeypatch.setattr(shadow_table._TableLesson, "__call__", interrupted)
    with pytest.raises(KeyboardInterrupt):
        trained(cache=tmp_path)
    kept = trained(cache=tmp_path)
    assert len(calls) == 7
    assert same(kept, trained())
    trained(cache=tmp_path, model="own_makers:tree")
    assert len(calls) == 7 + 6 + 6  # another training, other pieces


def test_a_training_that_nothing_names_is_not_kept(tmp_path):
    class Own(LogisticRegression):
        """Code of a test."""

    with pytest.warns(Note, match="not cached: nothing tells when the training changes"):
        trained(model=Own(), cache=tmp_path)
    assert list(tmp_path.iterdir()) == []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        trained(model=Own(), cache=tmp_path, cache_key="mine")
    assert len(list(tmp_path.iterdir())) == 6


def test_models_are_saved_in_safe_formats(tmp_path):
    pytest.importorskip("skops.io", reason="skops is in the extra models")
    kept = read_kept(trained(model=LogisticRegression(), count=2, save=tmp_path / "models"))
    saved = sorted(p.name for p in (tmp_path / "models").iterdir())
    assert saved == ["shadow_0.skops", "shadow_1.skops"]
    asked = tables.read(FRAME)
    model = divulge.models.load(tmp_path / "models" / "shadow_1.skops")
    own = np.log(model.predict_proba(FRAME[NAMES].to_numpy()))
    assert kept.models[1].ask(asked).log_probabilities == pytest.approx(own)


def test_what_is_sent_to_other_processes_says_the_same(monkeypatch):
    before = shadow_table.trained

    def sent(lesson, *given):
        return before(cloudpickle.loads(cloudpickle.dumps(lesson)), *given)

    first = trained(model=LogisticRegression())
    monkeypatch.setattr(shadow_table, "trained", sent)
    assert same(first, trained(model=LogisticRegression()))


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"count": 1}, "At least two shadow models are needed. Found 1"),
        ({"seed": -1}, "seed must be a whole number"),
        ({"label": None}, "Name the label column"),
        ({"features": ()}, "Name the feature columns"),
        ({"features": "z_*"}, "No column of the table matches"),
        ({"population": FRAME}, "240 records of the population are among the records"),
        ({"table": "shadows.csv"}, "must end in .parquet"),
        ({"members": FRAME}, "Give one table, or members and nonmembers"),
        ({"data": FRAME.iloc[:3]}, "at least 4 different records"),
        ({"data": FRAME.assign(y=1)}, "has one value only"),
    ],
)
def test_bad_input_is_named(more, said):
    with pytest.raises(InputError, match=said):
        trained(**more)


def test_records_that_were_not_asked_about_are_an_error():
    target = LogisticRegression().fit(FRAME[NAMES], FRAME["y"])
    asked = {"model": target, "features": "x_*", "label": "y"}
    with pytest.raises(InputError, match="not asked about 32 of 32 records"):
        divulge.score(OTHERS, shadows=trained(), **asked)
    with pytest.raises(InputError, match="the population given as such"):
        divulge.score(FRAME, shadows=trained(), population=OTHERS, **asked)
    with pytest.raises(InputError, match="not a table that divulge shadows wrote"):
        divulge.score(FRAME, shadows=FRAME, **asked)
    with pytest.raises(InputError, match="knows who each was trained on"):
        divulge.score(FRAME, shadows=trained(), shadow_columns=["y"], **asked)


@pytest.mark.slow
def test_language_models_are_fine_tuned_again(tmp_path, rng):
    """From the folder of a target and of what it started from, to LiRA on texts."""
    pytest.importorskip("torch", reason="torch is in the extra language")
    pytest.importorskip("transformers", reason="transformers is in the extra language")
    import copy

    from divulge.models import finetune

    words = [f"{a}{b}" for a in "bdfglmnprst" for b in ("an", "el", "or", "ui")]
    texts = [" ".join(rng.choice(words, size=int(n))) for n in rng.integers(5, 10, size=48)]
    tokenizer = finetune.byte_pairs(texts, 330)
    rows = finetune.padded(tokenizer(texts)["input_ids"], None)
    base = finetune.tiny(330, 48, rng, layers=1, width=16, heads=2)
    target = copy.deepcopy(base)
    finetune.finetune(target, rows[:24], rng, epochs=30, rate=2e-2)
    for name, network in (("base", base), ("target", target)):
        finetune.save(network, tokenizer, tmp_path / name)
    data = {"text": texts, "member": np.arange(48) < 24}
    given = {"text": "text", "model": tmp_path / "target"}
    how = {"start": str(tmp_path / "base"), "epochs": 20, "rate": 2e-2}
    kept = divulge.shadows(data, training=how, count=4, **given)
    scored = divulge.score(data, shadows=kept, attack=["loss", "lira", "learned"], **given)
    areas = {n: auc(registry.direction(n) * scored[n].to_numpy(), data["member"])
             for n in ("loss", "lira")}  # fmt: skip
    assert areas["lira"] > 0.8, areas
