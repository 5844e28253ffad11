"""Multiclass total variation clustering (Bresson, Laurent, Uminsky & von Brecht 2013)."""
