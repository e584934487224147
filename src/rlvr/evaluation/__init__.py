"""Evaluation: generate -> grade -> score, three stages apart, so that re-grading never samples again."""
