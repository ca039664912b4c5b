"""Which learner gets how many rows next? Pure: standard library only, no clock, no I/O, no randomness."""
