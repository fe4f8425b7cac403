"""An n-gram encoder of distill as a module of Sentence-Transformers, in PyTorch.

Token ids -> piece embeddings -> one residual convolution branch an n-gram order -> joined, normalised, summed over
tokens / sqrt(n) -> residual feed-forward network -> tanh -> a vector of unit length. Yang et al. (2020), Multilingual
Universal Sentence Encoder for Semantic Retrieval, section 2.

This file runs where a folder with it is opened with `trust_remote_code=True`. It reads the files of that folder and
nothing else.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import cached_property

import torch
from sentence_transformers.base.modules import InputModule
from tokenizers import Tokenizer
from torch import Tensor, nn

EPSILON = 1e-12
# Behind the ids that a spelling stands for.
END = -1
FILE = "tokenizer.json"
FROM_HUB = ("token", "cache_folder", "revision", "local_files_only")


class Branch(nn.Module):
    """Projection, LayerNorm and residual convolutions of an n-gram order: `(b, t, w)` -> `(b, t, c)`."""

    def __init__(self, order: int, width: int, channels: int, convolutions: int) -> None:
        super().__init__()
        self.order = order
        self.projection = nn.Linear(width, channels)
        self.norm = nn.LayerNorm(channels, eps=EPSILON)
        self.convolutions = nn.ModuleList([nn.Linear(order * channels, channels) for _ in range(convolutions)])

    def forward(self, x: Tensor, keep: Tensor) -> Tensor:
        """Return the features of embeddings; `keep` `(b, t, 1)` is 0 where padded."""
        x = self.norm(self.projection(x))
        for convolution in self.convolutions:
            # A convolution reads its neighbours, so padding has to be zero again before each.
            x = x * keep
            x = x + torch.relu(convolution(windows(x, self.order)))
        return x


class Head(nn.Module):
    """The residual feed-forward network and tanh: `(b, d)` -> `(b, d)`."""

    def __init__(self, hidden: int, inner: int, dimension: int) -> None:
        super().__init__()
        self.first = nn.Linear(dimension, hidden, bias=False)
        self.second = nn.Linear(hidden, hidden, bias=False)
        self.second_skip = nn.Linear(dimension, hidden, bias=False)
        self.third = nn.Linear(hidden, inner, bias=False)
        self.fourth = nn.Linear(inner, dimension, bias=False)
        self.fourth_skip = nn.Linear(hidden, dimension, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Return what the network makes of pooled texts."""
        hidden = torch.relu(self.second_skip(x) + self.second(torch.relu(self.first(x))))
        return torch.tanh(self.fourth_skip(hidden) + self.fourth(torch.relu(self.third(hidden))))


