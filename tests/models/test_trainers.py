"""Further models like a given one: clones, boosters from files, networks, and the user's code."""

from __future__ import annotations

import numpy as np
import pytest
from model_data import NAMES, members, three_classes, two_classes
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from divulge.data import tables
from divulge.errors import InputError
from divulge.models import Source, base, load
from divulge.models.base import SMALLEST
from divulge.models.trainers import Labels, aligned, trainer

FRAME = two_classes()
SHOWN = tables.read(FRAME[NAMES])


def labels(frame=FRAME, classes=(0, 1)) -> Labels:
    return Labels(frame["y"].to_numpy().astype(np.intp), classes)


def accuracy(model, frame=FRAME, names=NAMES) -> float:
    logs = base.ask(model, tables.read(frame[names])).log_probabilities
    return float(np.mean(logs.argmax(axis=1) == frame["y"]))


def again(source, settings=None, frame=FRAME, names=NAMES, classes=(0, 1), seed=3):
    """Two models of one seed and one of another, and their trainer."""
    maker = trainer(source, settings)
    shown = tables.read(frame[names])
    made = [maker.train(shown, labels(frame, classes), s) for s in (seed, seed, seed + 1)]
    logs = [base.ask(m, shown).log_probabilities for m in made]
    assert np.array_equal(logs[0], logs[1])
    return maker, made[0], not np.array_equal(logs[0], logs[2])


def test_a_clone_has_the_parameters_and_nothing_that_was_learned():
    seen = members(FRAME)
    given = make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=3, random_state=7))
    given.fit(seen[NAMES], seen["y"])
    maker, model, differs = again(given, {"decisiontreeclassifier__max_features": 2})
    step = model.model[-1]
    assert (step.max_depth, step.max_features, step.random_state) == (3, 2, 3)
    assert list(model.model.feature_names_in_) == NAMES  # it was given a data frame, too
    assert differs
    assert maker.classes == (0, 1)
    assert accuracy(model) > 0.7


def test_classes_keep_their_names_and_one_that_is_missing_is_impossible():
    words = np.array(["no", "yes", "never"])
    given = LogisticRegression().fit(FRAME[NAMES].to_numpy()[:30], words[np.arange(30) % 3])
    maker = trainer(given)
    classes = maker.classes
    assert classes == ("never", "no", "yes")
    codes = np.where(FRAME["y"] == 1, 2, 1).astype(np.intp)
    model = maker.train(SHOWN, Labels(codes, classes), 0)
    assert model.classes == ("no", "yes")
    found = aligned(base.ask(model, SHOWN), model, classes).log_probabilities
    assert (found[:, 0] == np.log(SMALLEST)).all()
    assert np.exp(found[:, 1:]).sum(axis=1) == pytest.approx(1.0)


def test_what_a_clone_was_made_of_names_it():
    names = [trainer(DecisionTreeClassifier(max_depth=d)).identity() for d in (3, 3, 4)]
    assert names[0] == names[1] != names[2]

    class Own(DecisionTreeClassifier):
        """Code of a test: nothing tells when it changes."""

    assert trainer(Own()).identity() is None


def test_clones_are_saved_with_skops(tmp_path):
    pytest.importorskip("skops.io", reason="skops is in the extra models")
    maker, model, _ = again(LogisticRegression())
    ((suffix, data),) = maker.files(model).items()
    place = tmp_path / f"shadow{suffix}"
    place.write_bytes(data)
    assert np.array_equal(load(place).coef_, model.model.coef_)


