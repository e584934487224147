"""Published models in the hub's local cache: fetched once, with network; later stages only read them."""

from pathlib import Path
from typing import Any

from huggingface_hub import constants, get_token, snapshot_download
from huggingface_hub.errors import GatedRepoError
from huggingface_hub.file_download import repo_folder_name

from rlvr.config.schema.models_and_data import HubModel

LEFT_OUT = ["original/*", "*.pth"]  # Llama's second copy of its weights
NEEDED = ("config.json", "*.safetensors")
FETCH = "snakemake --config scale=SCALE -- models"


class HubError(RuntimeError):
    """A model that is not in the cache and could not be fetched; the message says what to do, in one line."""


def fetch(model: HubModel) -> dict[str, Any]:
    """The folder of a model's files at its commit, and their sizes in bytes, after fetching the missing ones.

    Without network, a whole copy in the cache will do. Raises HubError.
    """
    try:
        folder = Path(snapshot_download(model.repo, revision=model.revision, ignore_patterns=LEFT_OUT))
    except GatedRepoError as error:
        account = "" if get_token() else "; no token was found on this machine"
        raise HubError(f"{model.how_to_be_let_in} (the hub answered {error.response.status_code}{account})") from error
    except Exception as error:  # the client raises many types
        raise HubError(
            f"{model.repo} at {model.revision} is not whole in the hub's cache ({constants.HF_HUB_CACHE}) and could "
            f"not be fetched ({type(error).__name__}: {' '.join(str(error).split())[:200]}); fetch it where there is "
            f"network, such as on the login node: {FETCH}"
        ) from error
    for pattern in NEEDED:
        if not list(folder.glob(pattern)):
            raise HubError(f"{model.repo} at {model.revision} has no {pattern} ({folder})")
    return {"folder": str(folder), "files": sizes(folder)}


def sizes(folder: Path) -> dict[str, int]:
    """Bytes by file, by the path below a folder."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.stat().st_size for path in files}


def cached(repo: str, commit: str, snapshot: dict[str, Any]) -> Path | None:
    """The folder with all files of a fetched snapshot: where it was fetched to, or in this process's cache."""
    own = Path(constants.HF_HUB_CACHE) / repo_folder_name(repo_id=repo, repo_type="model") / "snapshots" / commit
    folders = (Path(snapshot["folder"]), own)
    return next((folder for folder in folders if snapshot["files"].items() <= sizes(folder).items()), None)
