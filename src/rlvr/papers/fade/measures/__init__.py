"""Measures of trained runs of this paper."""
