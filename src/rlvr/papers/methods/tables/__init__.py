"""Kinds of tables of this paper."""
