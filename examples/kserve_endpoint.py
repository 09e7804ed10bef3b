"""Needs: pip install divulge

Audit a classifier behind the Open Inference Protocol V2: KServe, Triton, MLServer.

The server below, on loopback, stands in for yours: it speaks as much of the protocol as an audit
asks for, around a forest of scikit-learn. Only `open_endpoint` and what follows it is what you
would write.
"""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
from sklearn.ensemble import RandomForestClassifier

import divulge
from divulge.models.endpoints import open_endpoint

rng = np.random.default_rng(0)
x, y = rng.normal(size=(800, 4)), rng.integers(0, 3, 800)
member = rng.permutation(800) < 400
forest = RandomForestClassifier(30, random_state=0).fit(x[member], y[member])


class Inference(BaseHTTPRequestHandler):
    """Describes the forest, and asks it."""

    def do_GET(self):
        """What goes in and what comes out."""
        inputs = [{"name": "x", "datatype": "FP64", "shape": [-1, 4]}]
        outputs = [{"name": "probabilities", "datatype": "FP64", "shape": [-1, 3]}]
        self.reply({"name": "forest", "inputs": inputs, "outputs": outputs})

    def do_POST(self):
        """Probabilities of the records."""
        (sent,) = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["inputs"]
        p = forest.predict_proba(np.reshape(sent["data"], sent["shape"]))
        output = {"name": "probabilities", "datatype": "FP64", "shape": list(p.shape)}
        self.reply({"model_name": "forest", "outputs": [output | {"data": p.ravel().tolist()}]})

    def reply(self, content):
        """Send JSON."""
        body = json.dumps(content).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Keep quiet."""


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Inference)
    threading.Thread(target=server.serve_forever, daemon=True).start()

    model = open_endpoint(f"http://127.0.0.1:{server.server_port}/v2/models/forest")
    table = {f"x_{j}": x[:, j] for j in range(4)} | {"label": y, "member": member}
    result = divulge.membership(table, model=model, features="x_*", label="label")
    print(result.verdict.sentence)

    server.shutdown()
