"""`rlvr models`: lists the models of the hub with their commits, and looks up commits of branches."""

import datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from rlvr.commands.checkout import ConfigFolder, folder_of
from rlvr.commands.lines import say

HELP = "List the models of the hub, and look up commits of branches.\n\nExample: rlvr models"
app = typer.Typer(invoke_without_command=True, help=HELP)

SECONDS = 20.0  # time limit for the hub's answer
HEAD = "# Commits of branches of models.yaml, by `rlvr models resolve`. Planning uses them in place of the branch.\n"


@app.callback()
def show(context: typer.Context, config_folder: ConfigFolder = None) -> None:
    """List every model of the hub: repository, revision in models.yaml, whether that is a commit, and the commit.

    Plans may use a model without a commit, but training and sampling reject it.
    """
    if context.invoked_subcommand is not None:
        return
    from tabulate import tabulate

    _, models, revisions = _read(config_folder)
    rows = [_row(model, revisions.get(name)) for name, model in models.items()]
    typer.echo(tabulate(rows, headers=["name", "repository", "revision", "pinned", "commit"]))


@app.command()
def resolve(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[NAME]...", help="Models; default: all with a branch.")
    ] = None,
    config_folder: ConfigFolder = None,
) -> None:
    """Ask the hub for the commits of branches, and write them to config/revisions.yaml.

    With HF_HUB_OFFLINE=1 the commits come from the hub's local cache. A new commit means new runs.

    Example: rlvr models resolve
    """
    import yaml

    from rlvr.config.load import look_up
    from rlvr.config.schema.models_and_data import Revision
    from rlvr.files import publish

    folder, models, old_revisions = _read(config_folder)
    chosen = {name: look_up(models, name, "model of the hub", "NAME") for name in names or models}
    revisions, problems = {name: old_revisions[name] for name in models if name in old_revisions}, []
    for name, model in chosen.items():
        if model.pinned:
            typer.echo(f"{name}: is pinned to {model.revision} in {folder / 'models.yaml'}")
            continue
        try:
            commit = commit_of(model.repo, model.revision)
        except LookupError as error:
            problems.append(f"{name}: {error}")
            continue
        today = datetime.date.today().isoformat()
        revisions[name] = Revision(name=name, repo=model.repo, revision=model.revision, commit=commit, date=today)
        before = old_revisions.get(name)
        change = f"; it was {before.commit}, and its runs get new names" if before and before.commit != commit else ""
        typer.echo(f"{name}: {model.repo} at {model.revision} is {commit}{change}")
    if revisions != old_revisions:
        in_order = {name: revisions[name] for name in models if name in revisions}
        content = {name: revision.model_dump(exclude={"name"}) for name, revision in in_order.items()}
        publish(folder / "revisions.yaml", HEAD + yaml.safe_dump(content, sort_keys=False))
    for problem in problems:
        say(problem)
    if problems:
        raise typer.Exit(2)


def commit_of(repo: str, revision: str) -> str:
    """The commit of a branch, from the hub, or offline from its cache. Raises LookupError with what to do."""
    from huggingface_hub import HfApi, constants
    from huggingface_hub.file_download import repo_folder_name

    if constants.HF_HUB_OFFLINE:
        folder = Path(constants.HF_HUB_CACHE) / repo_folder_name(repo_id=repo, repo_type="model")
        reference = folder / "refs" / revision
        if not reference.is_file():
            raise LookupError(f"{reference}: no such file; ask the hub itself, without HF_HUB_OFFLINE")
        return reference.read_text().strip()  # a commit
    try:
        return str(HfApi().model_info(repo, revision=revision, timeout=SECONDS).sha)
    except Exception as error:  # the client raises many types
        raise LookupError(
            f"the hub gave no commit of {repo} at {revision!r} ({type(error).__name__}); try again, or set "
            "HF_HUB_OFFLINE=1 to take the one in the local cache, or write a commit into config/models.yaml"
        ) from error


def _read(folder: Path | None) -> tuple[Path, dict[str, Any], dict[str, Any]]:
    """The folder, the hub's models of models.yaml, and the resolved revisions."""
    from rlvr.config.load import models_as_written, named_entries, read_revisions, read_yaml
    from rlvr.config.schema.models_and_data import HubModel, Prompt

    path = folder_of(folder)
    prompts = named_entries(Prompt, read_yaml(path / "prompts.yaml", path.parent))
    models, revisions = models_as_written(path, path.parent, prompts), read_revisions(path, path.parent)
    return path, {name: model for name, model in models.items() if isinstance(model, HubModel)}, revisions


def _row(model: Any, pin: Any) -> list[str]:
    if model.pinned:
        return [model.name, model.repo, "a commit", "yes", model.revision]
    if pin is None or (pin.repo, pin.revision) != (model.repo, model.revision):
        return [model.name, model.repo, model.revision, "no", f"unknown: rlvr models resolve {model.name}"]
    return [model.name, model.repo, model.revision, "no", f"{pin.commit} ({pin.date})"]
