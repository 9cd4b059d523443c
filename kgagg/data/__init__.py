"""Where data come from: the registry, downloads that are verified, archives, labels."""
