"""Statistics: pass@k, intervals, paired differences. Data frames in, data frames out; no torch."""
