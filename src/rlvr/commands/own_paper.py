"""What `rlvr train` and `rlvr evaluate` share: a model, problems and a paper of one's own, in own/<name>.yaml."""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from itertools import chain, count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rlvr.commands.lines import fail, say
from rlvr.suggest import nearest

if TYPE_CHECKING:
    from rlvr.config.plan import Plan

HEAD = "# By `rlvr` (content {digest}). Edited, it runs by: snakemake --config own={file} -- paper_{name}\n"
KEPT = (".json", ".safetensors", ".txt", ".model", ".jinja")  # files of a model's folder that decide what it says
BOX = "\nPlease reason step by step, and put your final answer within \\boxed{}."  # as in config/prompts.yaml
BOXED = ("math", "math_verify", "choice")  # verifiers that read the box
OF_TRAINING = ("sft", "rl", "reward", "estimator", "loss", "critic", "probe", "selection", "collapse")
UNUSED = {"train": ("sft",), "evaluate": OF_TRAINING}  # sections of settings that a command does not read

Models = Annotated[
    list[str], typer.Option("--model", help="A folder that transformers loads, or owner/name[@revision] of the hub.")
]
Prompt = Annotated[
    str | None,
    typer.Option(
        help="A name of config/prompts.yaml, or a text with {problem}. Default: what a policy of this project was "
        "trained with, else the model's chat template."
    ),
]
Problems = Annotated[Path, typer.Option("--data", help='JSON lines: {"prompt": "What is 2 + 3?", "answer": "5"}')]
Verifier = Annotated[str, typer.Option(help="What judges answers: math, choice, exact, code, ... (docs/grading.md).")]
OwnName = Annotated[str | None, typer.Option("--name", help="Of own/NAME.yaml and of the table. Default: the data's.")]
Device = Annotated[str | None, typer.Option(help="cpu or gpu. Default: a GPU if torch finds one.")]
Changes = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="SECTION.KEY=VALUE", help="Any setting of config/defaults.yaml; may be repeated."),
]
DryRun = Annotated[bool, typer.Option("--dry-run", "-n", help="Write own/NAME.yaml, and say which jobs would run.")]
Cores = Annotated[int | None, typer.Option(help="Cores, each for one run. Default: all.", min=1)]
Results = Annotated[str, typer.Option(help="The results folder, in the checkout.")]


def slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", text.lower()).strip("_") or "mine"


def one_of(value: str, valid: Sequence[str], option: str) -> str:
    """The value. Exits, with the nearest valid one, where there is none."""
    if value not in valid:
        fail(f"{option}: unknown {value!r}{nearest(value, valid)}")
    return value


def execution_here(changed: dict[str, dict[str, Any]], device: str | None) -> dict[str, Any]:
    """The execution's changes, with the device of `--set`, else of `--device`, else of this machine."""
    execution = changed.get("execution", {})
    if "device" in execution:
        return execution
    if device is None:
        import torch

        device = "gpu" if torch.cuda.is_available() else "cpu"
    return {**execution, "device": one_of(device, ("cpu", "gpu"), "--device")}


def changes(command: str, words: list[str]) -> dict[str, dict[str, Any]]:
    """`SECTION.KEY=VALUE` words as settings, checked; a value is read as in a file of settings.

    Exits where the command does nothing of a section: `train` makes no SFT, `evaluate` samples and nothing else.
    """
    from rlvr.config.layers import Layer, merge, parse_yaml
    from rlvr.config.schema.settings import Settings
    from rlvr.config.validate import check_part

    layers = []
    for word in words:
        match = re.fullmatch(r"([a-z0-9_]+(?:\.[a-z0-9_]+)+)=(.*)", word, re.DOTALL)
        if match is None:
            fail(f"--set: must be SECTION.KEY=VALUE, such as rl.steps=50 (got {word!r})")
        layers.append(Layer("--set", "", _nested(match[1].split("."), parse_yaml(match[2], f"--set {match[1]}"))))
    settings = merge(layers) if layers else {}
    check_part(Settings, Layer("--set", "", settings))
    for section in settings:
        if section in UNUSED[command]:
            fail(f"--set {section}.{next(iter(settings[section]))}: rlvr {command} uses no setting of {section}")
    return settings


def _nested(keys: Sequence[str], value: Any) -> dict[str, Any]:
    return {keys[0]: _nested(keys[1:], value) if keys[1:] else value}


