"""What the core does without: found by entry points, as what any other package adds."""
