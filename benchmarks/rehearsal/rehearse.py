"""`make rehearse-gpu`: verl and vLLM on one GPU, without network, in blocks of known length.

    python3 benchmarks/rehearsal/rehearse.py --site FOLDER_OF_CHUNKS --out DIR
    python3 benchmarks/rehearsal/rehearse.py --plan

FOLDER_OF_CHUNKS has what build.py made. Each block runs the modules that the workflow's rules call, with a limit of
time of its own; when one fails, the end of its log is printed and the next one starts. DIR gets figures.txt, one line
per block, figures.md, the same as rows for docs/benchmarks.md, a log per block while it runs, and logs.tar.gz. A second
call continues in the same --work folder: what is unpacked and trained there is used again. `--cpu` runs the script
itself where there is no GPU, at smoke scale.

This file and those beside it need only Python: they start before anything is unpacked.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import tarfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from blocks import BLOCKS, options, print_plan
from chunks import Failed, unpack
from commands import CAREFUL_BACKEND, HERE, MODULES, ROOT, SECOND_ATTEMPT, Stages, pair
from figures import by_verl, end_of, ended, errors_of, line_of, of_run, row_of, rows, said, short
from machine import LOOK, STUB
from processes import RayLogs, adopt_orphans, descendants, end_all, kill, reap, run, start, wait

LARGEST_LOG = 2**20  # bytes of a log in logs.tar.gz, whose end is kept


class Rehearsal(Stages):
    """The blocks: each returns its figures."""

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
            compiling = [self.python, "-m", "compileall", "-q", "-j", str(os.cpu_count() or 1), str(self.site)]
            run(compiling, self.logs / "compile.log", self.left())
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
        kernels = [line for line in log.read_text(errors="replace").splitlines() if "largest difference" in line]
        return f"{'; '.join(said(log))}; {' '.join(kernels)}"

    def vllm(self) -> str:
        given: dict[str, Any] = {"enforce_eager": True} if self.options.vllm_eager else {}
        if self.options.attention_backend:
            given["attention_backend"] = self.options.attention_backend
        given |= map(pair, self.options.vllm)
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
            raise Failed(f"{ended(code)}; {figures}")
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
        code = run(command, log, self.left(), self.environment())
        if code != 0:
            raise Failed(f"{ended(code)}: {end_of(log, 5)}")
        return f"measured MiB {json.dumps(self.peaks())}; planned MiB by phase {said(log)[-1]}"

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
                self.say(name, None, 0, f"{rest:.0f} s are left of all")
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
                (self.work / "peaks.json").write_text(json.dumps({**self.peaks(), name: peak}))
                figures += f"; GPU memory at most {peak} MiB"
            if left:
                figures += f"; {left} processes had to be killed"
            self.say(name, ok, time.monotonic() - began, figures)
            if not ok:
                failed += 1
                print(
                    f"--- end of {name}.log\n{end_of(self.log(name))}\n{errors_of(self.logs / f'ray-{name}')}",
                    flush=True,
                )
            self.pack()
        return failed

    def peaks(self) -> dict[str, int]:
        """The largest memory of each block so far, in MiB."""
        path = self.work / "peaks.json"
        return json.loads(path.read_text()) if path.exists() else {}

    def say(self, name: str, ok: bool | None, seconds: float, figures: str) -> None:
        """Print a block's figures, and append them to figures.txt and, as a row of a table, to figures.md."""
        line, block = line_of(name, ok, seconds, figures), BLOCKS[name]
        print(line, flush=True)
        row = row_of(block.about, block.limit * self.options.slower, ok, seconds, figures)
        for kind, text in (("txt", line), ("md", row)):
            with (self.out / f"figures.{kind}").open("a") as file:
                file.write(text + "\n")

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


def main() -> None:
    parser = options(__doc__)
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