def with_changes(settings: dict[str, Any], changed: dict[str, dict[str, Any]]) -> dict[str, Any]:
    both = [key for key in (*settings, *changed) if key != "estimator"]  # of arms
    return {key: {**settings.get(key, {}), **changed.get(key, {})} for key in dict.fromkeys(both)}


# ---- models ----


def model_entries(names: list[str], prompt: str | None, verifier: str, root: Path) -> dict[str, Any]:
    """An entry of a file of models for each folder or name of the hub, by a name made of it."""
    entries: dict[str, Any] = {}
    for given in names:
        path = Path(given).expanduser()
        if path.is_dir():
            folder, entry = path.resolve(), local_model(path.resolve())
            label = folder.parent.name if folder.name.startswith("policy") else folder.name
        elif re.fullmatch(r"[\w.-]+/[\w.-]+(@[\w./-]+)?", given) and not path.exists():
            folder, entry = hub_model(given)
            label = given.partition("@")[0].partition("/")[2]
        else:
            fail(f"--model {given}: no such folder, and not owner/name of the hub")
        entry["template"] = template_of(folder, prompt, verifier, root)
        if context := _config(folder).get("max_position_embeddings"):
            entry["about"] = {"licence": "not stated", "context": context, "source": "config.json"}
        label = re.sub(r"[^A-Za-z0-9._-]", "-", label)
        names_of_it = chain([label], (f"{label}-{number}" for number in count(2)))
        entries[next(name for name in names_of_it if name not in entries)] = entry
    return entries


def context_of(models: dict[str, Any]) -> int | None:
    """The smallest context of some entries, None where no model states its own."""
    return min((entry["about"]["context"] for entry in models.values() if "about" in entry), default=None)


def local_model(folder: Path) -> dict[str, Any]:
    from rlvr.config import model_folder
    from rlvr.files import sha256

    if lack := model_folder.missing(folder):
        fail(f"--model {lack}")
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.suffix in KEPT)
    return {"source": "local", "path": str(folder), "files": {path.name: sha256(path) for path in files}}


def hub_model(given: str) -> tuple[Path, dict[str, Any]]:
    """The small files of a model of the hub in its cache, and its entry, at the commit that its revision has now."""
    from huggingface_hub import snapshot_download

    from rlvr.commands.models import commit_of
    from rlvr.config.schema.models_and_data import is_commit

    repo, _, revision = given.partition("@")
    try:
        commit = revision if is_commit(revision) else commit_of(repo, revision or "main")
        folder = snapshot_download(repo, revision=commit, allow_patterns=["*.json", "*.jinja", "*.txt", "*.model"])
    except Exception as error:  # the hub's client raises many types
        fail(f"--model {given}: {' '.join(str(error).split())[:300]}")
    config = _config(Path(folder))
    stored = str(config.get("dtype") or config.get("torch_dtype"))
    dtype = "bfloat16" if stored in ("bfloat16", "float16") else "float32"
    return Path(folder), {"source": "hub", "repo": repo, "revision": commit, "dtype": dtype}


def _config(folder: Path) -> dict[str, Any]:
    from rlvr.files import read_json

    return read_json(folder / "config.json")


def template_of(folder: Path, prompt: str | None, verifier: str, root: Path) -> str:
    """The text around a problem: as asked for, as the policy's own manifest has it, or the model's chat template.

    One that is asked for begins with BOS if the model's tokenizer begins a plain text so.
    """
    from rlvr.config.load import look_up, read_prompts
    from rlvr.files import read_json
    from rlvr.policies.store import load_tokenizer, with_bos

    if prompt is not None:
        text = prompt.replace("\\n", "\n")  # as a shell gives it
        if "{problem}" not in text:
            text = look_up(read_prompts(root / "config", root), prompt, "prompt", "--prompt").text
        try:
            return with_bos(text, load_tokenizer(str(folder)))
        except Exception as error:  # transformers raises many types
            fail(f"--prompt: {folder}: {' '.join(str(error).split())[:300]}")
    manifest = folder.parent / "manifest.json"
    content = read_json(manifest) if manifest.is_file() else {}
    if content.get("policy") == folder.name and "{problem}" in content.get("template", ""):
        return content["template"]
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(str(folder))
    if not getattr(tokenizer, "chat_template", None):
        fail(f"--prompt: {folder.name} has no chat template; give a text with {{problem}}, or a name")
    turn = [{"role": "user", "content": "{problem}" + (BOX if verifier in BOXED else "")}]
    return str(tokenizer.apply_chat_template(turn, tokenize=False, add_generation_prompt=True))


