"""What one run may take: files that are files, archives that hold what they say, and memory that is there."""
