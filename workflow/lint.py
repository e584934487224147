"""`snakemake --lint`, less one lint: software comes from the lock files under envs/, one for all rules, so that a
conda environment or container a rule does not apply. Any other lint fails."""

import re
import subprocess
import sys

ACCEPTED = "Specify a conda environment or container for each rule."

done = subprocess.run([sys.executable, "-m", "snakemake", "--lint"], capture_output=True, text=True)
entries = re.split(r"^(?=Lints for )", done.stdout + done.stderr, flags=re.MULTILINE)
lints = [
    (entry.split(":")[0], lint)
    for entry in entries
    if entry.startswith("Lints for")
    for lint in re.split(r"^    \* ", entry, flags=re.MULTILINE)[1:]
    if not lint.startswith(ACCEPTED)
]
if done.returncode != 0 and not any(entry.startswith("Lints for") for entry in entries):
    sys.exit(done.stdout + done.stderr)
for where, lint in lints:
    print(f"{where}: {lint}")
print(f"snakemake --lint: {len(lints)} lints")
sys.exit(bool(lints))
