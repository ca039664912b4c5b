"""Train a learner on a sample and measure it."""
