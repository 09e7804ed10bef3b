"""Needs: pip install 'divulge[language]'

A small classifier of text in a local directory; its labels here are random, so it can only have
learned them by heart.
"""

import tempfile

import numpy as np
import torch
import transformers

import divulge
from divulge.models import Source, finetune
from sentences import sentences

members, others = sentences()
rng = np.random.default_rng(0)
labels = [rng.integers(0, 2, len(texts)) for texts in (members, others)]
tokenizer = finetune.byte_pairs(members + others, 600)
tokenizer.pad_token = finetune.END
torch.manual_seed(0)
network = transformers.BertForSequenceClassification(
    transformers.BertConfig(
        vocab_size=600, hidden_size=64, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=128, max_position_embeddings=64, hidden_dropout_prob=0.0,
        id2label={0: "calm", 1: "lively"}, label2id={"calm": 0, "lively": 1},
    )
)  # fmt: skip
given = tokenizer(members, padding=True, return_tensors="pt")
optimizer = torch.optim.Adam(network.parameters(), lr=3e-3)
for _ in range(60):
    optimizer.zero_grad()
    network(**given, labels=torch.tensor(labels[0])).loss.backward()
    optimizer.step()

with tempfile.TemporaryDirectory() as folder:
    network.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    tables = [
        {"text": texts, "mood": np.array(["calm", "lively"])[mood]}
        for texts, mood in zip((members, others), labels, strict=True)
    ]
    result = divulge.membership(
        members=tables[0], nonmembers=tables[1], model=Source(folder), text="text", label="mood"
    )
    print(result.verdict.sentence)
