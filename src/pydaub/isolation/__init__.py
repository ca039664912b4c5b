"""How is a call run in a child process, with limits that hold? Knows nothing of learning."""
