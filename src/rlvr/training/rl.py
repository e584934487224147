"""Stage: RL. Steps of rollouts, weights and update, from a base policy to a trained one."""

import typer

from rlvr import provenance, stage_options
from rlvr.child_processes import end_with_caller
from rlvr.config import identity
from rlvr.config.registries import BACKENDS
from rlvr.config.schema.settings import Execution
from rlvr.config.schema.specs import RunSpec
from rlvr.files import sha256
from rlvr.policies import store
from rlvr.policies.errors import NonFinite
from rlvr.policies.manifest import fingerprint
from rlvr.records import PicturesUnread, sum_of_pictures
from rlvr.training import loggers, streamed_metrics
from rlvr.training.checkpoint import Checkpoints
from rlvr.training.deterministic import give_back_memory, one_thread
from rlvr.training.inputs import problems_of
from rlvr.training.progress import TO_BE_CONTINUED, Bar, Saves, Stopped, StopRequest
from rlvr.training.rollout_log import RolloutLog
from rlvr.training.run_outputs import TrainedPolicy
from rlvr.training.streamed_metrics import Live
from rlvr.training.trainer import Trainer
from rlvr.verifiers import VerifierError, check_golds
from rlvr.verifiers.pool import TooManyErrors


def train(trainer: Trainer, checkpoints: Checkpoints, saves: Saves, growing: Live) -> None:
    """Run to the last step, from the newest whole checkpoint if there is one.

    Raises SystemExit(75) after saving when asked to stop: at once during rollouts and probes, which the next process
    repeats, and after the update during one. Raises NonFinite if training diverged: the last checkpoint is older.
    """
    saved = None
    if (snapshot := checkpoints.latest()) is not None:
        trainer.restore(snapshot)
        saved = trainer.step
    del snapshot  # of a large policy it is gigabytes
    if trainer.kept_rollouts is not None:
        trainer.kept_rollouts.resume(trainer.step)
    growing.update(trainer.rows)
    steps, stop = trainer.spec.steps, StopRequest()
    with Bar("rl", steps, trainer.step) as bar:
        try:
            with stop.at_once():
                trainer.probe_if_due()
            growing.update(trainer.rows)
            while trainer.step < steps:
                with stop.at_once():
                    gathered = trainer.gather()
                row = trainer.learn(gathered)
                with stop.at_once():
                    trainer.probe_if_due()
                growing.update(trainer.rows)
                if saves.due(trainer.step) or trainer.step == steps:
                    save(trainer, checkpoints)
                    saves.made()
                    saved = trainer.step
                bar.advance(pass_rate=row["pass_rate"], entropy=row["entropy"], seconds=row["timing"]["step"])
                if stop.after_step():
                    raise Stopped
        except Stopped:
            if saved != trainer.step:
                save(trainer, checkpoints)
            print(f"asked to stop: saved at step {trainer.step}, to be continued", flush=True)
            raise SystemExit(TO_BE_CONTINUED) from None


def save(trainer: Trainer, checkpoints: Checkpoints) -> None:
    """Save a checkpoint, and before it the rollouts of its steps."""
    if trainer.kept_rollouts is not None:
        trainer.kept_rollouts.flush()
    checkpoints.save(trainer.snapshot())


def main(
    spec: stage_options.Spec,
    base: stage_options.Base,
    problems: stage_options.Problems,
    validation: stage_options.Validation,
    out: stage_options.Manifest,
    state: stage_options.State,
    execution: stage_options.Execution,
) -> None:
    """Train one run."""
    end_with_caller()
    one_thread()
    run = RunSpec.model_validate_json(spec.read_bytes())
    options = Execution.model_validate_json(execution.read_bytes())
    loggers.check(options.loggers)
    backend = BACKENDS.load(run.rl.backend)
    origin = provenance.collect(**backend.origin())
    policy, reference = (backend.policy(base) for _ in range(2))
    store.share_pictures(policy, reference)
    give_back_memory()
    train_set, held_out = problems_of(problems, validation)
    try:
        for path, problem_set in ((problems, train_set), (validation, held_out)):
            check_golds(run.data.verifier, ((f"{path}, problem {problem.id}", problem.gold) for problem in problem_set))
        trainer = Trainer(
            run,
            policy,
            reference,
            train_set,
            held_out,
            judges=options.judges,
            verifier_errors=options.verifier_errors,
            tokens_per_gpu=options.tokens_per_gpu,
            kept_rollouts=RolloutLog.of(state, run.steps, options),
        )
    except (VerifierError, PicturesUnread) as error:
        raise SystemExit(str(error)) from error
    mark = {"run": identity.run_id(run), "base": fingerprint(base), "problems": sha256(problems)}
    if pictures := sum_of_pictures(train_set):
        mark["pictures"] = pictures
    if run.selection.rule != "last":
        mark["validation"] = sha256(validation)
    checkpoints = Checkpoints(state, mark, keep=options.keep_checkpoints, origin=origin)
    with checkpoints.lease(), trainer.verifier:
        streamed_metrics.prepare(state, run)
        try:
            with Live(state, options.loggers) as growing:
                train(trainer, checkpoints, Saves(options.save_every, options.save_minutes), growing)
        except NonFinite as error:
            raise SystemExit(f"training diverged at {error}; the last good checkpoint is in {state}") from error
        except TooManyErrors as error:
            raise SystemExit(f"step {trainer.step + 1}: {error}; the last checkpoint is in {state}") from error
        except VerifierError as error:
            raise SystemExit(f"{error} (in the problems of {problems} or {validation}, where it is a gold)") from error
        step = trainer.select()
        folder = out.parent / f"policy-step{step}"
        sums = store.save(policy, folder)
        if trainer.kept:
            store.save_kept(out.parent / store.KEPT, trainer.kept)
        outcome = TrainedPolicy(folder, sums, policy.template, trainer.rows, checkpoints.history)
        if trainer.kept_rollouts is not None:
            trainer.kept_rollouts.publish(out)
        outcome.publish_run(out, run, step, trainer.problems.left_out)
        checkpoints.retire()
        streamed_metrics.clear(state)


if __name__ == "__main__":
    typer.run(main)
