"""Planning: papers and a scale become a plan of every run, evaluation, table and figure, with identities and paths."""
