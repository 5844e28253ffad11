"""Every figure and table of the five papers, ours beside the published values, each by one command."""
