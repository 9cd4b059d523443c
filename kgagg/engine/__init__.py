"""Apply rules to queries: the rule index, the kernels, the driver."""
