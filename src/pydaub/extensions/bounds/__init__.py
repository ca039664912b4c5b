"""Which bounds are there beside the paper's? One module per family; `pyproject.toml` names them as entry points."""
