"""Needs: pip install 'divulge[models]'
Needs: pip install mlflow-skinny pandas

Audit a classifier behind MLflow's own scoring server.

The model is saved with `pyfunc_predict_fn="predict_proba"`, for predicted classes say too little,
and served on loopback by the application that `mlflow models serve` runs. Only `open_endpoint` and
what follows it is what you would write.
"""

import tempfile
import threading
import time
import warnings

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier

import divulge
from divulge.models.endpoints import open_endpoint

if __name__ == "__main__":
    warnings.simplefilter("ignore")  # mlflow warns of its own type hints
    import mlflow.pyfunc
    import mlflow.sklearn
    import uvicorn
    from mlflow.pyfunc import scoring_server

    rng = np.random.default_rng(0)
    records = pd.DataFrame(rng.normal(size=(800, 4)), columns=["a", "b", "c", "d"])
    label = rng.integers(0, 3, 800)
    member = rng.permutation(800) < 400
    forest = RandomForestClassifier(30, random_state=0).fit(records[member], label[member])

    with tempfile.TemporaryDirectory() as folder:
        mlflow.sklearn.save_model(
            forest,
            f"{folder}/forest",
            pyfunc_predict_fn="predict_proba",
            pip_requirements=["scikit-learn"],
            skops_trusted_types=["sklearn.tree._tree.Tree"],
        )
        app = scoring_server.init(mlflow.pyfunc.load_model(f"{folder}/forest"))
        server = uvicorn.Server(uvicorn.Config(app, host="127.0.0.1", port=0, log_level="error"))
        thread = threading.Thread(target=server.run)
        thread.start()
        while not server.started:
            time.sleep(0.05)
        port = server.servers[0].sockets[0].getsockname()[1]

        model = open_endpoint(f"http://127.0.0.1:{port}/invocations")
        result = divulge.membership(
            records.assign(label=label, member=member),
            model=model,
            features=list(records.columns),
            label="label",
        )
        print(result.verdict.sentence)

        server.should_exit = True
        thread.join()
