"""OpenML data sets, by number or name, downloaded and cached by scikit-learn."""

from __future__ import annotations

import warnings
from http.client import HTTPException
from typing import Any, Final

import numpy as np
from sklearn.datasets import fetch_openml

from pydaub.data.formats.base import NamedFormat, Source
from pydaub.data.names import checked_names
from pydaub.errors import InputError

PREFIX: Final = "openml:"


def read_openml(source: str) -> Source:
    """Return the rows of `openml:61` or `openml:iris`, the first active version of that name."""
    wanted = source.removeprefix(PREFIX).strip()
    if not wanted or (wanted.isdecimal() and int(wanted) < 1):
        raise InputError(f"`source` must be openml: and a number or a name, such as openml:61, got {source!r}.")
    which = {"data_id": int(wanted)} if wanted.isdecimal() else {"name": wanted}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about retries and about several versions of one name
            # No target column: scikit-learn would leave out the zeros of the target of sparse rows.
            fetched = fetch_openml(**which, target_column=None, as_frame="auto")
    except (OSError, HTTPException) as error:
        reason = getattr(error, "reason", None) or error
        raise InputError(f"Cannot fetch {source} from OpenML: {reason}. Check the network and try again.") from None
    except (ValueError, LookupError, TypeError) as error:
        raise InputError(f"{source} must be a data set that scikit-learn can fetch, got: {error}") from None
    names = checked_names(fetched.feature_names, source)
    declared = fetched.details.get("default_target_attribute")
    label = declared if declared in names else None
    if fetched.frame is None:
        return _sparse(source, fetched, names, label)
    return Source(source, fetched.frame[fetched.feature_names].set_axis(names, axis=1), label=label)


def _sparse(source: str, fetched: Any, names: list[str], label: str | None) -> Source:  # noqa: ANN401  # a Bunch of scikit-learn
    """Return sparse rows without their target column, and the target with its class names if it has any."""
    rows = fetched.data.tocsc()
    if label is None:
        return Source(source, rows.tocsr())
    place = names.index(label)
    target = rows[:, [place]].toarray().ravel()
    values = (fetched.categories or {}).get(label)
    if values is not None:
        target = np.array(values, dtype=object)[target.astype(int)]
    return Source(source, rows[:, [other for other in range(len(names)) if other != place]].tocsr(), target)


OPENML: Final = NamedFormat("OpenML", lambda source: source.startswith(PREFIX), read_openml)
