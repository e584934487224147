"""What the Snakefile asks before any job runs: targets, places to write, locks."""
