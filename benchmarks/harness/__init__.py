"""What all systems share: contenders, options, measuring, limits of the machine, data, reports."""
