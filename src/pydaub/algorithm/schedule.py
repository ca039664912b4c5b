"""The sizes that a strategy may allocate: geometric as in Algorithm 1, or listed."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Final, TypeAlias

from pydaub.errors import InputError
from pydaub.records import from_one, parsed, whole

# The eleven sizes of the paper's experiments: "coarsely" geometric with b = 500 and r = 1.5, rounded by hand.
PAPER_SIZES: Final = (500, 1000, 1500, 2500, 4000, 5000, 7500, 11500, 17500, 25500, 38500)
PAPER_FIRST_SIZE: Final = 500
PAPER_RATIO: Final = "1.5"
MOST_SIZES: Final = 10_000
LARGEST_RATIO: Final = 10**18  # keeps exact arithmetic from exhausting memory

Ratio: TypeAlias = int | float | str | Decimal | Fraction


@dataclass(frozen=True, slots=True)
class Schedule:
    """Strictly increasing sizes; the last one is the full size.

    Parameters
    ----------
    sizes
        Numbers of rows, each at least 1.

    Examples
    --------
    >>> Schedule.geometric(100, first_size=10, ratio=1.5).sizes
    (10, 15, 23, 35, 53, 80, 100)
    >>> Schedule.listed(21_500, PAPER_SIZES).sizes[-3:]
    (11500, 17500, 21500)
    """

    sizes: tuple[int, ...]

    def __post_init__(self) -> None:
        given: object = self.sizes
        if not isinstance(given, Iterable):
            raise InputError(f"`sizes` must be a list of whole numbers, got {given!r}.")
        sizes = tuple(whole(size, "sizes") for size in self.sizes)
        if not sizes or sizes[0] < 1 or any(b <= a for a, b in pairwise(sizes)):
            raise InputError(f"`sizes` must be at least one and strictly grow from 1 or more, got {sizes}.")
        object.__setattr__(self, "sizes", sizes)

    @property
    def full_size(self) -> int:
        """Number of all training rows: the paper's N."""
        return self.sizes[-1]

    @classmethod
    def geometric(cls, full_size: int, first_size: int = PAPER_FIRST_SIZE, ratio: Ratio = PAPER_RATIO) -> Schedule:
        """Return the sizes b, ceil(r b), ceil(r ceil(r b)), ..., capped at the full size (Algorithm 1).

        Parameters
        ----------
        full_size
            Number of all training rows.
        first_size
            The paper's b. `first_size` times `ratio` squared must not exceed `full_size`, so that there is room for
            three sizes.
        ratio
            The paper's r, greater than 1: a number, a `Fraction`, or text such as "1.5" or "3/2". It is taken as the
            decimal that was written and computed with exactly: 1.1 times 10 is 11, and not the 12 that rounding up the
            binary 1.1 would give.
        """
        full_size, first_size = from_one(full_size, "full_size"), from_one(first_size, "first_size")
        r = exact(ratio)
        if first_size * r * r > full_size:  # Alg. 1, Params
            raise InputError(_too_large(full_size, first_size, ratio, r))
        sizes = [first_size]
        while sizes[-1] < full_size:
            if len(sizes) == MOST_SIZES:
                raise InputError(
                    f"`ratio` must give at most {MOST_SIZES} sizes from {first_size} to {full_size}, got {ratio}."
                    " Choose a larger one."
                )
            sizes.append(min(math.ceil(r * sizes[-1]), full_size))  # Alg. 1: n_j <- min{ceil(r n_j), N}
        return cls(tuple(sizes))

    @classmethod
    def listed(cls, full_size: int, sizes: Iterable[int] = PAPER_SIZES) -> Schedule:
        """Return the listed sizes below the full size, followed by the full size.

        Parameters
        ----------
        full_size
            Number of all training rows.
        sizes
            Strictly increasing sizes; by default those of the paper's experiments.
        """
        full_size = from_one(full_size, "full_size")
        checked = cls(sizes).sizes  # type: ignore[arg-type]  # converted to a tuple there
        return cls((*(size for size in checked if size < full_size), full_size))


def exact(ratio: Ratio) -> Fraction:
    """Return the ratio as an exact fraction of the decimal that was written; raise `InputError` unless it exceeds 1."""
    number = _number(ratio)
    if number <= 1:
        raise InputError(f"`ratio` must be greater than 1, got {ratio}.")
    if number >= LARGEST_RATIO:
        raise InputError(f"`ratio` must be less than {LARGEST_RATIO:.0e}, got {ratio}.")
    return Fraction(number)


def _number(ratio: Ratio) -> Decimal | Fraction:
    try:
        if isinstance(ratio, int | Fraction) or "/" in str(ratio):
            return Fraction(ratio) if isinstance(ratio, int | Fraction) else parsed(Fraction, str(ratio))
        number = parsed(Decimal, str(ratio))
    except (ArithmeticError, ValueError):
        number = Decimal("nan")
    if not number.is_finite():
        raise InputError(f"`ratio` must be a finite number greater than 1, got {ratio!r}.")
    return number


def _too_large(full_size: int, first_size: int, ratio: Ratio, r: Fraction) -> str:
    largest = math.floor(full_size / (r * r))
    advice = (
        f"The largest `first_size` that works is {largest}."
        if largest
        else f"No `first_size` works: choose a smaller ratio, or give at least {math.ceil(r * r)} rows."
    )
    return (
        f"`first_size` times `ratio` squared must be at most the full size {full_size},"
        f" got {first_size} x {ratio}^2. {advice}"
    )


def check_one_way(first_size: object, ratio: object, sizes: object) -> None:
    """Refuse a list of sizes together with the parameters of a geometric schedule."""
    if sizes is not None and (first_size is not None or ratio is not None):
        raise InputError("`sizes` must be given without `first_size` and `ratio`. Choose one of the two ways.")


def parsed_sizes(sizes: str | Iterable[int]) -> Iterable[int]:
    """Return sizes that may have been given as text.

    >>> parsed_sizes("500, 1000")
    (500, 1000)
    """
    if not isinstance(sizes, str):
        return sizes
    if sizes == "paper":
        return PAPER_SIZES
    try:
        return tuple(parsed(int, size) for size in sizes.split(","))
    except ValueError:
        raise InputError(f"`sizes` must be whole numbers separated by commas, or 'paper', got {sizes!r}.") from None