@pytest.mark.usefixtures("sound_files")
@pytest.mark.parametrize("many", [False, True])
def test_boosters_of_xgboost(tmp_path, many):
    xgboost = pytest.importorskip("xgboost", reason="xgboost is in the extra xgboost")
    frame, names = (three_classes(), NAMES[:4]) if many else (FRAME, NAMES)
    seen = members(frame)
    fitted = xgboost.XGBClassifier(n_estimators=6, max_depth=2, learning_rate=0.5, n_jobs=1)
    fitted.fit(seen[names], seen["y"]).save_model(tmp_path / "model.ubj")
    classes = tuple(range(3 if many else 2))
    maker, model, _ = again(tmp_path / "model.ubj", {"subsample": 0.5}, frame, names, classes)
    assert maker.rounds == model.booster.num_boosted_rounds() == 6
    assert dict(maker.parameters)["max_depth"] == 2
    assert "learning rate" in maker.note
    assert trainer(tmp_path / "model.ubj", {"eta": 0.5, "rounds": 2}).note is None
    assert maker.classes == classes
    assert accuracy(model, frame, names) > 0.7
    ((suffix, data),) = maker.files(model).items()
    (tmp_path / f"again{suffix}").write_bytes(data)
    read = load(tmp_path / f"again{suffix}")
    both = [base.ask(m, tables.read(frame[names])).log_probabilities for m in (model, read)]
    assert both[0] == pytest.approx(both[1], abs=1e-6)


@pytest.mark.usefixtures("sound_files")
@pytest.mark.parametrize("many", [False, True])
def test_boosters_of_lightgbm(tmp_path, many):
    lightgbm = pytest.importorskip("lightgbm", reason="lightgbm is in the extra lightgbm")
    frame, names = (three_classes(), NAMES[:4]) if many else (FRAME, NAMES)
    seen = members(frame)
    fitted = lightgbm.LGBMClassifier(
        n_estimators=6, num_leaves=5, learning_rate=0.4, n_jobs=1, verbose=-1
    ).fit(seen[names], seen["y"])
    fitted.booster_.save_model(tmp_path / "model.txt")
    classes = tuple(range(3 if many else 2))
    settings = {"bagging_fraction": 0.5, "bagging_freq": 1}
    maker, model, differs = again(tmp_path / "model.txt", settings, frame, names, classes)
    said = dict(maker.parameters)
    assert (said["num_leaves"], said["learning_rate"], said["bagging_fraction"]) == (5, 0.4, 0.5)
    assert not {"device_type", "local_listen_port", "num_threads"} & set(said)
    assert maker.rounds == 6
    assert maker.note is None
    assert differs
    assert accuracy(model, frame, names) > 0.7
    # Our log-probabilities are those of LightGBM itself.
    own = model.booster.predict(frame[names])
    found = np.exp(base.ask(model, tables.read(frame[names])).log_probabilities)
    assert (found if many else found[:, 1]) == pytest.approx(own)
    ((suffix, data),) = maker.files(model).items()
    assert suffix == ".txt"
    assert data.startswith(b"tree")


def test_networks_of_a_class_and_of_a_factory(tmp_path):
    torch = pytest.importorskip("torch", reason="torch is in the extra torch")
    safetensors = pytest.importorskip("safetensors.torch")
    import own_network

    safetensors.save_file(own_network.Small().state_dict(), tmp_path / "net.safetensors")
    source = Source(str(tmp_path / "net.safetensors"), class_name="own_network:Small")
    how = {"epochs": 8, "rate": 0.01, "batch": 100}
    maker, model, differs = again(source, how)
    assert differs
    assert accuracy(model) > 0.7
    ((suffix, data),) = maker.files(model).items()
    assert suffix == ".safetensors"
    assert set(safetensors.load(data)) == set(own_network.Small().state_dict())
    maker, model, differs = again("own_makers:network", how, classes=("no", "yes"))
    assert aligned(base.ask(model, SHOWN), model, ("no", "yes")).log_probabilities.shape[1] == 2
    with pytest.raises(InputError, match="2 classes apart, the records have 3"):
        aligned(base.ask(model, SHOWN), model, ("no", "yes", "never"))
    before = torch.random.get_rng_state()
    maker.train(SHOWN, labels(), 0)
    assert torch.equal(before, torch.random.get_rng_state())
    assert differs
    assert accuracy(model) > 0.7
    assert maker.identity() != trainer("own_makers:network", {"epochs": 9}).identity()
    sure = Source(
        str(tmp_path / "net.safetensors"), class_name="own_network:Sure", outputs="probabilities"
    )
    assert accuracy(trainer(sure, how).train(SHOWN, labels(), 0)) > 0.7
    with pytest.raises(InputError, match="Unknown setting of the training: epoch"):
        trainer(source, {"epoch": 3})
    with pytest.raises(InputError, match="epochs must be a whole number of at least 1"):
        trainer(source, {"epochs": 0})


