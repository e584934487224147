"""What runs at this moment: the jobs of a Snakemake, and RL runs; read from disk alone, so any node's work shows."""
