"""Files of rows, a reader each."""
