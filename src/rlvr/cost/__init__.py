"""What a plan costs before anything is submitted: FLOPs, seconds, GPUs, disk, and a simulated schedule."""
