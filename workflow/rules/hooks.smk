# What Snakemake does beside jobs: as it reads the rules, before the first job, at the start, and at the end. No rules here.
SITE = Site(CLUSTER, SETTING["cluster"], ROOT, Path(PATHS.results), tuple(LOGGERS))
TRAINED = []  # the RL runs of this command


def without_default_rate():
    """Take away Snakemake's default limit of 100 jobs a second, which is meant for clusters, where jobs run on this machine.

    With a limit Snakemake 9.27 looks at all open jobs once more per timespan for each finished job
    (`JobScheduler._schedule_reevalutation`): in a large plan nearly always, and a timespan longer at its end.
    """
    limit = workflow.scheduling_settings.max_jobs_per_timespan
    if workflow.local_exec and limit and (limit.max_jobs, limit.timespan) == (100, 1):
        workflow.scheduler.job_rate_limiter = None


def lacking():
    """What the jobs of this command need and this machine lacks: lines that refuse, and lines that warn."""
    jobs = [Job(job.rule.name, dict(job.wildcards_dict)) for job in workflow.dag.needrun_jobs()]
    at_once = workflow.resource_settings.cores or workflow.resource_settings.nodes or 1
    if "gpu" in workflow.global_resources:  # profiles/gpu: a run at a time on each
        at_once = min(at_once, workflow.global_resources["gpu"].value)
    disk = disk_space.missing(jobs, PLAN, SITE, at_once)
    here = COMMAND_LINE.here if workflow.dryrun else workflow.local_exec  # a dry run has an executor of its own
    # What the nodes of a cluster have, `check_nodes` says.
    found = needs.missing(jobs, PLAN, SITE) if here else needs.MissingNeed(refused_by_partitions(), [])
    lines = [*found.refusals, *([disk] if disk else [])]
    return ([], [*lines, *found.warnings]) if SETTING["needs"] == "warn" else (lines, found.warnings)


def refused_by_partitions():
    """Lines on jobs of this command that the cluster's partitions would refuse."""
    asked = [
        partitions.Asked(job.rule.name, job.resources.get("slurm_partition"), job.resources.get("runtime") or 0)
        for job in workflow.dag.needrun_jobs()
        if not job.is_local
    ]
    return partitions.refused(asked, registries.SCHEDULERS.load(CLUSTER.scheduler).limits())


def before_any_job():
    """End here if a job would fail. A dry run shows its jobs, and at its end what they lack."""
    if workflow.touch or not (workflow.dryrun or COMMAND_LINE.runs):
        return
    if not workflow.dryrun and not any(workflow.dag.needrun_jobs()):  # Snakemake then ends without `onsuccess`
        say_results()
    made = workflow.persistence
    if not workflow.dryrun and workflow.execution_settings.lock and made.locked:
        files = [set(map(str, found)) for found in (made.all_inputfiles(), made.all_outputfiles())]
        if held := locks.refusal(Path(".snakemake"), *files):
            end_without_jobs(held)
    refusals, warnings = ([f"missing: {line}" for line in lines] for lines in lacking())
    if workflow.dryrun:
        atexit.register(sys.stderr.writelines, [f"{line}\n" for line in (*warnings, *refusals)])
        return
    for line in warnings:
        logger.warning(line)
    if refusals:
        end_without_jobs(*refusals, remedy="; --config needs=warn starts them all the same")


def end_without_jobs(*lines, remedy=""):
    for line in [*lines, f"no job was started{remedy}"]:
        logger.error(line)
    sys.exit(1)


def doubts_about_runs():
    """Warn of runs that had nothing to learn from."""
    for line in doubts.lines(PLAN, PATHS, TRAINED):
        logger.warning(line)


def say_results():
    """Close with the results of what was asked for, and where they are; `rlvr train` does so itself."""
    for line in [] if SETTING["own"] else ending.lines(PLAN, PATHS, COMMAND_LINE.targets, SETTING["mine"]):
        logger.info(line, extra=notices.SAID)


if IS_MAIN:
    notices.to_file(logger)
    REASONS = scheduler_reasons.note(RemoteExecutor, logger)
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


onstart:
    without_default_rate()
    if COMMAND_LINE.runs:
        held = getattr(workflow.persistence, "_lockfile", {}).values()
        locks.holds(OWNER, map(os.path.basename, held))
    for note in PLAN.notes:
        logger.warning(f"on this machine: {note}")
    asked = list(workflow.dag.needrun_jobs())
    TRAINED.extend(job.wildcards.run for job in asked if job.rule.name == "rl")
    models = {job.wildcards.model for job in asked if job.rule.name == "model"}
    for line in gated.notices(PLAN.models[name] for name in sorted(models)):
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


onsuccess:
    doubts_about_runs()
    if IS_MAIN:
        say_results()


onerror:
    doubts_about_runs()
    if IS_MAIN:
        failed = workflow.scheduler.failed
        waiting = failures.waiting(workflow.scheduler.remaining_jobs, failed, REASONS)
        for line in failures.lines(failures.of(failed, REASONS), waiting):
            logger.error(line)
