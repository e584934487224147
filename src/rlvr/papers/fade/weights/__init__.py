"""What RL changes in a policy's weights and hidden states (FADE, sec. 4.2 and App. 15)."""
