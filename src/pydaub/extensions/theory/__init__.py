"""What can be proved: the paper's theory, and that of noisy scores."""
