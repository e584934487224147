#!/usr/bin/env bash
# Snakemake as a job that submits itself again, for work of weeks: in the project's folder, with .venv/bin on the path,
#
#   sbatch --partition cpu slurm/controller.sh --config scale=paper -- paper_ace
#
# The arguments are Snakemake's. Before its time limit the job submits its successor and interrupts Snakemake, which cancels
# its jobs; they save, and the successor submits them again. It ends when Snakemake does, with its exit code.
#SBATCH --job-name=rlvr-controller
#SBATCH --time=1-00:00:00
#SBATCH --cpus-per-task=1
#SBATCH --mem=4G
#SBATCH --signal=B:USR1@600
#SBATCH --output=rlvr-controller-%j.log
set -uo pipefail
set -m # else bash starts Snakemake with SIGINT ignored

own=$SLURM_JOB_ID partition=$SLURM_JOB_PARTITION restarts=${SLURM_RESTART_COUNT:-0}
# The jobs of Snakemake must not inherit what describes this job. (Snakemake's plug-in would remove SLURM_CONF too.)
for name in "${!SLURM_@}"; do
    [ "$name" = SLURM_CONF ] || unset "$name"
done
successor=

hand_over() {
    [ -z "$successor" ] || return 0
    options=(--parsable --dependency "afterany:$own" --partition "$partition")
    options+=(--time "$(squeue --noheader --job "$own" --format %l)" --mem "$(squeue --noheader --job "$own" --format %m)")
    successor=$(sbatch "${options[@]}" slurm/controller.sh "$@") || return 0 # the next signal or the user tries again
    echo "the time of this job ends: $successor continues"
    kill -INT "$snakemake"
}

# A job that Slurm has restarted after the loss of its node finds its own locks.
if [ "$restarts" -gt 0 ]; then
    snakemake --profile slurm --unlock "$@"
fi
trap 'hand_over "$@"' USR1
snakemake --profile slurm "$@" &
snakemake=$!
code=0
while kill -0 "$snakemake" 2>/dev/null; do # a trap ends `wait`
    wait "$snakemake"
    code=$?
done
[ -n "$successor" ] && code=0
exit "$code"
