"""How is a run shown? Everything here draws from one account of the run."""
