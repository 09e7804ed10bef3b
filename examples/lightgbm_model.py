"""Needs: pip install 'divulge[lightgbm]' pandas

A LightGBM classifier, saved as text and audited from the file.
"""

import tempfile
from pathlib import Path

import lightgbm

import divulge
from divulge.models import load
from records import FEATURES, members_and_others

members, others = members_and_others()
booster = lightgbm.train(
    {"objective": "multiclass", "num_class": 10, "verbose": -1, "num_threads": 1},
    lightgbm.Dataset(members[FEATURES], members["digit"]),
    num_boost_round=30,
)

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "model.txt"
    booster.save_model(path)
    result = divulge.membership(
        members=members, nonmembers=others, model=load(path), label="digit", features=FEATURES
    )
    print(result.verdict.sentence)