# ---- problems ----


def problems_of(path: Path, verifier: str) -> tuple[dict[str, Any], int]:
    """What all entries of a file of problems have in common, and how many problems it holds.

    Exits where most golds are no answers, and says where a few are.
    """
    from rlvr.data import golds, local
    from rlvr.files import sha256

    problems = local.lines(path, verifier)
    check = golds.check([(str(line.number), line.problem.gold) for line in problems], verifier)
    if check.failed:
        (fail if check.hopeless else say)(f"{path}: {check}")
    entry = {"task": "local", "path": str(path.resolve()), "sha256": sha256(path), "verifier": verifier}
    return entry, len(problems)


# ---- the file, and what makes the table ----


def scale(name: str, execution: dict[str, Any]) -> dict[str, Any]:
    settings = {"execution": execution}
    return {"about": f"The models and problems of own/{name}.yaml.", "sft": False, "settings": settings}


def paper(name: str, models: dict[str, Any], **more: Any) -> dict[str, Any]:
    about = {"short": name, "title": f"Own: {name}", "authors": "own", "year": 0}
    return {**about, "models": {model: {} for model in models}, **more}


def table(
    models: dict[str, Any], benchmark: str, samples: int, arms: Sequence[str] = (), **comparison: str
) -> dict[str, Any]:
    """A table of pass@k: the base policy, then trained ones."""
    k = [2**i for i in range(samples.bit_length()) if 2**i <= samples]
    rows = [{"arm": "base", "label": "Base"}, *({"arm": arm, "label": arm} for arm in arms)]
    content = {"benchmark": benchmark, "models": [*models], "k": k, **comparison, "rows": rows}
    return {"pass_at_k": {"title": f"Pass@k on {benchmark}", **content}}


def write(root: Path, name: str, content: dict[str, Any]) -> str:
    """Writes own/<name>.yaml and returns its path in the checkout. Exits where a person has edited it."""
    import yaml

    from rlvr.files import publish

    file = f"own/{name}.yaml"
    body = yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=120)
    text = HEAD.format(digest=_digest(body), file=file, name=name) + body
    head, _, rest = (root / file).read_text().partition("\n") if (root / file).is_file() else ("", "", "")
    if head and f"(content {_digest(rest)})" not in head:
        run = f"snakemake --config own={file} -- paper_{name}"
        fail(f"{file} was edited since; run it by `{run}`, or give another --name")
    publish(root / file, text)
    return file


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def run(root: Path, name: str, file: str, *, results: str, cores: int | None, dry_run: bool) -> None:
    """Plans the file, has Snakemake make its tables and page, and prints the tables. The same command goes on."""
    from rlvr import child_processes
    from rlvr.config.paths import Paths
    from rlvr.planning.expansion import make_plan

    plan = make_plan(root, "own", [name], own=file)
    options = [*(["--dry-run"] if dry_run else []), *(["--cores", str(cores)] if cores else [])]
    say(f"{file}: {len(plan.runs)} runs; the same command continues after a stop")
    words = [sys.executable, "-m", "snakemake", *options, "--config", f"own={file}", f"results={results}"]
    process = subprocess.Popen([*words, "--", f"paper_{name}"], cwd=root, preexec_fn=child_processes.tied())
    try:
        code = process.wait()
    except KeyboardInterrupt:  # Snakemake got it too, and saves
        process.wait()
        raise
    if code:
        say(f"Snakemake ended with code {code}; its logs are below {results}/logs")
        raise typer.Exit(1)
    if not dry_run:
        paths = Paths(results, "own")
        for item in plan.papers[name].tables:
            typer.echo((root / paths.table(name, item)[1]).read_text())
        say(f"page: {paths.page(name)}")
        for run, hint in _hints(plan, root / results):
            say(f"{run}: {hint}; its rollouts: rlvr show {run} --results {results}")


def _hints(plan: Plan, results: Path) -> Iterator[tuple[str, str]]:
    """What the rows of each run say is probably wrong with it, less what Snakemake's end said (workflow/doubts.py)."""
    from rlvr.files import read_lines
    from rlvr.training.hints import drawn, equal_rewards, hints

    for run, spec in plan.runs.items():
        rows, first = list(read_lines(results / plan.stage(run) / "metrics.jsonl")), plan.executions[run].first_rollouts
        if drawn(rows) < first or equal_rewards(rows, first) is None:
            yield from ((run, hint) for hint in hints(spec, rows, first))
