"""Algorithm 1 of the paper, transcribed line by line, to hold the library against. Works in any arithmetic."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

Scores = Callable[[int, int], tuple[Any, Any]]  # (i, n) -> training and validation accuracy


def daub(
    M: int, N: int, r: Fraction, b: int, accuracy: Scores, *, use_f_T: bool = True
) -> tuple[int, list[tuple[int, int]]]:
    """Return the selected learner and the data allocation sequence S; ties go to the lowest index."""
    S: list[tuple[int, int]] = []
    sizes: dict[int, list[int]] = {i: [] for i in range(M)}
    f_T: dict[tuple[int, int], Any] = {}
    f_V: dict[tuple[int, int], Any] = {}
    raw: dict[tuple[int, int], Any] = {}
    u: dict[int, Any] = {}

    def train_learner(i: int, n: int) -> None:
        f_T[i, n], f_V[i, n] = accuracy(i, n)
        raw[i, n] = f_V[i, n]
        if sizes[i]:  # n/r >= b: there is a previous size
            previous = sizes[i][-1]
            delta = f_V[i, n] - f_V[i, previous]
            if delta < 0:
                f_V[i, previous] += delta / 2  # the paper's signs are the other way round, its text is not
                f_V[i, n] -= delta / 2
        sizes[i].append(n)

    def update_bound(i: int) -> Any:
        x = sizes[i][-3:]
        y = [f_V[i, n] for n in x]
        x_mean, y_mean = Fraction(sum(x), len(x)), sum(y) / len(y)
        slope = sum((p - x_mean) * (q - y_mean) for p, q in zip(x, y, strict=True)) / sum((p - x_mean) ** 2 for p in x)
        n = x[-1]
        ub = f_V[i, n] + (N - n) * slope
        return min(f_T[i, n], ub) if use_f_T else ub

    for i in range(M):
        n = b
        for k in range(3):
            if k:
                n = min(math.ceil(r * n), N)
            if n not in sizes[i]:  # rounding up may reach N before the third size
                S.append((i, n))
                train_learner(i, n)
        if n < N:
            u[i] = update_bound(i)
    if all(sizes[i][-1] == N for i in range(M)):
        return max(range(M), key=lambda i: (raw[i, N], -i)), S
    while max(sizes[i][-1] for i in range(M)) < N:
        j = max(range(M), key=lambda i: (u[i], -i))
        n_j = min(math.ceil(r * sizes[j][-1]), N)
        S.append((j, n_j))
        train_learner(j, n_j)
        u[j] = update_bound(j)
    return next(i for i in range(M) if sizes[i][-1] == N), S
