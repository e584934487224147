"""Brings verl and vLLM, slim, to a GPU machine without network: from a lock to chunks of two archives.

    python benchmarks/rehearsal/build.py OUT

OUT gets wheels/ (kept for the next time), site/, kit/ and, to be carried, site.tar.xz.00, ... and kit.tar.xz with their
SHA256SUMS. The site has the packages of envs/cluster.txt that the machine lacks (image.txt), without what the stages
do not import, and with the CUDA code of sm_90 alone (strip.py). The kit has the runs' specifications, data, and a
model's configuration and tokenizer (kit.py). Needs pip and a package index, tar, xz and split.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from chunks import SUMS
from kit import specifications, write
from strip import strip

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
CHUNK_MIB = 41
LEFT_OUT = HERE / "left_out.txt"  # names that no stage imports: of vLLM's server and engine, verl's RL and SFT
# Other versions are there, and verl and vLLM need these.
TAKE = {"transformers", "tokenizers"}
PREFIXES = ("nvidia-", "torch", "triton")  # of packages that come with torch
ALL_THE_SAME = {"torchdata"}
DROP = (
    "vllm/vllm_flash_attn/_vllm_fa2_C.abi3.so",  # Hopper takes FlashAttention 3
    "vllm/_moe_C_stable_libtorch.abi3.so",
    "vllm/vllm-rs",
    "vllm/third_party/deep_gemm",
    "vllm/third_party/fmha_sm100",
    "vllm/_flashmla*",
    "vllm/_qutlass*",
    "ray/jars",
    "ray/rllib",
    "ray/dashboard/client",
    "xgrammar",  # for structured output; a stub stays, since vLLM imports it
)
STRIP = ("vllm/_C_stable_libtorch.abi3.so", "vllm/vllm_flash_attn/_vllm_fa3_C.abi3.so")
XGRAMMAR = '''"""Stands in for xgrammar, which vLLM imports at its start and uses for structured output only."""


class _Any:
    def __init__(self, *arguments, **named):
        raise RuntimeError("xgrammar is not here")


def __getattr__(name):
    if name.startswith("__"):
        raise AttributeError(name)
    return type(name, (_Any,), {})
'''
GLIBC = (39, 35, 34, 31, 28, 27, 26, 24, 17, 12, 5)
PLATFORMS = [*(f"manylinux_2_{n}_x86_64" for n in GLIBC), "manylinux2014_x86_64", "manylinux1_x86_64"]


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name.strip().lower())


def names_in(text: str) -> set[str]:
    return {normal(name) for name in re.split(r"[\s,]+", text) if name.strip(" .")}


def needed(lock: str, have: str, left_out: str) -> dict[str, str]:
    """Versions by name of what a lock has and the machine lacks, less what no stage imports."""
    there, unused = names_in(have), names_in(left_out)
    pins = {normal(m[1]): m[2] for m in re.finditer(r"(?m)^([A-Za-z0-9][\w.-]*)==([^\s;]+)", lock)}
    lacking = {name for name in pins if (name in TAKE or name not in there) and name not in unused}
    lacking = {name for name in lacking if not name.startswith(PREFIXES)} | (ALL_THE_SAME & set(pins))
    return {name: pins[name] for name in sorted(lacking)}


def distribution(wheel: Path) -> str:
    return normal(wheel.name.split("-")[0])


def fetch(versions: dict[str, str], folder: Path) -> list[Path]:
    """The wheels, downloaded for Python 3.12 where they are missing, or built where there is a source only."""
    folder.mkdir(parents=True, exist_ok=True)
    pip, platforms = [sys.executable, "-m", "pip"], [word for p in PLATFORMS for word in ("--platform", p)]
    for name, version in versions.items():
        if any(distribution(w) == name and w.name.split("-")[1] == version for w in folder.glob("*.whl")):
            continue
        download = [*pip, "download", "--quiet", "--no-deps", "--only-binary=:all:", "--python-version", "3.12"]
        download += ["--implementation", "cp", *platforms, "--dest", str(folder), f"{name}=={version}"]
        if subprocess.run(download, capture_output=True).returncode:
            build = [*pip, "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), f"{name}=={version}"]
            if subprocess.run(build, capture_output=True).returncode:
                print(f"warning: no wheel of {name}=={version}", file=sys.stderr)
    return sorted(wheel for wheel in folder.glob("*.whl") if distribution(wheel) in versions)


def lay(wheels: list[Path], site: Path) -> None:
    """Unpack wheels into a folder for PYTHONPATH, slim and stripped."""
    shutil.rmtree(site, ignore_errors=True)
    site.mkdir(parents=True)
    for wheel in wheels:
        zipfile.ZipFile(wheel).extractall(site)
        for data in site.glob("*.data"):
            for part in ("purelib", "platlib"):
                if (data / part).is_dir():
                    shutil.copytree(data / part, site, dirs_exist_ok=True)
            shutil.rmtree(data)
    for pattern in DROP:
        for path in site.glob(pattern):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    (site / "xgrammar").mkdir()
    (site / "xgrammar/__init__.py").write_text(XGRAMMAR)
    for name in STRIP:
        library = bytearray((site / name).read_bytes())
        kept, zeroed = strip(library)
        (site / name).write_bytes(library)
        print(f"{name}: {kept / 2**20:.1f} MiB of code kept, {zeroed / 2**20:.1f} MiB zeroed", flush=True)


def pack(folder: Path, archive: Path, chunk_mib: int | None = None) -> list[Path]:
    """Pack a folder as ARCHIVE, or as chunks ARCHIVE.00, ARCHIVE.01, ... of at most so many MiB."""
    for old in archive.parent.glob(f"{archive.name}*"):
        old.unlink()
    tar = subprocess.Popen(["tar", "cf", "-", "-C", str(folder), "."], stdout=subprocess.PIPE)
    xz = subprocess.Popen(["xz", "-T0", "-6", "-c"], stdin=tar.stdout, stdout=subprocess.PIPE)
    if chunk_mib is None:
        with archive.open("wb") as file:
            shutil.copyfileobj(xz.stdout, file)  # type: ignore[arg-type]
    else:
        split = ["split", "-d", "-b", f"{chunk_mib}M", "-", f"{archive}."]
        subprocess.run(split, stdin=xz.stdout, check=True)
    if tar.wait() or xz.wait():
        raise SystemExit(f"{archive}: tar or xz failed")
    return sorted(archive.parent.glob(f"{archive.name}*"))


def write_sums(files: list[Path]) -> None:
    """SHA256SUMS beside the files."""
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files]
    (files[0].parent / SUMS).write_text("".join(lines))


def overlay(names: list[str], wheels: Path, out: Path, chunk_mib: int) -> None:
    """Chunks of files as they are in vLLM's wheel, for `rehearse.py --overlay`: whole libraries over stripped ones."""
    (wheel,) = wheels.glob("vllm-*.whl")
    folder = out / "files"
    shutil.rmtree(out, ignore_errors=True)
    folder.mkdir(parents=True)
    with zipfile.ZipFile(wheel) as archive:
        for name in names:
            archive.extract(name, folder)
    write_sums(pack(folder, out / "site.tar.xz", chunk_mib))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--lock", type=Path, default=ROOT / "envs/cluster.txt")
    parser.add_argument("--have", type=Path, default=HERE / "image.txt", help="names of the machine's packages")
    parser.add_argument("--scale", default="rehearsal", help="whose runs (%(default)s)")
    parser.add_argument("--chunk-mib", type=int, default=CHUNK_MIB, help="size of a chunk (%(default)s)")
    parser.add_argument("--only", choices=["site", "kit"], help="make one of the two archives again")
    parser.add_argument("--overlay", action="append", metavar="FILE", help="only OUT/overlay: a file of vLLM's wheel")
    chosen = parser.parse_args()
    out = chosen.out.resolve()
    if chosen.overlay:
        overlay(chosen.overlay, out / "wheels", out / "overlay", chosen.chunk_mib)
        return
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT / "src"), os.environ.get("PYTHONPATH")]))
    sys.path.insert(0, str(ROOT / "src"))
    if chosen.only != "site":
        write(specifications(chosen.scale), out / "kit")
        pack(out / "kit", out / "kit.tar.xz")
    if chosen.only != "kit":
        lay(
            fetch(needed(chosen.lock.read_text(), chosen.have.read_text(), LEFT_OUT.read_text()), out / "wheels"),
            out / "site",
        )
        pack(out / "site", out / "site.tar.xz", chosen.chunk_mib)
    files = [*sorted(out.glob("site.tar.xz.*")), out / "kit.tar.xz"]
    write_sums(files)
    for path in files:
        print(f"{path.name}: {path.stat().st_size / 2**20:.1f} MiB")


if __name__ == "__main__":
    main()
