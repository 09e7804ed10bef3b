"""Language models for PANORAMIA (002): targets with little and much overfitting, and with DP.

    python experiments/panoramia_text.py [--text FILE] [--out DIR] [--seed N] [--quick]

Public-domain text: Jane Austen's novels as Debian ships them (``make text``). A tokenizer and a
tiny GPT-2 are trained on two novels; the chapters of the other four, in chunks of 32 tokens, are
split at random into members and real non-members. The targets are that GPT-2 fine-tuned on the
members, kept after several numbers of epochs, or with DP-SGD (Opacus, extra ``dpsgd``). Half
of the members go to the generator; the other half are audited. Three models know nothing of the
audited records: the helper, fine-tuned on generated text only (as in the paper), the reference,
fine-tuned on the generator's members, and the public model itself.

For every target three tables are written to out/panoramia_text/<target>/: members.parquet,
generated.parquet and nonmembers.parquet (real ones, for comparison), with the columns ``target_*``,
``helper_*``, ``reference_*`` and ``public_*`` (scores of the token losses, divulge.attacks.tokens)
and ``e_*`` (the helper's embedding). Every model and table is kept: a second run repeats nothing.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).parent))
from austen import chapters, novels
from tiny_models import Run, State, Tokens, digest, pretrained, revived, state_of, tuned

from divulge.attacks.tokens import sequence_features
from divulge.data.tables import Frame
from divulge.errors import DivulgeError, MissingExtra, require
from divulge.generators.base import Training
from divulge.generators.text import TextGenerator
from divulge.models import finetune
from divulge.models.chunks import chunks, token_matrix
from divulge.models.language import LanguageModel, libraries
from divulge.types import Array
from divulge.work.pieces import Pieces

TEXT = Path("out/text/Rdata.rdb")
PUBLIC = ("EMMA", "MANSFIELD PARK")
DELTA = 1e-5


@dataclass(frozen=True)
class Sizes:
    """How much of everything."""

    members: int = 10_000
    nonmembers: int = 5_000
    generated: int = 10_000
    """One half trains the helper, the other is audited."""
    length: int = 32
    most: int = 100
    """Chunks per chapter: as many tokens as 50 chunks of 64."""
    vocabulary: int = 1024
    layers: int = 2
    width: int = 128
    batch: int = 32
    pretraining: int = 4
    snapshots: tuple[int, ...] = (1, 4, 12)
    generator: int = 4
    helper: int = 4
    private: int = 3
    """Epochs of DP-SGD."""
    private_batch: int = 256
    epsilons: tuple[float, ...] = (1.0, 2.0, 3.0, 10.0)
    """Of DP-SGD, one target each."""
    rate: float = 2e-3


QUICK = Sizes(
    members=1_000,
    nonmembers=500,
    generated=800,
    most=12,
    layers=1,
    width=64,
    batch=64,
    pretraining=1,
    snapshots=(2, 6),
    generator=2,
    helper=2,
    private=1,
    private_batch=128,
    epsilons=(1.0, 10.0),
)


def targets(run: Run, vocabulary: int, start: State, members: Tokens) -> dict[str, State]:
    """Models fine-tuned on the members: one per number of epochs, and one per epsilon."""
    s, found, state, done = run.sizes, {}, start, 0
    for epochs in s.snapshots:
        name = f"target after {done} epochs"
        state = tuned(run, name, vocabulary, state, members, 100 + done, epochs=epochs - done)
        found[f"E{epochs}"], done = state, epochs
    inputs = {"start": digest(start), "texts": digest({"tokens": members}), "seed": run.seed}
    inputs |= {k: getattr(s, k) for k in ("private", "private_batch", "rate")}
    for epsilon in s.epsilons:
        found[f"DP{epsilon:g}"] = run.pieces.arrays(
            "private",
            {**inputs, "epsilon": epsilon},
            partial(privately, run, vocabulary, start, members, epsilon),
        )
    return found


def privately(run: Run, vocabulary: int, start: State, members: Tokens, epsilon: float) -> State:
    """The public model fine-tuned with DP-SGD; the noise is not cryptographically secure."""
    torch, _ = libraries()
    try:
        from opacus import PrivacyEngine
    except ModuleNotFoundError:
        raise MissingExtra("opacus", "dpsgd") from None
    import warnings

    s = run.sizes
    network = revived(run, vocabulary, start).train()
    rows = torch.utils.data.TensorDataset(torch.from_numpy(members))
    with warnings.catch_warnings(), finetune.seeded(run.rng(3)) as seed:
        warnings.simplefilter("ignore")
        engine = PrivacyEngine(accountant="prv")
        model, optimizer, loader = engine.make_private_with_epsilon(
            module=network,
            optimizer=torch.optim.AdamW(network.parameters(), lr=s.rate),
            data_loader=torch.utils.data.DataLoader(rows, batch_size=s.private_batch),
            epochs=s.private,
            target_epsilon=epsilon,
            target_delta=DELTA,
            max_grad_norm=1.0,
            noise_generator=torch.Generator().manual_seed(seed),
        )
        for epoch in range(s.private):
            total = count = 0.0
            for (some,) in loader:
                losses = finetune.chunk_losses(model, some)
                optimizer.zero_grad()
                losses.mean().backward()
                optimizer.step()
                total, count = total + float(losses.detach().sum()), count + len(some)
            spent = engine.get_epsilon(DELTA)
            run.say(
                f"DP-SGD, epoch {epoch + 1}: training {total / count:.3f}, epsilon {spent:.2f} at "
                f"{DELTA:g}, noise multiplier {optimizer.noise_multiplier:.2f}"
            )
    return state_of(network)


def generate(run: Run, model: Path, records: Frame) -> Frame:
    """Chunks that follow real prompts."""
    s = run.sizes
    maker = TextGenerator(
        str(model),
        window=s.length,  # no model here was trained on longer text
        epochs=s.generator,
        rate=s.rate,
        batch=s.batch,
        progress=run.say,
    )
    return run.pieces.table(
        "generated",
        {**maker.settings, "records": digest({"tokens": token_matrix(records)}), "seed": run.seed}
        | {"count": s.generated},
        lambda: maker.generate_in_pieces(
            records, s.generated, run.rng(4), Training(pieces=run.pieces)
        ),
    )


def scored(run: Run, network: Any, records: Frame) -> tuple[dict[str, Array], Array]:
    """Scores of the token losses, and embeddings."""
    tokens = token_matrix(records)

    def ask() -> dict[str, Array]:
        answers = LanguageModel(network).ask(tokens)
        return {"logs": answers.log_probabilities, "embeddings": answers.embeddings}

    inputs = {"model": digest(state_of(network)), "texts": digest({"tokens": tokens})}
    kept = run.pieces.arrays("scores", inputs, ask)
    return sequence_features(kept["logs"], records["text"].to_list()), kept["embeddings"]


def area(first: Array, second: Array) -> float:
    """Probability that a member's score is below another record's, ties counted half."""
    from scipy.stats import rankdata

    ranks = rankdata(np.concatenate([second, first]))[: second.size]
    return float((ranks.mean() - (second.size + 1) / 2) / first.size)


def table_of(
    records: Frame, scores: Mapping[str, Mapping[str, Array]], embedding: Array
) -> pa.Table:
    """Records with everything that the game may look at."""
    table = records.to_arrow()
    for name, own in scores.items():
        for key, values in own.items():
            table = table.append_column(f"{name}_{key}", pa.array(values))
    for j in range(embedding.shape[1]):
        table = table.append_column(f"e_{j}", pa.array(embedding[:, j]))
    return table


def run_all(run: Run, path: Path) -> None:
    """All stages."""
    s, books = run.sizes, novels(path)
    public = {k: v for n in PUBLIC for k, v in chapters(books[n], n).items()}
    audited = {k: v for n in books if n not in PUBLIC for k, v in chapters(books[n], n).items()}
    tokenizer, vocabulary, start = pretrained(run, public)
    model = finetune.save(revived(run, vocabulary, start), tokenizer, run.out / "public")
    records = chunks(audited, tokenizer, length=s.length, most=s.most)
    order = run.rng(6).permutation(len(records))
    require(
        s.members + s.nonmembers <= order.size,
        f"{order.size} chunks are too few for {s.members} members and {s.nonmembers} others.",
    )
    half = s.members // 2
    for_generator, members = records[order[:half]], records[order[half : s.members]]
    nonmembers = records[order[s.members : s.members + s.nonmembers]]
    run.say(
        f"{len(public)} public and {len(audited)} audited chapters, {len(records)} chunks: "
        f"{s.members} members, {s.nonmembers} real non-members"
    )
    everyone = token_matrix(records[order[: s.members]])
    models = targets(run, vocabulary, start, everyone)
    generated = generate(run, model, for_generator)
    cut = len(generated) // 2
    mixed = run.rng(7).permutation(len(generated))
    for_helper, shown = generated[mixed[:cut]], generated[mixed[cut:]]
    parts = {"members": members, "generated": shown, "nonmembers": nonmembers}
    others = {}
    for name, texts in (("helper", for_helper), ("reference", for_generator)):
        options = {"epochs": s.helper, "check": len(texts) // 10}
        others[name] = tuned(run, name, vocabulary, start, token_matrix(texts), 5, **options)
    known: dict[str, dict[str, Any]] = {p: {} for p in parts}
    vectors: dict[str, Array] = {}
    report = Table(title="Mean losses per token, and AUC of members against others by loss")
    for heading in ("model", "members", "real", "generated", "AUC real", "AUC generated"):
        report.add_column(heading, justify="right", no_wrap=True)
    report.add_column("AUC real, min-k", justify="right")
    for name, state in {**others, "public": start, **models}.items():
        network = revived(run, vocabulary, state)
        found = {p: scored(run, network, r) for p, r in parts.items()}
        own = {p: f[0] for p, f in found.items()}
        means = [own[p]["loss"].mean() for p in ("members", "nonmembers", "generated")]
        areas = [area(own["members"]["loss"], own[p]["loss"]) for p in ("nonmembers", "generated")]
        areas.append(area(own["members"]["min_k"], own["nonmembers"]["min_k"]))
        report.add_row(name, *(f"{v:.3f}" for v in (*means, *areas)))
        if name == "helper":
            vectors = {p: f[1] for p, f in found.items()}
        if name not in models:
            for p in parts:
                known[p][name] = own[p]
            continue
        finetune.save(network, tokenizer, run.out / name / "model")
        for p, r in parts.items():
            table = table_of(r, {"target": own[p], **known[p]}, vectors[p])
            pyarrow.parquet.write_table(table, run.out / name / f"{p}.parquet")
    run.console.print(report)
    run.say(f"wrote {', '.join(models)} to {run.out}")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run, print, write."""
    options = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    options.add_argument("--text", type=Path, default=TEXT)
    options.add_argument("--out", type=Path, default=Path("out/panoramia_text"))
    options.add_argument("--seed", type=int, default=0)
    options.add_argument("--quick", action="store_true", help="small models, in a minute or two")
    args = options.parse_args(arguments)
    torch, transformers = libraries()
    torch.set_num_threads(1)
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    out = args.out / "quick" if args.quick else args.out
    sizes = QUICK if args.quick else Sizes()
    run = Run(sizes, args.seed, Pieces(args.out / "pieces"), out, Console(width=150))
    run_all(run, args.text)


if __name__ == "__main__":
    try:
        main()
    except DivulgeError as problem:
        sys.exit(str(problem))
