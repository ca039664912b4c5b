"""Train a byte-level language model in one pass over its rows; answer with its bits per byte on validation rows."""

from __future__ import annotations

import argparse
import json
import math
import os
import time
from pathlib import Path

import torch
from torch import nn

VOCABULARY, CONTEXT = 128, 256  # ASCII; a row has one byte more than the context
BATCH = 32
STATE = "state.pt"


class Gru(nn.Module):
    """A recurrent network with two layers."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, width)
        self.layers = nn.GRU(width, width, num_layers=2, batch_first=True)
        self.out = nn.Linear(width, VOCABULARY)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the logits of the next byte at every place."""
        return self.out(self.layers(self.embedding(x))[0])


class Transformer(nn.Module):
    """A decoder; wider ones are deeper."""

    def __init__(self, width: int) -> None:
        super().__init__()
        depth = max(2, width // 64)
        self.embedding, self.places = nn.Embedding(VOCABULARY, width), nn.Embedding(CONTEXT, width)
        layer = nn.TransformerEncoderLayer(
            width, max(width // 32, 1), 4 * width, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
        )
        self.layers = nn.TransformerEncoder(layer, depth, nn.LayerNorm(width), enable_nested_tensor=False)
        self.out = nn.Linear(width, VOCABULARY)
        self.register_buffer("mask", nn.Transformer.generate_square_subsequent_mask(CONTEXT), persistent=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the logits of the next byte at every place."""
        hidden = self.embedding(x) + self.places(torch.arange(x.shape[1], device=x.device))
        return self.out(self.layers(hidden, mask=self.mask, is_causal=True))


KINDS = {"gru": Gru, "transformer": Transformer}


def rows_of(path: str, skip: int = 0) -> torch.Tensor:
    """Return rows as bytes."""
    lines = Path(path).read_text(encoding="utf-8").splitlines()[skip:]
    texts = (json.loads(line)["text"].encode("ascii")[: CONTEXT + 1] for line in lines)
    return torch.tensor([list(text) for text in texts], dtype=torch.long).reshape(-1, CONTEXT + 1)


def loss_of(model: nn.Module, batch: torch.Tensor) -> torch.Tensor:
    """Return the mean loss of the next byte."""
    return nn.functional.cross_entropy(model(batch[:, :-1]).flatten(0, 1), batch[:, 1:].flatten())


def main() -> None:
    """Train on the rows that the smaller size has not seen, and score."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", help="gru-WIDTH or transformer-WIDTH")
    for name in ("rows", "validation", "folder"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--before", default="", help="the folder of a smaller size")
    given = parser.parse_args()
    kind, width = given.model.split("-")
    torch.manual_seed(int(os.environ["PYDAUB_SEED"]))
    torch.set_num_threads(int(os.environ["PYDAUB_THREADS"]))
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = KINDS[kind](int(width)).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3 * math.sqrt(64 / int(width)))
    seen = 0
    if given.before:
        state = torch.load(Path(given.before) / STATE, map_location=device, weights_only=True)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        seen = state["seen"]
    began = time.perf_counter()
    rows = rows_of(given.rows, seen).to(device)
    whole = len(rows) // BATCH * BATCH  # what is left over begins the next size
    for start in range(0, whole, BATCH):
        optimizer.zero_grad()
        loss = loss_of(model, rows[start : start + BATCH])
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    if device == "cuda":
        torch.cuda.synchronize()
    seconds = time.perf_counter() - began
    model.eval()
    with torch.no_grad():
        dev = rows_of(given.validation).to(device)
        losses = [loss_of(model, batch).item() * len(batch) for batch in dev.split(BATCH)]
    state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "seen": seen + whole}
    torch.save(state, Path(given.folder) / STATE)
    bits = 1 / math.log(2)
    answer = {
        "score": bits * sum(losses) / len(dev),
        "rows_scored": len(dev),
        "metrics": {"parameters": sum(each.numel() for each in model.parameters()), "training_seconds": seconds},
        "model": STATE,
    }
    print(json.dumps(answer))


if __name__ == "__main__":
    main()
