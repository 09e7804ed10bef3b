"""Needs: pip install 'divulge[models]' pandas

A scikit-learn forest, saved with skops and audited from the file. Forests hold a type that skops
leaves to the user to trust.
"""

import tempfile
from pathlib import Path

import skops.io
from sklearn.ensemble import RandomForestClassifier

import divulge
from divulge.models import load
from records import FEATURES, members_and_others

members, others = members_and_others()
forest = RandomForestClassifier(50, random_state=0).fit(members[FEATURES], members["digit"])

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "model.skops"
    skops.io.dump(forest, path)
    model = load(path, trust=["sklearn.tree._tree.Tree"])
    result = divulge.membership(
        members=members, nonmembers=others, model=model, label="digit", features=FEATURES
    )
    print(result.verdict.sentence)
