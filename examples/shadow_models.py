"""Needs: pip install 'divulge[models]' pandas

Shadow models of a forest: what the forest says of a record, compared with forests that did and did
not train on it. Who is a member is not looked at until the audit.
"""

import tempfile
from pathlib import Path

import pandas as pd
import skops.io
from sklearn.ensemble import RandomForestClassifier

import divulge
from divulge.models import Source
from records import FEATURES, members_and_others

members, others = members_and_others()
records = pd.concat([members.assign(member=True), others.assign(member=False)])
forest = RandomForestClassifier(30, random_state=0).fit(members[FEATURES], members["digit"])

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "model.skops"
    skops.io.dump(forest, path)
    target = Source(str(path), trust=("sklearn.tree._tree.Tree",))
    shadows = divulge.shadows(records, features=FEATURES, label="digit", model=target, count=8)
    scored = divulge.score(
        records,
        features=FEATURES,
        label="digit",
        model=target,
        shadows=shadows,
        attack=["loss", "lira_offline"],
    )
    for score in ("loss", "lira_offline"):
        result = divulge.membership(scored, score=score)
        print(score, round(result.measurements["auc"], 3), result.verdict.sentence)
