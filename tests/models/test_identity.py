"""A changed model never gets the scores of the one before it, whatever it is named by."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from servers import serving
from sklearn.linear_model import LogisticRegression

import divulge
from divulge.cli import main
from divulge.errors import InputError
from divulge.models import Source, code
from divulge.models.identity import identity, unnamed

TABLE = {"x_0": np.arange(60.0), "member": np.arange(60) % 2}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder of the user's own, whose modules are forgotten as a new process would.

    No bytecode: Python takes it for current when an edit keeps the size within one second.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    before = set(sys.modules)
    yield tmp_path
    forget(before)


def forget(before):
    for name in set(sys.modules) - before:
        if not getattr(sys.modules[name], "__file__", None) or "pytest" in str(
            sys.modules[name].__file__
        ):
            del sys.modules[name]


def scored(where="mine:f", **given):
    before = set(sys.modules)
    options = {"cache": "kept", "attack": "loss", "chunk": 20, "features": "x_0"}
    found = divulge.score(TABLE, model=Source(where), **{**options, **given})
    forget(before)
    return found["loss"].to_numpy()


def pieces(folder):
    return sorted(p.name for p in (folder / "kept").glob("*.piece"))


def write(folder, **files):
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)


FUNCTION = "def f(rows):\n    return [float(v) * {} for v in rows['x_0']]\n"


def test_an_edited_function_is_asked_again(folder):
    write(folder, mine=FUNCTION.format(2))
    assert scored() == pytest.approx(TABLE["x_0"] * 2)
    first = pieces(folder)
    assert scored() == pytest.approx(TABLE["x_0"] * 2)
    assert pieces(folder) == first
    assert len(first) == 3
    write(folder, mine=FUNCTION.format(33))
    assert scored() == pytest.approx(TABLE["x_0"] * 33)
    assert len(pieces(folder)) == 6


def test_an_edited_module_beside_it_is_noticed(folder):
    later = "def g(v):\n    return v if v < 40 else v * {}\n"
    write(folder, mine="from deeper import h\nf = h\n", beside=later.format(1))
    write(
        folder, deeper="import beside\nh = lambda rows: [beside.g(float(v)) for v in rows['x_0']]\n"
    )
    assert scored()[-1] == 59
    write(folder, beside=later.format(7))
    assert scored()[-1] == 59 * 7


def test_weights_that_code_reads_are_noticed_by_the_first_answers(folder):
    (folder / "weights.json").write_text("2")
    write(
        folder,
        mine="import pathlib\nW = float(pathlib.Path('weights.json').read_text())\n"
        "def f(rows):\n    return [float(v) * W for v in rows['x_0']]\n",
    )
    assert scored()[-1] == 118
    (folder / "weights.json").write_text("3")
    assert scored()[-1] == 177


def test_a_cache_key_vouches_for_what_cannot_be_looked_at(folder):
    asked = []

    def own(rows):
        asked.append(len(rows))
        return [0.5] * len(rows)

    given = {"attack": "loss", "chunk": 20, "features": "x_0", "cache": "kept"}
    with pytest.raises(InputError, match=r"answers of a function cannot be identified.*cache key"):
        divulge.score(TABLE, model=own, **given)
    asked.clear()
    for _ in range(2):
        divulge.score(TABLE, model=own, cache_key="today", **given)
    assert asked == [32, 20, 20, 20, 32]
    divulge.score(TABLE, model=own, cache_key="tomorrow", **given)
    assert asked[5:] == [32, 20, 20, 20]


@pytest.mark.slow
def test_a_server_is_kept_under_a_cache_key_only(folder, monkeypatch, capsys):
    asked = []

    def run(*words):
        monkeypatch.setattr(sys, "argv", ["divulge", *words])
        with pytest.raises(SystemExit) as stop:
            main()
        assert not stop.value.code
        return capsys.readouterr().err

    def answer(request):
        rows = request.body["dataframe_split"]["data"]
        asked.append(len(rows))
        return 200, {"predictions": [[0.25, 0.75]] * len(rows)}

    text = "x_0,y,member\n" + "".join(f"{i},{i % 2},{i % 2}\n" for i in range(40))
    (folder / "t.csv").write_text(text)
    with serving(answer) as (url, _):
        words = ["score", "--model", f"{url}/invocations?key=s3cret", "--data", "t.csv", "--label",
                 "y", "--features", "x_0", "--attack", "loss", "--table", "out.csv",
                 "--overwrite"]  # fmt: skip
        for _ in range(2):
            said = run(*words)
            assert "not cached" in said
            assert "--cache-key" in said
            assert "s3cret" not in said
            assert not (folder / ".divulge").exists()
        twice = len(asked)
        for _ in range(2):
            assert "not cached" not in run(*words, "--cache-key", "v1")
        assert asked[twice:] == [32, 40, 32]
        assert list((folder / ".divulge").glob("*.piece"))
        for path in folder.rglob("*"):
            assert path.is_dir() or b"s3cret" not in path.read_bytes()


def test_what_opens_a_model_is_part_of_its_name(tmp_path):
    place = tmp_path / "m.ubj"
    place.write_bytes(b"{")
    sources = [
        Source(str(place)),
        Source(str(place), outputs="logits"),
        Source(str(place), cache_key="other"),
    ]
    assert len({identity(s) for s in sources}) == 3
    place.write_bytes(b"{}")
    assert identity(Source(str(place))) not in {identity(s) for s in sources[1:]}


def test_the_class_of_weights_is_part_of_their_name(folder):
    (folder / "m.safetensors").write_bytes(b"{")
    source = Source("m.safetensors", class_name="nets:Net")
    names = []
    for width in (2, 3):
        write(folder, nets=f"class Net:\n    width = {width}\n")
        before = set(sys.modules)
        names.append(identity(source))
        forget(before)
    assert names[0] != names[1]


def test_what_has_no_source_is_not_kept():
    assert "source code of math:sqrt was not found" in unnamed(Source("math:sqrt"))
    assert "serves may change" in unnamed(Source("https://h/v1?k=1"))
    assert "?" not in unnamed(Source("https://h/v1?k=1"))
    assert unnamed(LogisticRegression()) is None
    assert unnamed(lambda rows: rows) is not None


def test_an_installed_package_is_named_by_its_own_files_alone():
    import skops

    assert code.digest(skops) is not None
    assert {p.parent.parts[-1] for p in code._covered(code._place(skops))} >= {"skops", "io"}
    names = {p for p in code._covered(code._place(skops)) if "sklearn" in p.parts}
    assert not names
    assert code.of(len) == [None]


def test_training_that_was_edited_is_done_again(folder, monkeypatch):
    before = set(sys.modules)
    losses = []
    for value in (1.0, 2.0):
        write(folder, training=f"def train(data, seed):\n    return {value}\n"
              "def loss(model, record):\n    return model\n")  # fmt: skip
        monkeypatch.syspath_prepend(folder)
        import training

        found = divulge.retraining.measure(
            training.train, np.zeros((4, 1)), np.ones(1), loss=training.loss, models=4,
            cache=folder / "kept", cache_key="same", n_jobs=1, backend="serial",
        )  # fmt: skip
        losses.append(float(found.without[0]))
        forget(before)
    assert losses == [1.0, 2.0]
