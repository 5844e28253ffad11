"""Density-based clustering and its competitors at their defaults: exactness, quality, stability, speed.

Goes on where it was ended: what the folder of results has is not run again. --page writes the page of what is there.
"""
