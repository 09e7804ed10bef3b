"""What the two torch examples share: a small network, and its training on the members."""

import torch

from records import FEATURES, members_and_others


class Network(torch.nn.Module):
    """Two layers, ten classes."""

    def __init__(self, width: int = 64) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(10, width), torch.nn.ReLU(), torch.nn.Linear(width, 10)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Logits of the ten digits."""
        return self.layers(x / 10)


def trained(epochs: int = 300) -> Network:
    """A network that has seen the members again and again."""
    torch.manual_seed(0)
    members, _ = members_and_others()
    x = torch.tensor(members[FEATURES].to_numpy(), dtype=torch.float32)
    y = torch.tensor(members["digit"].to_numpy())
    network = Network()
    optimizer = torch.optim.Adam(network.parameters(), lr=0.01)
    for _ in range(epochs):
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(network(x), y).backward()
        optimizer.step()
    return network.eval()
