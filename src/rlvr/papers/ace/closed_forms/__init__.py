"""Closed forms of this paper."""
