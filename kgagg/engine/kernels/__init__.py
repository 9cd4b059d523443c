"""Kernels of the engine: the rule index, and its application to queries.

In the order of the data: `layout` (records and columns), `trie` (cyclic bodies, shared prefixes),
`families` (which paths must be kept), `frontier` (walks along bodies), `search` (bodies that are no
paths), `hits` (acyclic and general rules), `query` (one query after the other), `write` (the best
rules of each candidate), `sorting`.
"""
