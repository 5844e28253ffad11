"""Comparison of methods on the same rows (`compare`), and its page."""
