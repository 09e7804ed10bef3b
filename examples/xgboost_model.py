"""Needs: pip install 'divulge[xgboost]' pandas

An XGBoost classifier, saved in the library's own format and audited from the file.
"""

import tempfile
from pathlib import Path

import xgboost

import divulge
from divulge.models import load
from records import FEATURES, members_and_others

members, others = members_and_others()
booster = xgboost.XGBClassifier(n_estimators=40, max_depth=4, n_jobs=1)
booster.fit(members[FEATURES], members["digit"])

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "model.ubj"
    booster.save_model(path)
    result = divulge.membership(
        members=members, nonmembers=others, model=load(path), label="digit", features=FEATURES
    )
    print(result.verdict.sentence)
