"""The league: every estimator on one task, ranked at equal pass@1 (ranking), as a table, a tree and profiles."""
