"""Architectures that `rlvr.policies.decoder` computes (`rlvr.config.registries.ArchitectureKind`)."""
