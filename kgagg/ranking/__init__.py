"""From the scores of candidates to the filtered ranks of targets, ties made explicit."""
