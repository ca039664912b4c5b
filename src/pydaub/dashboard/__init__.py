"""The live page and the report: a light process that follows a journal and lets a person steer the run."""
