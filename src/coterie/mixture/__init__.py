"""Gaussian mixtures with very many components (Hirschberger, Forster & Lücke 2022)."""
