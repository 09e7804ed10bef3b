"""Needs: pip install 'divulge[language]'

A small causal language model in a local directory: how well does it know each text?
"""

import tempfile

import numpy as np

import divulge
from divulge.models import Source, finetune
from sentences import sentences

members, others = sentences()
tokenizer = finetune.byte_pairs(members + others, 600)
rows = [ids[:10] for ids in tokenizer(members)["input_ids"] if len(ids) >= 10]
rng = np.random.default_rng(0)
network = finetune.tiny(600, 64, rng, layers=1, width=64, heads=2)
finetune.finetune(network, np.array(rows), rng, epochs=60, rate=5e-3)

with tempfile.TemporaryDirectory() as folder:
    finetune.save(network, tokenizer, folder)
    result = divulge.membership(
        members={"text": members},
        nonmembers={"text": others},
        model=Source(folder),
        text="text",
        attack=["loss", "min_k"],
    )
    print(result.verdict.sentence)
