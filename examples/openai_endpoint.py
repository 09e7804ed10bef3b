"""Needs: pip install divulge

Audit a language model behind an OpenAI-compatible endpoint.

The server below, on loopback, stands in for yours: it speaks as much of /v1/completions as an audit
asks for, around a model that counts pairs of words. Only `open_endpoint` and what follows it is
what you would write; a key would be named by `key_variable="MY_KEY"`.
"""

import json
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise

import numpy as np

import divulge
from divulge.models.endpoints import open_endpoint

rng = np.random.default_rng(0)
WORDS = [f"word{i}" for i in range(150)]
texts = [" ".join(rng.choice(WORDS, 12)) for _ in range(600)]
member = rng.permutation(600) < 300

taught = [t.split() for t, inside in zip(texts, member, strict=True) if inside]
PAIRS = Counter(pair for words in taught for pair in pairwise(words))
FIRST = Counter(word for words in taught for word in words[:-1])


def log_probabilities(text):
    """Of every word given the one before it."""
    return [
        float(np.log((PAIRS[pair] + 0.5) / (FIRST[pair[0]] + 0.5 * len(WORDS))))
        for pair in pairwise(text.split())
    ]


class Completions(BaseHTTPRequestHandler):
    """Echoes prompts with their log-probabilities."""

    def do_POST(self):
        """Answer one request."""
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        choices = [
            {"index": i, "text": p, "logprobs": {"token_logprobs": [None, *log_probabilities(p)]}}
            for i, p in enumerate(asked["prompt"])
        ]
        body = json.dumps({"object": "text_completion", "choices": choices}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Keep quiet."""


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", 0), Completions)
    threading.Thread(target=server.serve_forever, daemon=True).start()

    model = open_endpoint(f"http://127.0.0.1:{server.server_port}/v1", name="pairs")
    result = divulge.membership({"member": member, "text": texts}, model=model, text="text")
    print(result.verdict.sentence)

    server.shutdown()
