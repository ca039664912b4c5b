"""WEKA's classifiers as scikit-learn estimators.

This module imports nothing, so that portfolios without WEKA cost nothing.
"""
