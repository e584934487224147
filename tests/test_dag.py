"""The DAG, planned by the real Snakemake on the real configuration."""