def test_code_that_makes_estimators():
    _, model, _ = again("own_makers:tree", {"depth": 2})
    assert model.model.get_depth() == 2
    assert trainer("own_makers:ESTIMATOR").train(SHOWN, labels(), 0).model.get_depth() == 4
    direct = trainer(lambda seed: DecisionTreeClassifier(random_state=seed))
    assert accuracy(direct.train(SHOWN, labels(), 0)) == 1.0


def test_language_models_start_from_a_base_or_from_nothing(tmp_path):
    pytest.importorskip("torch", reason="torch is in the extra language")
    pytest.importorskip("transformers", reason="transformers is in the extra language")
    from divulge.models import finetune

    texts = [
        f"the {a} cat sat on the {b} mat" for a in ("small", "grey", "old") for b in ("red", "big")
    ]
    tokenizer = finetune.byte_pairs(texts * 4, 320)
    for name, seed in (("base", 1), ("target", 2)):
        network = finetune.tiny(320, 32, np.random.default_rng(seed), layers=1, width=16, heads=2)
        finetune.save(network, tokenizer, tmp_path / name)
    shown = tables.read({"text": [*texts, "a cat"]})
    how = {"epochs": 12, "rate": 0.01}
    found = {}
    for start in ({}, {"start": str(tmp_path / "base")}):
        maker = trainer(tmp_path / "target", {**how, **start})
        models = [maker.train(shown, None, 3) for _ in range(2)]
        tokens = [base.ask(m, shown).tokens for m in models]
        assert np.array_equal(*tokens, equal_nan=True)
        assert -np.nanmean(tokens[0]) < 4.0  # untrained, it is log 320 = 5.8
        found[bool(start)] = (maker, tokens[0])
    assert not np.array_equal(found[True][1], found[False][1], equal_nan=True)
    assert found[True][0].identity() != found[False][0].identity()
    assert "start from fresh weights" in found[False][0].note
    assert found[True][0].note is None
    files = found[True][0].files(models[0])
    assert {"/config.json", "/model.safetensors", "/tokenizer.json"} <= set(files)
    with pytest.raises(InputError, match="knows its members already"):
        trainer(tmp_path / "target", {"start": str(tmp_path / "target")})


def test_padding_changes_no_loss(rng):
    pytest.importorskip("transformers", reason="transformers is in the extra language")
    import torch

    from divulge.models import finetune

    network = finetune.tiny(40, 12, rng, layers=1, width=16, heads=2).eval()
    rows = [[1, 2, 3, 4, 5, 6], [7, 8, 9]]
    both = finetune.chunk_losses(network, torch.from_numpy(finetune.padded(rows, 12)))
    for row, found in zip(rows, both, strict=True):
        alone = finetune.chunk_losses(network, torch.tensor([row]))
        assert float(found.detach()) == pytest.approx(float(alone[0].detach()), abs=1e-5)
    with pytest.raises(InputError, match="A text has 6"):
        finetune.padded(rows, 5)


@pytest.mark.parametrize(
    ("model", "settings", "said"),
    [
        (
            "own_makers:broken",
            {},
            "own_makers:broken failed to make a model: RuntimeError: no luck",
        ),
        ("own_makers:text", {}, "own_makers:text returned str"),
        ("http://127.0.0.1:9/v1", {}, "kind 'endpoint' does not say how to train another"),
        (7, {}, "A int cannot be trained again"),
        (DecisionTreeClassifier(), {"depth": 3}, "Invalid parameter 'depth'"),
        ("own_makers:tree", {"colour": 3}, "unexpected keyword argument 'colour'"),
    ],
)
def test_what_cannot_be_trained_again_is_named(model, settings, said):
    with pytest.raises(InputError, match=said):
        trainer(model, settings)
