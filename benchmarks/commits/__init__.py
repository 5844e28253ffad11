"""Our own speed over our own commits, by asv."""
