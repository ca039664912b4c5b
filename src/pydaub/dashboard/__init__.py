"""The live page of a run: a light process of its own that follows a journal and lets a person steer."""
