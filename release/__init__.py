"""What makes a release: wheels for every platform, the checks before an upload, the conda recipe."""
