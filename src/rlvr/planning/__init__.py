"""Planning: from papers and a scale to the plan of every run, evaluation, table and figure."""
