"""Needs: pip install 'divulge[language]'

A small causal language model in a local directory: how well does it know each text?
"""

import tempfile

import numpy as np

import divulge
from divulge import tables
from divulge.models import finetune, load
from sentences import sentences

members, others = sentences()
tokenizer = finetune.byte_pairs(members + others, 600)
rows = [ids[:10] for ids in tokenizer(members)["input_ids"] if len(ids) >= 10]
rng = np.random.default_rng(0)
network = finetune.tiny(600, 64, rng, layers=1, width=64, heads=2)
finetune.finetune(network, np.array(rows), rng, epochs=60, rate=5e-3)

with tempfile.TemporaryDirectory() as folder:
    model = load(finetune.save(network, tokenizer, folder))
    losses = [
        -np.nanmean(model.ask(tables.read({"text": texts})).tokens, axis=1)
        for texts in (members, others)
    ]
    result = divulge.membership(
        members={"loss": losses[0]}, nonmembers={"loss": losses[1]}, score="loss"
    )
    print(result.verdict.sentence)
