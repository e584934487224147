"""verl's data set with pictures as they are: their own processor alone resizes them, as in process."""

from typing import Any

from verl.utils.dataset.rl_dataset import RLHFDataset


class Problems(RLHFDataset):
    @classmethod
    def _process_multi_modal_info(cls, messages: list[dict], image_patch_size: int, config: Any) -> tuple:
        """Pictures, videos and sounds of messages; None for kinds that they lack. There are pictures alone."""
        return pictures_of(messages) or None, None, None


def pictures_of(messages: list[dict]) -> list[Any]:
    """The pictures of messages, in order."""
    contents = [message["content"] for message in messages if not isinstance(message["content"], str)]
    return [part["image"].convert("RGB") for content in contents for part in content if part["type"] == "image"]
