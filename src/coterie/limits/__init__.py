"""Limits of a run: regular files, consistent archives, and available memory."""
