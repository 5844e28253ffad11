"""What estimators have in common, whichever paper they are from."""
