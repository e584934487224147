"""What a test does where reasoning-gym is not installed: it is skipped, and says why."""

import pytest

from rlvr.config.registries import TASKS
from rlvr.verifiers import reasoning_gym

needs_gym = pytest.mark.skipif(
    reasoning_gym.installed() != reasoning_gym.PINNED, reason="reasoning-gym is not installed: make install-gym"
)
ALL_TASKS = [pytest.param(name, id=name, marks=[needs_gym] if task.library else []) for name, task in TASKS.all()]
GYM_TASKS = [name for name, task in TASKS.all() if task.library]
