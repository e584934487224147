"""The types of all configuration keys; unknown keys are errors."""