class NGramEncoder(InputModule):
    """Texts -> vectors `(b, dimension)` of unit length.

    `sizes` are the numbers in its `config.json`, `orders` those of the branches, `empty` the ids of a text of none. Ids
    from `sizes["vocabulary"]` on are spellings: pieces that stand for others.
    """

    def __init__(
        self, tokenizer: Tokenizer, sizes: Mapping[str, int], orders: Sequence[int], empty: Sequence[int]
    ) -> None:
        super().__init__()
        self.sizes, self.orders, self.empty, self.tokenizer = dict(sizes), list(orders), list(empty), tokenizer
        self.tokenizer.no_padding()
        width, rank, channels = sizes["width"], sizes["rank"], sizes["channels"]
        convolutions, space = sizes["convolutions"], sizes["space"]
        features = width + channels * len(orders)
        self.embedding = nn.Embedding(sizes["vocabulary"], rank or width)
        self.factor = nn.Linear(rank, width, bias=False) if rank else None
        self.branches = nn.ModuleList([Branch(order, width, channels, convolutions) for order in orders])
        self.norm = nn.LayerNorm(features, eps=EPSILON)
        self.pooling = nn.Linear(features, space)
        self.head = Head(sizes["hidden"], sizes["inner"], space)
        self.projection = nn.Linear(space, sizes["dimension"], bias=False) if sizes["projected"] else None
        if sizes["spellings"]:
            self.register_buffer("spellings", torch.full((sizes["spellings"],), END, dtype=torch.int32))

    def preprocess(self, inputs: list[str], prompt: str | None = None, **kwargs: str | None) -> dict[str, Tensor]:
        """Return ids `(b, t)` and a mask that is 0 where they are padded."""
        texts = [(prompt or "") + text for text in inputs]
        encodings = self.tokenizer.encode_batch(texts, add_special_tokens=False)
        rows = [self.expanded(encoding.ids or self.empty) for encoding in encodings]
        ids = torch.zeros(len(rows), max(map(len, rows), default=0), dtype=torch.long)
        mask = torch.zeros_like(ids)
        for place, row in enumerate(rows):
            ids[place, : len(row)] = torch.tensor(row)
            mask[place, : len(row)] = 1
        return {"input_ids": ids, "attention_mask": mask}

    def expanded(self, ids: list[int]) -> list[int]:
        """Return the ids of pieces, with those that a spelling stands for in its place."""
        first = self.sizes["vocabulary"]
        if max(ids) < first:
            return ids
        numbers, starts = self.stand_for
        parts = [[id] if id < first else numbers[starts[id - first] : starts[id - first + 1] - 1] for id in ids]
        return [id for part in parts for id in part]

    @cached_property
    def stand_for(self) -> tuple[list[int], list[int]]:
        """The ids that spellings stand for, with -1 behind each, and where those of each begin."""
        numbers = self.spellings.tolist()
        return numbers, [0, *(place + 1 for place, number in enumerate(numbers) if number == END)]

    def forward(self, features: dict[str, Tensor], **kwargs: str | None) -> dict[str, Tensor]:
        """Add the vectors of texts to their features."""
        x = self.embedding(features["input_ids"])
        x = x if self.factor is None else self.factor(x)
        keep = features["attention_mask"].to(x.dtype)[:, :, None]
        joined = torch.cat([x, *(branch(x, keep) for branch in self.branches)], dim=-1)
        summed, count = (self.norm(joined) * keep).sum(dim=1), keep.sum(dim=1)
        pooled = summed @ self.pooling.weight.T + count * self.pooling.bias
        vectors = self.head(pooled / count.sqrt())
        vectors = vectors if self.projection is None else self.projection(unit(vectors))
        features["sentence_embedding"] = unit(vectors)
        return features

    def get_embedding_dimension(self) -> int:
        """Return the number of components of a vector."""
        return self.sizes["dimension"]

    def get_config_dict(self) -> dict[str, dict[str, int] | list[int]]:
        """Return what `config.json` holds."""
        return {"sizes": self.sizes, "orders": self.orders, "empty": self.empty}

    @property
    def max_seq_length(self) -> int | None:
        """Most tokens of a text: any number."""
        return None

    def save(self, output_path: str, *args: str, safe_serialization: bool = True, **kwargs: str | None) -> None:
        """Write the module's files; this one has to be copied beside them."""
        self.save_config(output_path)
        self.save_torch_weights(output_path, safe_serialization=safe_serialization)
        self.tokenizer.save(os.path.join(output_path, FILE))

    @classmethod
    def load(cls, model_name_or_path: str, subfolder: str = "", **kwargs: str | bool | None) -> NGramEncoder:
        """Return the module in a folder or a repository of the hub."""
        where = {"subfolder": subfolder, **{name: kwargs[name] for name in FROM_HUB if name in kwargs}}
        tokenizer = Tokenizer.from_file(cls.load_file_path(model_name_or_path, FILE, **where))
        module = cls(tokenizer, **cls.load_config(model_name_or_path, **where))
        return cls.load_torch_weights(model_name_or_path, **where, model=module)


def windows(x: Tensor, order: int) -> Tensor:
    """Lay each token with its neighbours side by side, zeros beyond the ends: `(b, t, c)` -> `(b, t, order * c)`."""
    before = (order - 1) // 2
    padded = nn.functional.pad(x, (0, 0, before, order - 1 - before))
    return torch.cat([padded[:, place : place + x.shape[1]] for place in range(order)], dim=-1)


def unit(x: Tensor) -> Tensor:
    """Return rows at unit length; zeros stay."""
    return x / x.square().sum(dim=-1, keepdim=True).clamp(min=EPSILON).sqrt()
