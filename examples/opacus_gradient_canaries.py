"""Needs: pip install 'divulge[dpsgd]'

Gradient canaries in a DP-SGD run by Opacus: how much of its guarantee can be proved from one run?
While it trains, the claimed noise is bet against; a run whose noise is missing would not get far.
"""

import warnings

import torch
from opacus import PrivacyEngine
from sklearn.datasets import load_digits

from divulge import canaries
from divulge.attacks.claimed_noise import NoiseClaim
from divulge.attacks.opacus_canaries import OpacusGradientRecorder
from divulge.mechanisms import DPSGD

warnings.simplefilter("ignore")  # Opacus and torch warn of their own affairs
RATE, NOISE, EPOCHS, CLIP = 0.05, 0.5, 3, 1.0
torch.manual_seed(0)
x, y = (torch.tensor(v) for v in load_digits(return_X_y=True))
records = torch.utils.data.TensorDataset(x.float() / 16, y)
model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.Tanh(), torch.nn.Linear(64, 10))
model, optimizer, loader = PrivacyEngine().make_private(
    module=model,
    optimizer=torch.optim.SGD(model.parameters(), lr=0.5),
    data_loader=torch.utils.data.DataLoader(records, batch_size=round(RATE * len(records))),
    noise_multiplier=NOISE,
    max_grad_norm=CLIP,
)

size = sum(p.numel() for p in model.parameters())
plan = canaries.plan(strategy="one-hot", count=1000, parameters=size)  # before training
claim = NoiseClaim(noise_multiplier=NOISE, clip=CLIP)
with OpacusGradientRecorder(
    optimizer, plan.gradients(), rate=RATE, complete=True, claim=claim
) as recorder:  # complete: the network is small, so that other records would hide the canaries
    for _ in range(EPOCHS):
        for inputs, labels in loader:
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(model(inputs), labels).backward()
            optimizer.step()

print(canaries.audit(plan, recorder.columns(), score="white_box"))
guarantee = DPSGD(NOISE, RATE, recorder.scores.steps, len(records)).epsilon(1e-5)
print(f"The accountant guarantees epsilon {guarantee:.2f} at delta 1e-5.")
