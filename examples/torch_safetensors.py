"""Needs: pip install 'divulge[torch]' pandas

Weights in safetensors, put into a class that the user names, and audited from the file.
"""

import tempfile
from pathlib import Path

import safetensors.torch

import divulge
from divulge.models import load
from records import FEATURES, members_and_others
from torch_network import trained

members, others = members_and_others()

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "model.safetensors"
    safetensors.torch.save_file(trained().state_dict(), path)
    model = load(path, class_name="torch_network:Network", class_arguments='{"width": 64}')
    result = divulge.membership(
        members=members, nonmembers=others, model=model, label="digit", features=FEATURES
    )
    print(result.verdict.sentence)
