"""`make rehearse-gpu`: verl and vLLM on one GPU, without network, in blocks of known length.

    python3 benchmarks/rehearsal/rehearse.py --site FOLDER_OF_CHUNKS --out DIR
    python3 benchmarks/rehearsal/rehearse.py --plan

FOLDER_OF_CHUNKS has what build.py made. Each block runs the modules that the workflow's rules call, with a limit of
time of its own; when one fails, the end of its log is printed and the next one starts. DIR gets figures.txt, one line
per block, a log per block while it runs, and logs.tar.gz. A second call continues in the same --work folder: what is
unpacked and trained there is used again. `--cpu` runs the script itself where there is no GPU, at smoke scale.

This file and those beside it need only Python: they start before anything is unpacked.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from chunks import Failed, unpack
from figures import by_verl, end_of, errors_of, line_of, of_run, rows, said, short
from processes import GpuMemory, RayLogs, adopt_orphans, descendants, end_all, kill, reap, run, start, wait

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
MODULES = HERE / "modules"
WHOLE = 720  # seconds of all blocks as planned
LARGEST_LOG = 2**20  # bytes of a log in logs.tar.gz, whose end is kept

QUIET = {
    "HF_HUB_OFFLINE": "1",
    "TRANSFORMERS_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_LOGGING_LEVEL": "INFO",
    "VLLM_HOST_IP": "127.0.0.1",
    "VLLM_USE_FLASHINFER_SAMPLER": "0",
    "VLLM_WORKER_MULTIPROC_METHOD": "spawn",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_DEDUP_LOGS": "0",
    "DO_NOT_TRACK": "1",
    "HYDRA_FULL_ERROR": "1",
    "PYTHONUNBUFFERED": "1",
    "TOKENIZERS_PARALLELISM": "false",
}
EAGER = "actor_rollout_ref.rollout.enforce_eager=True"
# A second attempt, after a failure: what depends least on the GPU's driver and on stripped libraries.
CAREFUL_BACKEND = "TRITON_ATTN"
SECOND_ATTEMPT = 60.0  # seconds that must be left for one
COIN = [
    "reward.reward_manager.module.path='pkg://rehearsal_coin'",
    "reward.reward_manager.name=Coin",
]
LOOK = """
nvidia-smi; nvidia-smi --query-gpu=name,driver_version,compute_mode,memory.total,memory.used --format=csv
uname -r; which nvcc gcc g++ ninja python3; gcc --version | head -1; df -h /dev/shm /tmp; free -g | head -2; nproc
hostname; getent hosts "$(hostname)" || echo "missing: an address of this name in /etc/hosts"
cut -c1-30 /proc/net/dev
echo "TMPDIR=$TMPDIR"; ulimit -n -l -u; cat /proc/sys/kernel/yama/ptrace_scope
ls "$({python} -c 'import sysconfig; print(sysconfig.get_path("include"))')/Python.h"
{python} -c 'import sys, torch; print(sys.version, torch.__version__, torch.cuda.is_available())'
{python} -c 'import torch; print(torch.cuda.mem_get_info(), torch.cuda.get_device_capability())'
{python} -c 'import triton, numpy; print(triton.__version__, numpy.__version__); import numba; print(numba.__version__)'
env | grep -iE "^(CUDA|NV|LD_|NCCL|VLLM|RAY|PYTHON)" | cut -c1-200
"""
STUB = '''"""Stands in for a package that is missing or does not load here; what it decorates stays as it is."""
class _Any:
    def __init__(self, *a, **k): pass
    def __call__(self, *a, **k): return a[0] if len(a) == 1 and callable(a[0]) and not k else self
    def __getattr__(self, name):
        if name.startswith("__"): raise AttributeError(name)
        return self
    def __getitem__(self, key): return self
    def __mro_entries__(self, bases): return (object,)
__path__ = []
__version__ = "0"
def __getattr__(name):
    if name.startswith("__"): raise AttributeError(name)
    return _Any()
'''


@dataclass(frozen=True)
class Block:
    """A part of the rehearsal: seconds as planned, and the most that it may take."""

    name: str
    planned: int
    limit: int
    about: str


BLOCKS = {
    block.name: block
    for block in (
        Block("unpack", 25, 100, "check and unpack the site, compile it, make random weights"),
        Block("env", 10, 30, "GPU, driver, compute mode, compilers, memory, versions"),
        Block("imports", 25, 120, "what the stages import; the kernels of the stripped libraries"),
        Block("vllm", 130, 180, "an evaluation by vLLM: tokens per second, agreement with the trainer's pass"),
        Block("kill", 390, 480, "ACE-GRPO by verl with vLLM's rollouts, killed after the first step and continued"),
        Block("sft", 80, 140, "SFT by verl"),
        Block("memory", 10, 40, "largest memory against the plan's model"),
        Block("rl", 220, 300, "the run of `kill` without a kill"),
        Block("two", 300, 420, "two runs side by side on the one GPU"),
    )
}
PLANNED = [name for name in BLOCKS if name not in ("rl", "two")]  # by default; seconds as measured on an H200, but sft


class Rehearsal:
    """The blocks, with one work folder, one environment and one end of time."""

    def __init__(self, options: argparse.Namespace):
        self.options, self.out, self.work = options, options.out, options.work
        self.python, self.vllm_python = options.python, options.vllm_python or options.python
        self.site, self.logs = self.work / "site", self.work / "logs"
        self.kit = options.kit or self.work / "kit"
        self.plan = self.work / "plan"
        for folder in (self.out, self.logs):
            folder.mkdir(parents=True, exist_ok=True)
        self.ends = time.monotonic() + options.seconds
        self.memory = GpuMemory()
        self.memory.start()
        self.watching = set(descendants(os.getpid()))  # processes of this script's own
        self.careful = False  # a run failed, so that the next ones avoid CUDA's IPC and FlashAttention
        self.limit = 0.0  # time.monotonic() at which the block in work must end

    # -- commands --

    def environment(self) -> dict[str, str]:
        stubs, cache = self.work / "stubs", self.work / "cache"
        paths = [*([stubs] if stubs.exists() else []), self.site, ROOT / "src", MODULES]
        caches = {"TRITON_CACHE_DIR": "triton", "VLLM_CACHE_ROOT": "vllm", "TORCHINDUCTOR_CACHE_DIR": "inductor"}
        env = {**os.environ, **QUIET, **{key: str(cache / name) for key, name in caches.items()}}
        if self.options.cpu:
            env |= self.on_cpu()["env"]
            paths += [ROOT / "tests"]
        env["PYTHONPATH"] = os.pathsep.join(str(path) for path in paths if path.exists())
        external = [env.get("VERL_USE_EXTERNAL_MODULES", ""), "rehearsal_shm" if self.by_shm else ""]
        if any(external):
            env["VERL_USE_EXTERNAL_MODULES"] = ",".join(filter(None, external))
        return {**env, **dict(word.split("=", 1) for word in self.options.env)}

    @property
    def by_shm(self) -> bool:
        return self.options.weights_by_shm or self.careful

    @property
    def attention_backend(self) -> str | None:
        return self.options.attention_backend or (CAREFUL_BACKEND if self.careful else None)

    def on_cpu(self) -> dict[str, Any]:
        """What verl must be told without a GPU, as tests do."""
        sys.path.insert(0, str(ROOT / "tests"))
        from support.verl_without_gpu import COMMON, RL, environment

        sft = [*COMMON, "model.enable_gradient_checkpointing=False", "engine.use_torch_compile=False"]
        return {"rl": RL, "sft": sft, "env": environment()}

    def log(self, block: str) -> Path:
        return self.out / f"{block}.log"

    def left(self) -> float:
        """Seconds that the block in work still has."""
        return self.limit - time.monotonic()

    def must(self, block: str, *command: object, python: str | None = None) -> None:
        """Run a Python command; raises Failed if it fails or is too slow."""
        words = [python or self.python, *map(str, command)]
        code = run(words, self.log(block), self.left(), self.environment())
        if code != 0:
            what = " ".join(map(str, command[:2]))
            raise Failed(f"{what}: " + ("killed at the limit of time" if code is None else f"exit code {code}"))

    # -- inputs --

    def write_plan(self) -> None:
        """The kit's specifications with the changes of the command line."""
        specs = {n: json.loads((self.kit / f"plan/{n}.json").read_text()) for n in ("run", "evaluation", "execution")}
        specs["base"] = specs["run"]["base"]
        for word in self.options.set:
            key, value = word.split("=", 1)
            *way, last = key.split(".")
            inner = specs
            for step in way:
                inner = inner[step]
            if last not in inner:
                raise Failed(f"--set {word}: no {last!r}; there are {', '.join(inner)}")
            with suppress(ValueError):
                value = json.loads(value)
            inner[last] = value
        self.plan.mkdir(parents=True, exist_ok=True)
        for name, content in specs.items():
            (self.plan / f"{name}.json").write_text(json.dumps(content))

    def data(self, name: str, file: str = "problems") -> Path:
        return self.kit / "data" / name / f"{file}.jsonl"

    def model(self, number: int = 1) -> Path:
        """The manifest of random (or real) weights; made where it is missing."""
        manifest = self.work / f"model-{number}" / "manifest.json"
        if not manifest.exists():
            folder = self.options.model or self.kit / "model"
            module = str(MODULES / "rehearsal_weights.py")
            command = [self.python, module, str(folder), str(number), str(manifest)]
            self.inputs(command, self.logs / "weights.log", max(60.0, self.left()))
        return manifest

    def inputs(self, command: list[str], log: Path, limit: float) -> None:
        """Make inputs by a command. Raises Failed where it fails or is too slow."""
        if (code := run(command, log, limit, self.environment())) != 0:
            how = "killed at the limit of time" if code is None else f"exit code {code}"
            raise Failed(f"{Path(command[1]).name}: {how}\n{end_of(log, 15)}")

    def base(self) -> Path:
        """The policy that SFT made, else the model."""
        trained = self.work / "sft/manifest.json"
        return trained if trained.exists() else self.model()

    def rl(self, folder: Path, base: Path, *more: str) -> list[str]:
        """The command of a run, as the rule rl has it."""
        given = [EAGER] if not self.options.cpu else self.on_cpu()["rl"]
        given = [*given, *(COIN if self.options.reward == "coin" else [])]
        if self.attention_backend:
            key = "+actor_rollout_ref.rollout.engine_kwargs.vllm.attention_backend"
            given.append(f"{key}={self.attention_backend}")
        given = [*given, *self.options.override, *more]
        return [
            *(self.python, "-m", "rlvr.training.backends.verl.rl", "--spec", str(self.plan / "run.json")),
            *("--base", str(base), "--execution", str(self.plan / "execution.json")),
            *("--problems", str(self.data("train")), "--validation", str(self.data("validation"))),
            *("--out", str(folder / "manifest.json"), "--state", str(folder / "state"), "--gpus-per-node", "1"),
            *(word for line in given for word in ("--override", line)),
        ]

    def fresh(self, name: str) -> Path:
        folder = self.work / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        return folder

    # -- blocks: each returns its figures --

    def unpack(self) -> str:
        began = time.monotonic()
        if self.options.site and not (self.work / "unpacked").exists():
            unpack(self.options.site, self.work)
            (self.work / "unpacked").touch()
        if self.options.overlay:
            unpack(self.options.overlay, self.work)
        unpacked = time.monotonic()
        for program in ("gcs/gcs_server", "raylet/raylet"):
            with suppress(FileNotFoundError):
                (self.site / "ray/core/src/ray" / program).chmod(0o755)
        for name in self.options.stub:
            (self.work / "stubs" / name).mkdir(parents=True, exist_ok=True)
            (self.work / "stubs" / name / "__init__.py").write_text(STUB)
        if self.site.exists() and not self.options.cpu:
            cores = str(os.cpu_count() or 1)
            run(
                [self.python, "-m", "compileall", "-q", "-j", cores, str(self.site)],
                self.logs / "compile.log",
                self.left(),
            )
        if self.options.cpu and not self.kit.exists():
            kit = [self.python, str(HERE / "kit.py"), "smoke", str(self.kit)]
            self.inputs(kit, self.logs / "kit.log", self.left())
        compiled = time.monotonic()
        self.write_plan()
        self.model()
        seconds = unpacked - began, compiled - unpacked, time.monotonic() - compiled
        return "unpacked {:.0f} s, compiled {:.0f} s, weights {:.0f} s".format(*seconds)

    def env(self) -> str:
        shell = LOOK.replace("{python}", shlex.quote(self.python))
        log = self.log("figures.env")
        run(["bash", "-c", shell], log, self.left())
        text = log.read_text(errors="replace")
        log.unlink()
        (self.logs / "env.log").write_text(text)
        return "\n" + text[-6000:]

    def imports(self) -> str:
        log = self.log("imports")
        try:
            self.must("imports", MODULES / "rehearsal_imports.py")
        except Failed as error:
            failures = [line for line in log.read_text(errors="replace").splitlines() if line.startswith("FAIL")]
            raise Failed(f"{error}; " + "; ".join([*said(log), *failures])) from None
        return (
            "; ".join(said(log))
            + "; "
            + " ".join(line for line in log.read_text(errors="replace").splitlines() if "largest difference" in line)
        )

    def vllm(self) -> str:
        given: dict[str, Any] = {"enforce_eager": True} if self.options.vllm_eager else {}
        if self.options.attention_backend:
            given["attention_backend"] = self.options.attention_backend
        for word in self.options.vllm:
            key, value = word.split("=", 1)
            with suppress(ValueError):
                value = json.loads(value)
            given[key] = value
        careful = {**given, "enforce_eager": True, "attention_backend": CAREFUL_BACKEND}
        attempts = [given] if self.options.cpu else [given, {**given, "enforce_eager": True}, careful]
        failures = ""
        for number, engine in enumerate(attempts):
            if number and (engine == attempts[number - 1] or self.left() < SECOND_ATTEMPT):
                continue
            try:
                return failures + self.evaluation(engine)
            except Failed as error:
                failures += f"with {json.dumps(engine)}: {error}; {'; '.join(said(self.log('vllm')))} / "
                end_all(self.watching, patience=2)
        raise Failed(failures)

    def evaluation(self, engine: dict[str, Any]) -> str:
        """Figures of an evaluation and of the agreement with the trainer's pass, with arguments of vLLM's own."""
        folder, log, policy = self.fresh("vllm"), self.log("vllm"), self.model()
        (folder / "engine.json").write_text(json.dumps(engine))
        execution = json.loads((self.plan / "execution.json").read_text())
        memory = 0.1 if self.options.cpu else execution["gpu_memory_utilization"]
        before = len(said(log))
        self.must(
            *("vllm", MODULES / "rehearsal_sampling.py", folder / "engine.json"),
            *("--spec", self.plan / "evaluation.json", "--policy", policy, "--problems", self.data("benchmark")),
            *("--out", folder / "completions.jsonl.gz", "--tokens", folder / "tokens.jsonl.gz"),
            *("--state", folder / "state", "--gpu-memory", memory),
            python=self.vllm_python,
        )
        figures, agreement = "; ".join(said(log)[before:]), folder / "agreement.json"
        self.must(
            *("vllm", "-m", "rlvr.sampling.agreement", "--policy", policy),
            *("--tokens", folder / "tokens.jsonl.gz", "--out", agreement),
        )
        found = json.loads(agreement.read_text())
        apart = f"agreement mean {short(found['mean_abs'])}, max {short(found['max_abs'])} nats a token"
        return f"with {json.dumps(engine)}: {figures}; {apart}"

    def sft(self) -> str:
        folder = self.fresh("sft")
        given = [*(self.on_cpu()["sft"] if self.options.cpu else []), *self.options.sft_override]
        self.must(
            *("sft", "-m", "rlvr.training.backends.verl.sft", "--spec", self.plan / "base.json"),
            *("--model", self.model(), "--demonstrations", self.data("demonstrations", "demonstrations")),
            *("--out", folder / "manifest.json", "--state", folder / "state", "--save-every", "100"),
            *(word for line in given for word in ("--override", line)),
        )
        losses = [row["loss"] for row in rows(folder / "metrics.jsonl")]
        return f"{len(losses)} steps, loss {short(losses[0])} to {short(losses[-1])}; {by_verl(self.log('sft'))}"

    def rl_block(self) -> str:
        try:
            return self.one_run()
        except Failed as error:
            if self.options.cpu or self.careful or self.left() < SECOND_ATTEMPT:
                raise
            first = f"{error} / "
            print(f"rl: {error}; again with {CAREFUL_BACKEND} and weights by shared memory", flush=True)
            print(end_of(self.log("rl")), errors_of(self.logs / "ray-rl"), sep="\n", flush=True)
        end_all(self.watching, patience=2)
        self.careful = True
        try:
            return first + "careful: " + self.one_run()
        except Failed as error:
            raise Failed(f"{first}careful: {error}") from None

    def one_run(self) -> str:
        folder = self.fresh("rl")
        code = run(self.rl(folder, self.base()), self.log("rl"), self.left(), self.environment())
        return self.result("rl", folder, code)

    def result(self, block: str, folder: Path, code: int | None) -> str:
        figures = of_run(folder)
        if code != 0:
            raise Failed(("killed at the limit of time" if code is None else f"exit code {code}") + f"; {figures}")
        return f"{figures}; {by_verl(self.log(block))}"

    def kill(self) -> str:
        folder, log = self.fresh("killed"), self.log("kill")
        command, spared = self.rl(folder, self.base()), self.watching
        process, began = start(command, log, self.environment()), time.monotonic()
        try:
            while not (folder / "state/global_step_1/data.pt").exists():
                if process.poll() is not None:
                    raise Failed(f"ended before step 1 was saved, exit code {process.returncode}")
                if self.left() < 0:
                    raise Failed("step 1 was not saved in time")
                time.sleep(0.1)
            first = time.monotonic() - began
            time.sleep(1.0)  # in the second step's rollouts
            process.kill()  # the stage; what it started must end by itself
            process.wait()
        finally:
            if process.poll() is None:
                kill(process)
        killed = time.monotonic()
        while set(descendants(os.getpid())) - spared and time.monotonic() - killed < 30:
            reap()
            time.sleep(0.1)
        gone = time.monotonic() - killed
        left = end_all(spared, patience=0)
        code = run(command, log, self.left(), self.environment())
        figures = self.result("kill", folder, code)
        resumed = json.loads((folder / "manifest.json").read_text()).get("resumed_from")
        if resumed != 1:
            raise Failed(f"resumed from {resumed}; {figures}")
        whole = f"; uninterrupted: {of_run(self.work / 'rl')}" if (self.work / "rl/metrics.jsonl").exists() else ""
        ended = f"processes gone after {gone:.1f} s" if not left else f"{left} processes had to be killed"
        return f"step 1 saved after {first:.0f} s; {ended}; resumed from step {resumed}: {figures}{whole}"

    def two(self) -> str:
        more = () if self.options.cpu else (f"actor_rollout_ref.rollout.gpu_memory_utilization={self.options.share}",)
        folders = {name: self.fresh(name) for name in ("two-a", "two-b")}
        bases = dict(zip(folders, (self.base(), self.model(2)), strict=True))
        logs = {"two-a": self.log("two"), "two-b": self.logs / "two-b.log"}
        processes = {
            name: start(self.rl(folder, bases[name], *more), logs[name], self.environment())
            for name, folder in folders.items()
        }
        codes = {name: wait(process, self.left()) for name, process in processes.items()}
        figures = " | ".join(f"{name} (code {codes[name]}): {of_run(folder)}" for name, folder in folders.items())
        if any(code != 0 for code in codes.values()):
            raise Failed(f"{figures}\n--- end of two-b.log\n{end_of(logs['two-b'])}")
        gaps = [row["logprob_gap"] for folder in folders.values() for row in rows(folder / "metrics.jsonl")]
        if max(gaps) > self.options.gap:
            raise Failed(f"a gap above {self.options.gap}: wrong weights? {figures}")
        return f"weights right in both, largest gap {short(max(gaps))}: {figures}"

    def memory_block(self) -> str:
        log = self.logs / "memory.log"
        log.unlink(missing_ok=True)
        command = [self.python, str(MODULES / "rehearsal_memory.py"), self.plan, self.device(), ROOT / "config"]
        code = run(list(map(str, command)), log, self.left(), self.environment())
        if code != 0:
            raise Failed(f"exit code {code}: {end_of(log, 5)}")
        measured = {**json.loads((self.work / "peaks.json").read_text())} if (self.work / "peaks.json").exists() else {}
        return f"measured MiB {json.dumps(measured)}; planned MiB by phase {said(log)[-1]}"

    def device(self) -> str:
        if self.options.device or not shutil.which("nvidia-smi"):
            return self.options.device or "h100"
        named = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True).stdout
        return "h200" if "H200" in named else "h100"

    # -- the whole --

    def go(self, names: list[str]) -> int:
        failed = 0
        for name in names:
            block, began = BLOCKS[name], time.monotonic()
            rest = self.ends - began
            if rest < min(20, block.planned):
                self.say(line_of(name, None, 0, f"{rest:.0f} s are left of all"))
                continue
            self.limit = began + min(block.limit * self.options.slower, rest)
            ok = True
            self.memory.take()
            with suppress(FileNotFoundError):
                self.log(name).unlink()
            ray = RayLogs(self.logs / f"ray-{name}")
            ray.start()
            try:
                figures = {"rl": self.rl_block, "memory": self.memory_block}.get(name, getattr(self, name))()
            except Exception as error:  # the next block starts whatever this one met
                ok, figures = False, str(error) if isinstance(error, Failed) else repr(error)
            left = end_all(self.watching)
            ray.over.set()
            if peak := self.memory.take():
                self.remember(name, peak)
                figures += f"; GPU memory at most {peak} MiB"
            if left:
                figures += f"; {left} processes had to be killed"
            self.say(line_of(name, ok, time.monotonic() - began, figures))
            if not ok:
                failed += 1
                print(
                    f"--- end of {name}.log\n{end_of(self.log(name))}\n{errors_of(self.logs / f'ray-{name}')}",
                    flush=True,
                )
            self.pack()
        return failed

    def remember(self, name: str, peak: int) -> None:
        path = self.work / "peaks.json"
        known = json.loads(path.read_text()) if path.exists() else {}
        path.write_text(json.dumps({**known, name: peak}))

    def say(self, line: str) -> None:
        print(line, flush=True)
        with (self.out / "figures.txt").open("a") as file:
            file.write(line + "\n")

    def pack(self) -> None:
        """Write logs.tar.gz: all logs, each one's end, and the runs' figures."""
        kept = [*self.out.glob("*.log"), *self.logs.rglob("*.*"), *self.plan.glob("*.json")]
        kept += [p for p in self.work.glob("*/*.json*") if p.name in ("metrics.jsonl", "probe.jsonl", "agreement.json")]
        kept += self.work.glob("*/manifest.json")
        parts = self.work / "logs.tar.gz"
        with tarfile.open(parts, "w:gz") as archive:
            for path in kept:
                with suppress(OSError):
                    end = path.read_bytes()[-LARGEST_LOG:]
                    inside = self.work / "part"
                    inside.write_bytes(end)
                    archive.add(inside, f"{path.parent.name}/{path.name}")
        shutil.move(parts, self.out / "logs.tar.gz")


