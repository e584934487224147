"""Sources of models (`rlvr.config.registries.SourceKind`), by the `source` of an entry of config/models.yaml."""


class Unbuildable(RuntimeError):
    """A model that cannot be made; the message says in one line what to do."""
