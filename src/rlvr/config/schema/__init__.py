"""What configuration may say: every key has its type here, and unknown keys are errors."""
