"""What happens in a run, and what remains of it?"""
