"""The knowledge graph: names, the triples of each split, and the adjacency of train."""
