"""The extra of this package that installs a missing module."""

DISTRIBUTION = "rlvr-reproduction"
# The extra of pyproject.toml with a module, and the one with all modules of a command.
OF_MODULE = {
    "torch": "torch",
    "transformers": "train",
    "datasketch": "data",
    "huggingface_hub": "data",
    "pyarrow": "data",
    "jinja2": "workflow",
}
OF_COMMAND = {"diversity": "diversity"}


def requirement(command: str, module: str) -> str:
    """The requirement for pip: the distribution with the extra, or without where the module is in its base."""
    if module not in OF_MODULE:
        return DISTRIBUTION
    return f"{DISTRIBUTION}[{OF_COMMAND.get(command, OF_MODULE[module])}]"
