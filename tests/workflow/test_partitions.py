"""Jobs that a cluster's partitions would refuse are named before the first job."""

import math

import pytest

from rlvr.config.schedulers.slurm import minutes
from rlvr.workflow.partitions import Asked, refused

LIMITS = {"cpu": 240.0, "gpu": 2880.0, "long": math.inf}


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        ("1-00:00:00", 1440),
        ("2-12:30:00", 3630),
        ("4:00:00", 240),
        ("30:00", 30),
        ("0:30", 0.5),
        ("infinite", math.inf),
        ("n/a", math.inf),
    ],
)
def test_limits_as_sinfo_prints_them(limit, expected):
    assert minutes(limit) == expected


def test_too_long_jobs_and_unknown_partitions_are_a_line_each():
    jobs = [Asked("rl", "cpu", 480), Asked("rl", "cpu", 480), Asked("sft", "cpu", 480), Asked("grade", "cpuu", 2)]
    unknown, longer = refused(jobs, LIMITS)
    assert unknown.startswith("the partition 'cpuu', which 1 grade job would go to; did you mean 'cpu'?")
    assert longer.startswith("480 minutes in the partition 'cpu', for 3 jobs (2 rl, 1 sft): its limit is 240;")
    assert all("config/cluster.yaml" in line for line in (unknown, longer))


def test_what_fits_or_cannot_be_known_is_not_refused():
    fits = [Asked("rl", "cpu", 240), Asked("rl", "cpu,long", 9999), Asked("rl", "long", 9999), Asked("rl", None, 9999)]
    assert refused(fits, LIMITS) == []
    assert refused([Asked("rl", "nowhere", 9999)], {}) == [], "no sinfo on this machine"
