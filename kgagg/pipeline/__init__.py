"""What the Snakefile imports: configuration, plan, costs, provenance."""
