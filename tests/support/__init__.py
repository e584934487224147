"""What tests share, and no test is in. Fixtures are in tests/conftest.py.

attacks            programs that attack the machine and their neighbours in the sandbox; what they leave
checkout           a copy of the workflow in a folder of its own, one RL run away from a result
claims_by_hand     claims, and scores of their arms
evidence_by_hand   scores, rows of runs and claims that a snapshot is made of
figures_by_hand    made-up statistics of every kind of figure, and the figures that they give
forgeries          programs that forge a verdict, read what they must not, or harm
gym                which tests need reasoning-gym
kept_by_hand       runs with kept rollouts, and evaluations, as far as `rlvr show` and `rlvr compare` read them
layouts_by_hand    typed layouts from what a test says of them
ledger             the verdicts on a paper's statements
local_hub          a hub of models on this machine, from a folder of files
math_answers       golds drawn from a grammar, with rewritings that are equal and answers that are wrong
members            every estimator with the settings at which laws are tested, and its inputs
native_models      small models for the native engine, rows for its passes, its samples
own_config         a copy of config/, and mistakes in it
programs           completions and golds of the code verifier
published_sets     small files in the formats of the published data sets
readers            a library that reads what we write, in an environment of its own
runs_by_hand       a specification with a changed setting; whether two runs are equal
scores_by_hand     scores of policies, and the layout of a table of them
scripts            a script of benchmarks/ as a module
slurm_cluster      a real Slurm of a few nodes, as plain processes in a folder
takeovers          programs that try to take over what runs them
verl_replay        the trainer in process on rollouts that verl recorded
verl_without_gpu   what verl must be told where there is no GPU

tests/verl_on_cpu is not here, since processes of verl import it by its name: a platform and a rollout engine on a CPU.
tests/adapters/trl_steps.py is a script that runs in TRL's environment.
"""
