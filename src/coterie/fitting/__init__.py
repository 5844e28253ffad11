"""Shared by all fits: progress, time limits, callbacks, threads, checks."""
