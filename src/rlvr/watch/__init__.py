"""What runs at this moment: the jobs of a Snakemake, and RL runs; read only from disk, so any node's work shows."""
