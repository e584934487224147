"""Kinds of figures of this paper."""
