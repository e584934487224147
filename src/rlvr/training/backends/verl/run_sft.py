"""Runs verl's SFT trainer under torchrun, in processes that end with the stage: `rlvr.training.backends.verl.sft`."""

from rlvr.child_processes import die_with_parent
from rlvr.training.backends.verl import padded

if __name__ == "__main__":
    die_with_parent()
    from verl.trainer.sft_trainer import main

    padded.install()
    main()
