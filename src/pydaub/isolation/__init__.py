"""Run a call in a child process under a time limit and a memory limit. Knows nothing about learning."""
