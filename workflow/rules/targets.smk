# Named collections of files.
rule core:
    input:
        [path for paper, name in core_items(PLAN) for path in PATHS.item(PLAN, paper, name)],
    localrule: True


if "methods" in PLAN.papers:
    LEAGUE = "mine" if SETTING["mine"] else "league"

    rule league:
        # Every policy weight, or with --config mine=NAME a method of yours and five others.
        input:
            [path for paper, name in by_name(PLAN)[LEAGUE] for path in PATHS.item(PLAN, paper, name)],
            PATHS.page(LEAGUE),
        localrule: True


for paper in PLAN.papers:

    rule:
        name:
            f"paper_{paper}"
        input:
            [path for name in asked_for(PLAN, paper) for path in PATHS.item(PLAN, paper, name)],
            PATHS.page(paper),
        localrule: True

    rule:
        name:
            f"effort_{paper}"
        input:
            [path for name in companions(PLAN.papers[paper]) for path in PATHS.item(PLAN, paper, name)],
        localrule: True


rule all_papers:
    # The papers' comparisons, a verdict on each claim, and the overview of all.
    input:
        [path for paper in CLAIMING for name in asked_for(PLAN, paper) for path in PATHS.item(PLAN, paper, name)],
        [PATHS.page(paper) for paper in CLAIMING],
        rules.claims.output,
        PATHS.entrance(),
    localrule: True


SITE = Site(CLUSTER, SETTING["cluster"], ROOT, Path(PATHS.results))


def lacking():
    """A line for each thing that the jobs of this command need and that is missing here."""
    jobs = [Job(job.rule.name, dict(job.wildcards_dict)) for job in workflow.dag.needrun_jobs()]
    at_once = workflow.resource_settings.cores or workflow.resource_settings.nodes or 1
    disk = room.missing(jobs, PLAN, SITE, at_once)
    # What the nodes of a cluster have, `check_nodes` says.
    return [*(needs.missing(jobs, PLAN, SITE) if COMMAND_LINE.here else []), *([disk] if disk else [])]


def before_any_job():
    """End here if a job would fail. A dry run shows its jobs, and at its end what they lack."""
    if workflow.dryrun:
        for line in lacking():
            atexit.register(print, f"missing: {line}", file=sys.stderr)
    if not COMMAND_LINE.runs:
        return
    held = locks.refusal(Path(".snakemake")) if workflow.persistence.locked else None
    if lines := [held] if held else [f"missing: {line}" for line in lacking()]:
        for line in [*lines, "no job was started"]:
            logger.error(line)
        sys.exit(1)


TRAINED = []  # runs of this command


def doubts_about_runs():
    """Warn of runs that had nothing to learn from; `rlvr train` has its own words."""
    for line in [] if SETTING["own"] else doubts.lines(PLAN, PATHS, TRAINED):
        logger.warning(line)


onsuccess:
    doubts_about_runs()


onerror:
    doubts_about_runs()
    if IS_MAIN:
        stopped = workflow.scheduler
        waiting = len(set(stopped.remaining_jobs) - stopped.failed)
        for line in failures.lines(failures.of(stopped.failed), waiting):
            logger.error(line)


onstart:
    without_default_rate()
    if COMMAND_LINE.runs:
        held = getattr(workflow.persistence, "_lockfile", {}).values()
        locks.holds(OWNER, map(os.path.basename, held))
    for note in PLAN.notes:
        logger.warning(f"on this machine: {note}")
    TRAINED.extend(job.wildcards.run for job in workflow.dag.needrun_jobs() if job.rule.name == "rl")
    asked_models = {job.wildcards.model for job in workflow.dag.needrun_jobs() if job.rule.name == "model"}
    for line in gated.notices(PLAN.models[name] for name in sorted(asked_models)):
        logger.warning(line)
    # Papers share runs.
    runs = {
        paper: runs_of(PLAN, paper) for paper in PLAN.papers if f"paper_{paper}" in workflow.dag_settings.targets
    }
    total, different = sum(map(len, runs.values())), len(set().union(*runs.values()))
    if len(runs) > 1:
        logger.info(
            f"RL runs of {', '.join(runs)}: {total} asked for, {different} different ones, so "
            f"{total - different} fewer to do than alone."
        )


# ---- before anything runs ----

if IS_MAIN:
    RULE_NAMES = {rule.name for rule in workflow.rules}
    for target in COMMAND_LINE.targets:
        if target in RULE_NAMES or Path(target).exists():
            continue
        made = any(rule.is_producer(target) for rule in workflow.rules)
        if not made or targets.nobodys(target, PLAN, PATHS):
            names = [rule.name for rule in workflow.rules if not rule.has_wildcards()]
            sys.exit(targets.unknown(target, names, PLAN, PATHS, SCALES))
    if COMMAND_LINE.runs:
        if problem := writable.problem(PATHS):
            sys.exit(problem)
        for line in locks.release(Path(".snakemake")):
            logger.warning(line)
        OWNER = locks.own(Path(".snakemake"))
    between.planning_and_running(workflow, before_any_job)
