"""How is it decided? Pure: the standard library only, no clock, no I/O, no randomness."""