def print_plan(names: list[str]) -> None:
    for name in names:
        block = BLOCKS[name]
        print(f"{name:8} {block.planned:4} s, at most {block.limit:3} s: {block.about}")
    print(f"{'all':8} {sum(BLOCKS[name].planned for name in names):4} s of {WHOLE}")


def options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add: Callable[..., Any] = parser.add_argument
    add("--plan", action="store_true", help="print the seconds of each block and end")
    add("--blocks", default=",".join(PLANNED), help="of these and rl, two; default, in this order: %(default)s")
    add("--site", type=Path, help="folder of the chunks and SHA256SUMS of build.py")
    add("--overlay", type=Path, help="folder of further chunks, unpacked over the site (build.py --overlay)")
    add("--out", type=Path, default=Path("build/gpu/out"), help="folder for figures.txt and logs (%(default)s)")
    add("--work", type=Path, default=Path("/tmp/rlvr-rehearsal"), help="folder for everything else (%(default)s)")
    add("--kit", type=Path, help="folder of kit.py; default: the one of the chunks")
    add("--seconds", type=float, default=WHOLE, help="of all blocks: later ones are cut or skipped (%(default)s)")
    add("--slower", type=float, default=1.0, help="factor on the blocks' limits (%(default)s)")
    add("--python", default=sys.executable, help="starts all stages (this Python)")
    add("--vllm-python", help="starts vLLM's evaluation; default: --python")
    add("--cpu", action="store_true", help="try the script without a GPU: smoke scale, rollouts by transformers")
    add("--device", help="of config/hardware.yaml, for the plan's memory; default: h200 on an H200, else h100")
    change = parser.add_argument_group("changes")
    change.add_argument("--model", type=Path, help="folder of a real model with config, tokenizer and weights")
    change.add_argument("--reward", choices=["coin", "verified"], default="coin", help="of a response (%(default)s)")
    more: dict[str, Any] = {"action": "append", "default": [], "metavar": "KEY=VALUE"}
    change.add_argument("--set", help="of a specification, such as run.rl.steps=2, execution.attention=sdpa", **more)
    change.add_argument("--override", help="of verl's configuration for RL, applied last", **more)
    change.add_argument("--sft-override", help="of verl's configuration for SFT, applied last", **more)
    change.add_argument("--vllm", help="argument of vLLM's LLM for the evaluation, JSON or text", **more)
    change.add_argument("--env", help="environment variable of all stages", **more)
    change.add_argument("--attention-backend", help="of vLLM everywhere: TRITON_ATTN, FLEX_ATTENTION, FLASH_ATTN")
    change.add_argument("--vllm-eager", action="store_true", help="no compilation and no CUDA graphs in the evaluation")
    change.add_argument(
        "--weights-by-shm", action="store_true", help="weights to vLLM by shared memory, not CUDA's IPC"
    )
    change.add_argument("--stub", action="append", default=[], help="package to replace by an empty one, such as numba")
    change.add_argument("--share", type=float, default=0.2, help="gpu_memory_utilization of each of two runs")
    change.add_argument("--gap", type=float, default=0.1, help="largest logprob_gap of right weights (%(default)s)")
    return parser


def main() -> None:
    parser = options()
    chosen = parser.parse_args()
    names = [name for name in chosen.blocks.split(",") if name]
    if unknown := set(names) - set(BLOCKS):
        parser.error(f"no block {', '.join(sorted(unknown))}; valid: {', '.join(BLOCKS)}")
    if chosen.plan:
        print_plan(names)
        return
    if chosen.site and "unpack" not in names and not (chosen.work / "unpacked").exists():
        names.insert(0, "unpack")
    for name in ("out", "work", "site", "overlay", "kit", "model"):
        if path := getattr(chosen, name):
            setattr(chosen, name, path.resolve())
    adopt_orphans()
    rehearsal = Rehearsal(chosen)
    if (rehearsal.kit / "plan").exists():
        rehearsal.write_plan()
    try:
        failed = rehearsal.go(names)
    finally:
        end_all(patience=0)
    sys.exit(f"{failed} of {len(names)} blocks failed" if failed else 0)


if __name__ == "__main__":
    main()
