"""What to choose: a number of clusters, or none; a method, or any."""
