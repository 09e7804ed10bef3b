"""Needs: pip install 'divulge[catboost]' pandas

A CatBoost classifier with names for its classes, saved as .cbm and audited from the file.
"""

import tempfile
from pathlib import Path

import catboost

import divulge
from divulge.models import load
from records import FEATURES, members_and_others

members, others = (t.assign(digit="digit " + t["digit"].astype(str)) for t in members_and_others())
model = catboost.CatBoostClassifier(
    iterations=60, depth=5, learning_rate=0.3, verbose=0, allow_writing_files=False, thread_count=1
)
model.fit(members[FEATURES], members["digit"])

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "model.cbm"
    model.save_model(path)
    result = divulge.membership(
        members=members, nonmembers=others, model=load(path), label="digit", features=FEATURES
    )
    print(result.verdict.sentence)
