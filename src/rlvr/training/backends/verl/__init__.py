"""verl (Ray, FSDP, vLLM) as a backend: the same run specification in, verl's own trainer behind its public seams."""
