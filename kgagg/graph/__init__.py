"""The knowledge graph: names, the triples of each split, the facts of train to walk along."""
