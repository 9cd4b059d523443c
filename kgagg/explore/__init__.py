"""Look at a graph, its predictions and their reasons in a browser.

- `names`: find entities and relations as one types
- `explorer`: what each view shows, as plain values
- `pages`: views as HTML and as CSV
- `server`: views at addresses, for a browser on this machine
- `archive`: views as files
"""
