"""One RL run in process: its steps (rollouts, weights, update), its held-out measurements, its checkpoints."""

import time
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import torch

from rlvr.config.schema.specs import RunSpec
from rlvr.data import tasks
from rlvr.estimators import Estimator, inputs_of_step
from rlvr.policies.errors import NonFinite
from rlvr.policies.noise import STREAM_PROBE
from rlvr.policies.sampler import Samples
from rlvr.policies.store import EMBEDDING, HEAD, Policy, last_layers
from rlvr.records import Problem
from rlvr.training import measures
from rlvr.training.batches import Groups, PromptOrder, all_logprobs, autocast
from rlvr.training.checkpoint import Snapshot
from rlvr.training.critic import Estimates, ValueModel
from rlvr.training.forward import Optimizer, adamw, microbatch, sampler, training_pass
from rlvr.training.rollout_log import RolloutLog, Step
from rlvr.training.rollouts import Batch, Problems, collect, correct, sample_prompts, verify
from rlvr.training.update import Coupled, StepInputs, Totals, update
from rlvr.verifiers import Judgement
from rlvr.verifiers.pool import Pool


class Timer:
    """Seconds per phase."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._began = time.perf_counter()

    def lap(self, phase: str) -> None:
        now = time.perf_counter()
        self.seconds[phase] = round(now - self._began, 4)
        self._began = now


@dataclass(frozen=True)
class Gathered:
    """What a step learns from, before it changes the policy."""

    batch: Batch
    old_PGT: torch.Tensor
    reference_PGT: torch.Tensor
    estimates: Estimates | None  # of the critic
    timer: Timer


class Trainer:
    """One run: its policy, its reference, its optimizer, and its rows of metrics."""

    def __init__(
        self,
        spec: RunSpec,
        policy: Policy,
        reference: Policy,
        train: list[Problem],
        held_out: list[Problem],
        *,
        judges: int = 1,
        verifier_errors: float = 1.0,
        tokens_per_gpu: int = 16384,
        kept_rollouts: RolloutLog | None = None,
    ):
        self.spec, self.policy, self.task = spec, policy, tasks.of_set(spec.data.task)
        self.model = policy.model
        self.forward = training_pass(policy.model)
        self.microbatch = microbatch(policy.model, spec.rl.sequences_per_microbatch, tokens_per_gpu)
        self.reference_model = reference.model.requires_grad_(False)
        self.reference = training_pass(self.reference_model, frozen=True)
        self.problems = Problems(policy, train, spec.rollout.max_prompt_tokens)
        self.held_out = None
        if spec.probe.problems:
            self.held_out = Problems(policy, held_out[: spec.probe.problems], spec.rollout.max_prompt_tokens)
        self.order = PromptOrder(len(self.problems.prompts), spec.seed)
        self.verifier = Pool(spec.data.verifier, workers=judges, verifier_errors=verifier_errors, box=spec.reward.box)
        self.optimizer = self._fresh_optimizer()
        self.critic = None
        if spec.critic:
            as_policy = {"mode": spec.loss.aggregation, "longest": spec.rollout.max_response_tokens}
            self.critic = ValueModel(policy.model, spec.critic, spec.rl, self.microbatch, **as_policy)
        self.estimator = Estimator.of_run(spec.estimator, spec.steps)
        self.estimator_state: dict[str, float] = {}
        self.step, self.position, self.updates = 0, 0, 0
        self.metrics: list[dict[str, Any]] = []
        self.probes: list[dict[str, Any]] = []
        self.best: dict[str, Any] | None = None  # the best probed step so far, if the run selects one
        self.kept: dict[int, dict[str, torch.Tensor]] = {}  # the weights of probed steps, if the run keeps them
        self.kept_rollouts = kept_rollouts

    # ---- one step ----

    def advance(self) -> dict[str, Any]:
        """Take one step and return its row of metrics. Raises NonFinite, naming the step."""
        return self.learn(self.gather())

    def gather(self) -> Gathered:
        """The step's rollouts and reference; repeated from the same step, it returns the same. Raises NonFinite."""
        spec, timer = self.spec, Timer()
        if spec.rl.reference_reset and self.step and self.step % spec.rl.reference_reset == 0:
            self._reset_reference()
        if spec.rl.last_layers and self.step in spec.last_layers_steps:
            self._reset_last_layers()
        with autocast(spec.rl.precision if self.model.device.type == "cuda" else "float32", self.model.device):
            try:
                batch = self._collect()
            except NonFinite as error:
                raise NonFinite(f"step {self.step + 1}: {error}") from error
        timer.lap("rollout")
        with autocast(spec.rl.precision, self.model.device):
            reference_PGT = all_logprobs(self.reference, batch.groups, self.microbatch)
            old_PGT = self._old_logprobs(batch)
        estimates = self.critic.estimate(batch.groups, batch.rewards_PG) if self.critic else None
        return Gathered(batch, old_PGT, reference_PGT, estimates, timer)

    def learn(self, gathered: Gathered) -> dict[str, Any]:
        """Weights and update from a step's rollouts; its row of metrics. Raises NonFinite, naming the step."""
        timer = gathered.timer
        batch, old_PGT, reference_PGT = gathered.batch, gathered.old_PGT, gathered.reference_PGT
        inputs = inputs_of_step(old_PGT, reference_PGT, batch.groups.lengths_PG)
        advantages_PG, self.estimator_state = self.estimator.step(batch.rewards_PG, inputs, self.estimator_state)
        estimates, of_critic, advantages = gathered.estimates, {}, advantages_PG
        if estimates is not None:
            advantages_PG, advantages = estimates.weights_PG(batch.groups.lengths_PG), estimates.advantages_PGT
        timer.lap("reference")
        try:
            if self.critic is not None and estimates is not None:
                of_critic = self.critic.update(batch.groups, estimates)
            alone = self.critic is not None and self.step < self.critic.settings.warmup  # the critic learns alone
            totals = Totals() if alone else self._update(batch, inputs, advantages, gathered)
        except NonFinite as error:
            raise NonFinite(f"step {self.step + 1}: {error}") from error
        timer.lap("update")
        self.step += 1
        self.position = batch.position
        row = {"step": self.step, **self._figures(batch, inputs, advantages_PG), **totals.figures(), **of_critic}
        if old_PGT is not batch.samples.logprobs_PGT:
            gap_PGT = (old_PGT - batch.samples.logprobs_PGT).abs()
            row["logprob_gap"] = float(gap_PGT.sum() / batch.groups.lengths_PG.sum())
        if self.estimator_state:
            row["estimator"] = self.estimator_state
        tokens, seconds = int(batch.groups.lengths_PG.sum()), sum(timer.seconds.values())
        row["timing"] = {**timer.seconds, "verify": round(batch.verify_seconds, 4), "step": round(seconds, 4)}
        row["timing"]["tokens_per_second"] = round(tokens / seconds, 1)
        self.metrics.append(row)
        if self.kept_rollouts is not None:
            of_step = self._of_step(batch, inputs, advantages_PG)
            self.kept_rollouts.add(self.step, [problem.id for problem in batch.problems], of_step.group)
        return row

    def _of_step(self, batch: Batch, inputs: dict[str, Any], advantages_PG: torch.Tensor) -> Step:
        """What may be kept of a step."""
        groups, problems = batch.groups, [(problem.id, problem.gold) for problem in batch.problems]

        def texts(p: int) -> list[str]:
            words = self._words(groups.prompts_PL[p, : int(groups.prompt_lengths_P[p])])
            lengths = groups.lengths_PG[p].tolist()
            rows = [words, *(row[:n] for row, n in zip(groups.tokens_PGT[p], lengths, strict=True))]
            return self.policy.decode([row.cpu().numpy() for row in rows])

        tensors = batch.rewards_PG, advantages_PG, groups.lengths_PG
        return Step(self.step, problems, texts, batch.verdicts, *tensors, inputs, self.estimator_state)

    def _words(self, prompt: torch.Tensor) -> torch.Tensor:
        """A prompt, only in tokens of the vocabulary."""
        return prompt if self.policy.pictures is None else self.policy.pictures.as_words(prompt)

    def _update(self, batch: Batch, inputs: dict[str, Any], advantages: torch.Tensor, gathered: Gathered) -> Totals:
        of_step = StepInputs(
            batch.groups,
            gathered.old_PGT,
            gathered.reference_PGT,
            self.spec.loss,
            self.spec.rl,
            longest=self.spec.rollout.max_response_tokens,
            microbatch=self.microbatch,
            coupled=self._coupled(batch, inputs) if self.estimator.coupled else None,
        )
        return update(self.model, self.forward, self.optimizer, of_step, advantages)

    def _old_logprobs(self, batch: Batch) -> torch.Tensor:
        """log pi (P, G, T) before the update: the sampler's in float32, else by a pass of the trainer's own.

        In bfloat16 the sampler's pass, token by token, rounds differently from the reference's over whole rows. At
        equal weights log pi - log pi_ref would be noise, which OEF, some estimators and the KL term read.
        """
        if self.spec.rl.precision == "float32":
            return batch.samples.logprobs_PGT
        return all_logprobs(training_pass(self.model, frozen=True), batch.groups, self.microbatch)

    def _collect(self) -> Batch:
        return collect(
            self.policy,
            sampler(self.model),
            self.problems,
            self.order,
            self.verifier,
            seed=self.spec.seed,
            step=self.step + 1,
            position=self.position,
            prompts=self.spec.rl.prompts_per_step,
            rollout=self.spec.rollout,
            reward=self.spec.reward,
        )

    def _coupled(self, batch: Batch, inputs: dict[str, Any]) -> Coupled:
        """Weights and objective of some prompts, as functions of the current log pi."""

        def weigh(rows: torch.Tensor, logp_PG: torch.Tensor) -> tuple[torch.Tensor, float, dict[str, float | None]]:
            now = {key: value[rows] if isinstance(value, torch.Tensor) else value for key, value in inputs.items()}
            now["logp_PG"] = logp_PG
            rewards_PG = batch.rewards_PG[rows]
            weights_PG = self.estimator.advantages(rewards_PG, now, self.estimator_state)
            return weights_PG, -self.estimator.objective(rewards_PG, now), self.estimator.figures(rewards_PG, now)

        return weigh

    def _fresh_optimizer(self) -> Optimizer:
        rl = self.spec.rl
        optimizer = adamw(self.model, lr=rl.learning_rate, betas=rl.betas, weight_decay=rl.weight_decay)
        optimizer.register_step_pre_hook(self._warm_up)
        return optimizer

    def _warm_up(self, optimizer: Optimizer, *_: Any) -> None:
        """Set the learning rate of the next optimizer step: it rises linearly over the first `warmup_steps`."""
        factor = min(1.0, (self.updates + 1) / max(1, self.spec.rl.warmup_steps))
        for parameters in optimizer.param_groups:
            parameters["lr"] = self.spec.rl.learning_rate * factor
        self.updates += 1

    def _reset_reference(self) -> None:
        """Copy the policy into the reference (PACS, sec. 3.4, after Eq. 7), and clear the optimizer's moments if asked.

        OEF, overconfidence and KL now compare with the policy of this step.
        """
        self.reference_model.load_state_dict(self.model.state_dict())
        self.reference = training_pass(self.reference_model, frozen=True)
        if self.spec.rl.reference_reset_moments:
            self.optimizer = self._fresh_optimizer()

    def _reset_last_layers(self) -> None:
        """Give the last layers the reference's weights (FADE, App. 15.2). The optimizer's moments stay."""
        state, reference = self.model.state_dict(), self.reference_model.state_dict()
        last = last_layers(self._own_names(), self.spec.rl.last_layers)
        self.model.load_state_dict({**state, **{name: reference[name] for name in last}})

    def _figures(self, batch: Batch, inputs: dict[str, Any], advantages_PG: torch.Tensor) -> dict[str, Any]:
        of_batch = batch.rewards_PG, advantages_PG, batch.groups.lengths_PG, batch.correct_PG, inputs["logp_PG"]
        return {
            **measures.of_batch(*of_batch, batch.drawn_pass_rates),
            **self._entropy(batch.groups, batch.samples),
            **self._false_working(batch.groups, batch.correct_PG),
            **measures.overconfidence(inputs["log_ratio_PG"], batch.groups.lengths_PG, batch.correct_PG),
            **({} if self.estimator.coupled else self.estimator.figures(batch.rewards_PG, inputs)),
            **({} if batch.formed_PG is None else {"well_formed": float(batch.formed_PG.mean())}),
            "prompts_drawn": len(batch.drawn_pass_rates),
            "sampling_rounds": batch.rounds,
            "statuses": dict(sorted(batch.statuses.items())),
        }

    def _entropy(self, groups: Groups, drawn: Samples) -> dict[str, float | None]:
        tokens = groups.tokens_PGT, drawn.entropy_PGT, groups.mask_PGT()
        return measures.entropy(self.task, self.policy.tokenizer, *tokens)

    def _false_working(self, groups: Groups, correct_PG: torch.Tensor) -> dict[str, float | None]:
        prompts = [self._words(prompt) for prompt in groups.prompts()]
        responses = groups.tokens_PGT, groups.lengths_PG
        return measures.false_working(self.task, self.policy.tokenizer, prompts, *responses, correct_PG)

    # ---- held-out measurements ----

    def probe_due(self) -> bool:
        selects = self.spec.selection.rule == "best_validation" and self.step == self.spec.steps
        return self.held_out is not None and (self.spec.probe.due(self.step) or selects)

    def probe_if_due(self) -> None:
        """The probe of this step, unless it is there: a process that was stopped may have left it out."""
        if self.probe_due() and not (self.probes and self.probes[-1]["step"] == self.step):
            self.probe()

    def probe(self) -> None:
        """Sample held-out problems at temperature 1; record pass rates, entropy, overconfidence (ACE sec. 5.3, 5.4)."""
        assert self.held_out is not None
        spec, held_out = self.spec, self.held_out
        groups, drawn, verdicts = self._sample_held_out(held_out, spec.probe.samples)
        reference_PGT = all_logprobs(self.reference, groups, self.microbatch)
        correct_PG = correct(verdicts, self.model.device)
        log_ratio_PG = (drawn.logprobs_PGT - reference_PGT).sum(-1)
        pass_rate = float(correct_PG.mean())
        selects = spec.selection.rule == "best_validation" and self.step
        if selects and (self.best is None or pass_rate > self.best["pass_rate"]):
            self.best = {"step": self.step, "pass_rate": pass_rate, "model": self._weights()}
        if spec.probe.keeps(self.step):
            weights = self._weights()
            self.kept[self.step] = {name: weights[name] for name in self._own_names()}
        self.probes.append(
            {
                "step": self.step,
                **measures.of_probe(correct_PG, [p.level for p in held_out.problems]),
                **({"greedy": self._greedy(held_out)} if spec.probe.greedy else {}),
                **self._entropy(groups, drawn),
                **self._false_working(groups, correct_PG),
                **measures.overconfidence(log_ratio_PG, groups.lengths_PG, correct_PG),
            }
        )

    def _greedy(self, held_out: Problems) -> float:
        """Pass rate of one response per problem at temperature 0, independent of noise."""
        _, _, verdicts = self._sample_held_out(held_out, 1, temperature=0.0)
        return sum(status == "correct" for ((status, _),) in verdicts) / len(verdicts)

    def _sample_held_out(
        self, held_out: Problems, rollouts: int, temperature: float = 1.0
    ) -> tuple[Groups, Samples, list[list[Judgement]]]:
        """Responses to the held-out problems, and their verdicts."""
        groups, drawn = sample_prompts(
            self.policy,
            sampler(self.model),
            held_out.prompts,
            [(self.spec.seed, STREAM_PROBE, self.step, i) for i in range(len(held_out.prompts))],
            rollouts=rollouts,
            max_tokens=self.spec.rollout.max_response_tokens,
            temperature=temperature,
        )
        return groups, drawn, verify(self.policy, drawn, [p.gold for p in held_out.problems], self.verifier)

    def _own_names(self) -> list[str]:
        """The names of all weights, without a head that is the embedding."""
        state = self.model.state_dict()
        embedding = state[EMBEDDING] if EMBEDDING in state else self.model.get_input_embeddings().weight
        tied = HEAD in state and state[HEAD].data_ptr() == embedding.data_ptr()
        return [name for name in state if not (tied and name == HEAD)]

    def _weights(self) -> dict[str, torch.Tensor]:
        return {name: tensor.detach().cpu().clone() for name, tensor in self.model.state_dict().items()}

    def select(self) -> int:
        """The step of the run's result by its selection rule; loads that policy."""
        if self.best is None:
            return self.step
        self.model.load_state_dict(self.best["model"])
        return int(self.best["step"])

    # ---- rows and checkpoints ----

    @property
    def rows(self) -> dict[str, list[dict[str, Any]]]:
        """The rows so far of metrics.jsonl and probe.jsonl."""
        return {"metrics": self.metrics, "probe": self.probes}

    def snapshot(self) -> Snapshot:
        tensors = {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict()}
        if self.spec.rl.reference_reset:
            tensors["reference"] = self.reference_model.state_dict()
        if self.critic is not None:
            tensors["critic"] = self.critic.tensors()
        if self.best is not None:
            tensors["best"] = self.best
        if self.kept:
            tensors["kept"] = self.kept
        state = {
            "position": self.position,
            "updates": self.updates,
            "seed": self.spec.seed,
            "estimator": self.estimator_state,
        }
        return Snapshot(self.step, tensors, state, self.rows)

    def restore(self, snapshot: Snapshot) -> None:
        self.model.load_state_dict(snapshot.tensors["model"])
        if "optimizer" in snapshot.tensors:  # else the run is published, and has no step left
            self.optimizer.load_state_dict(deepcopy(snapshot.tensors["optimizer"]))
        if self.critic is not None and "critic" in snapshot.tensors:  # as the optimizer
            self.critic.restore(snapshot.tensors["critic"])
        if "reference" in snapshot.tensors:
            self.reference_model.load_state_dict(snapshot.tensors["reference"])
            self.reference = training_pass(self.reference_model, frozen=True)
        self.best = deepcopy(snapshot.tensors.get("best"))
        self.kept = deepcopy(snapshot.tensors.get("kept", {}))
        self.step, self.position = snapshot.step, snapshot.state["position"]
        self.updates, self.estimator_state = snapshot.state["updates"], snapshot.state["estimator"]
        self.metrics, self.probes = snapshot.rows["metrics"], snapshot.rows["probe"]
        self.verifier.errors.resume(row["statuses"] for row in self.metrics)
