"""How does a run get into other programs? One module for each form."""
