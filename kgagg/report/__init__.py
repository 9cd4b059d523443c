"""Tables, plots, claims and the page of a run."""
