"""Tasks: where problems come from. One module a task; its name is the `task` of a data set's entry."""
