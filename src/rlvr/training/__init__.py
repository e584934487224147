"""Training in process: SFT and RL on one device, with checkpoints that survive any moment's end."""
