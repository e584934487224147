"""The simulated schedule of a plan: its laws, and a few jobs by hand."""

import random

import pytest

from rlvr.cost.schedule import DoesNotFit, Job, longest_chain, simulate, tails


def made_up(seed: int, count: int = 60) -> list[Job]:
    """Jobs of random length, size and rank, each after up to two earlier ones."""
    draw = random.Random(seed)
    jobs: list[Job] = []
    for i in range(count):
        after = tuple(job.name for job in draw.sample(jobs, min(len(jobs), draw.randrange(3))))
        seconds, gpus = draw.choice([0.0, 1.0, 2.5, 7.0]), draw.choice([1, 2, 4, 16])
        jobs.append(Job(f"job{i}", seconds, gpus, after, draw.randrange(4)))
    return jobs


@pytest.mark.parametrize("seed", range(20))
def test_laws_of_a_schedule(seed):
    jobs, nodes, each = made_up(seed), 3, 8
    made = simulate(jobs, nodes=nodes, gpus_per_node=each)
    assert sorted(slot.job.name for slot in made.slots) == sorted(job.name for job in jobs)
    for slot in made.slots:
        assert all(made.ends[name] <= slot.start for name in slot.job.after)
        assert len(set(slot.nodes)) == (2 if slot.job.gpus == 16 else 1)
    for moment in {slot.start for slot in made.slots}:
        used = [0] * nodes
        for slot in made.slots:
            if slot.start <= moment < slot.end:
                for node in slot.nodes:
                    used[node] += min(slot.job.gpus, each)
        assert max(used) <= each
    chain = sum(job.seconds for job in longest_chain(jobs))
    assert chain == max(tails(jobs).values())
    assert made.makespan >= max(chain, made.gpu_seconds / (nodes * each)) and 0 <= made.idle_share < 1
    assert made.makespan <= sum(job.seconds for job in jobs)  # something always runs
    shuffled = list(jobs)
    random.Random(seed + 1).shuffle(shuffled)
    assert simulate(shuffled, nodes=nodes, gpus_per_node=each) == made


def test_a_schedule_by_hand():
    """Two GPUs: `urgent` first though it is short, then the longer chain; the last waits for both."""
    jobs = [
        Job("long", 4.0, 1, (), 1),
        Job("short", 1.0, 1, (), 1),
        Job("urgent", 2.0, 1, (), 0),
        Job("both", 3.0, 2, ("long", "short"), 1),
    ]
    made = simulate(jobs, nodes=1, gpus_per_node=2)
    starts = [(slot.job.name, slot.start) for slot in made.slots]
    assert starts == [("urgent", 0.0), ("long", 0.0), ("short", 2.0), ("both", 4.0)]
    assert made.makespan == 7.0 and made.gpu_seconds == 13.0 and made.idle_share == pytest.approx(1 / 14)
    assert [job.name for job in longest_chain(jobs)] == ["long", "both"]
    assert made.finished({"urgent", "short"}) == 3.0


def test_trivial_schedules():
    one = simulate([Job("one", 5.0)], nodes=1, gpus_per_node=1)
    assert (one.makespan, one.idle_share) == (5.0, 0.0)
    none = simulate([], nodes=2, gpus_per_node=8)
    assert (none.makespan, none.idle_share, longest_chain([])) == (0.0, 0.0, [])


def test_what_cannot_be_scheduled_is_an_error():
    with pytest.raises(DoesNotFit, match="big needs 16 GPUs; there are 1 x 8"):
        simulate([Job("big", 1.0, 16)], nodes=1, gpus_per_node=8)
    with pytest.raises(ValueError, match="cycle"):
        simulate([Job("a", 1.0, 1, ("b",)), Job("b", 1.0, 1, ("a",))], nodes=1, gpus_per_node=1)
