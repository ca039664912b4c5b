"""WEKA's classifiers as learners: where WEKA is, its JVM, rows on their way there, the estimator, the paper's 41.

Nothing is imported here, so that whoever asks for another portfolio pays nothing.
"""
