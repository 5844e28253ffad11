"""What every fit shares, whatever it fits: progress and time, callbacks, threads, checks."""
