"""What does training a learner on a sample give?"""
