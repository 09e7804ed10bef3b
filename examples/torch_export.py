"""Needs: pip install 'divulge[torch]' pandas

A PyTorch network, saved by torch.export and audited from the file.
"""

import tempfile
from pathlib import Path

import torch

import divulge
from divulge.models import load
from records import FEATURES, members_and_others
from torch_network import trained

members, others = members_and_others()
rows = {0: torch.export.Dim("rows", min=2)}
program = torch.export.export(trained(), (torch.zeros(2, 10),), dynamic_shapes=(rows,))

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "model.pt2"
    torch.export.save(program, path)
    result = divulge.membership(
        members=members, nonmembers=others, model=load(path), label="digit", features=FEATURES
    )
    print(result.verdict.sentence)
