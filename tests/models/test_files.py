from __future__ import annotations

import io
import zipfile

import joblib
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from divulge.errors import InputError
from divulge.models import load

skops = pytest.importorskip("skops.io", reason="skops is in the extra models")


@pytest.fixture
def model():
    x = np.random.default_rng(0).normal(size=(50, 2))
    return LogisticRegression().fit(x, x[:, 0] > 0)


class Stranger(LogisticRegression):
    pass


class Other(LogisticRegression):
    pass


def test_a_skops_file_is_loaded(tmp_path, model):
    path = tmp_path / "model.skops"
    skops.dump(model, path)
    again = load(path)
    assert np.array_equal(again.coef_, model.coef_)


def test_unknown_types_are_named_and_can_be_trusted(tmp_path, model):
    path = tmp_path / "model.skops"
    strange = Stranger()
    strange.__dict__.update(model.__dict__)
    skops.dump(strange, path)
    with pytest.raises(InputError, match=r"--trust \S*Stranger"):
        load(path)
    assert type(load(path, trust=[f"{Stranger.__module__}.Stranger"])) is Stranger


def test_pickle_is_refused_unless_allowed(tmp_path, model):
    path = tmp_path / "model.joblib"
    joblib.dump(model, path)
    with pytest.raises(InputError, match="can run any code"):
        load(path)
    assert np.array_equal(load(path, allow_pickle=True).coef_, model.coef_)


@pytest.mark.parametrize("name", ["broken.skops", "broken.pkl"])
def test_a_damaged_file_is_one_error(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(b"not a model")
    with pytest.raises(InputError, match="Cannot load"):
        load(path, allow_pickle=True)


def test_other_files_are_refused(tmp_path):
    with pytest.raises(InputError, match="no file"):
        load(tmp_path / "absent.skops")
    path = tmp_path / "model.what"
    path.write_bytes(b"")
    with pytest.raises(InputError, match="skops"):
        load(path)


def test_all_unknown_types_are_shown(tmp_path, model):
    strange, other = Stranger(), Other()
    for each in (strange, other):
        each.__dict__.update(model.__dict__)
    skops.dump([strange, other], tmp_path / "model.skops")
    with pytest.raises(InputError, match=r"--trust \S*Other --trust \S*Stranger"):
        load(tmp_path / "model.skops")


def rewritten(path, change):
    """The same archive with the members that ``change`` returns."""
    with zipfile.ZipFile(path) as archive:
        files = {n: archive.read(n) for n in archive.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in change(files).items():
            archive.writestr(name, data)


def test_an_archive_that_unpacks_to_far_too_much_is_refused(tmp_path, model):
    path = tmp_path / "model.skops"
    skops.dump(model, path)
    rewritten(path, lambda files: {**files, "more": bytes(100 << 20)})
    assert path.stat().st_size < 1 << 20
    with pytest.raises(InputError, match="claims to unpack"):
        load(path)


def test_an_array_that_claims_to_be_larger_is_refused(tmp_path, model):
    path = tmp_path / "model.skops"
    skops.dump(model, path)

    def lie(files):
        header = io.BytesIO()
        said = {"descr": "<f8", "fortran_order": False, "shape": (1 << 36,)}
        np.lib.format.write_array_header_1_0(header, said)
        return {n: header.getvalue() if n.endswith(".npy") else d for n, d in files.items()}

    rewritten(path, lie)
    with pytest.raises(InputError, match="another size"):
        load(path)


def test_a_member_that_lies_about_its_size_is_refused(tmp_path, model):
    path = tmp_path / "model.skops"
    skops.dump(model, path)
    with zipfile.ZipFile(path) as archive:
        item = archive.infolist()[0]
    raw = path.read_bytes()
    # The size before packing stands four bytes before the length of the name, in both headers.
    lied = raw.replace(item.file_size.to_bytes(4, "little"), (1 << 20).to_bytes(4, "little"))
    assert lied != raw
    path.write_bytes(lied)
    with pytest.raises(InputError, match="Cannot load"):
        load(path)
