"""The native engine: passes and sampler of small decoders in C++, on one CPU thread (docs/engine.md)."""
