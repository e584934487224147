"""FADE's statements, one module per group of sections."""

from rlvr.papers.fade.theory import constants, controller, decomposition, entropy, masses, rank, turns, variance
from rlvr.theory.statement import Chapter

_SECTIONS = (decomposition, constants, masses, controller, turns, entropy, variance, rank)
chapter = Chapter("FADE", place=2, sections=[module.section for module in _SECTIONS])
