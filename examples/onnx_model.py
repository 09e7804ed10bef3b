"""Needs: pip install 'divulge[onnx]' skl2onnx pandas

A scikit-learn network, converted to ONNX and audited from the file.
"""

import tempfile
from pathlib import Path

import numpy as np
import skl2onnx
from sklearn.neural_network import MLPClassifier

import divulge
from divulge.models import load
from records import FEATURES, members_and_others

members, others = members_and_others()
x = members[FEATURES].to_numpy(dtype=np.float32)
network = MLPClassifier((50,), solver="lbfgs", alpha=0.0, max_iter=2000, random_state=0)
network.fit(x, members["digit"])

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "model.onnx"
    path.write_bytes(skl2onnx.to_onnx(network, x[:1], target_opset=17).SerializeToString())
    result = divulge.membership(
        members=members, nonmembers=others, model=load(path), label="digit", features=FEATURES
    )
    print(result.verdict.sentence)
