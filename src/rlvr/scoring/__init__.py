"""Scoring: grade -> score, apart from sampling, so that grading again samples nothing."""
