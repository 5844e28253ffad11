"""K-means with size constraints: a minimum and a maximum size of clusters."""
