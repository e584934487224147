"""Pictures in prompts: each place of each picture is a token of its own, behind the model's vocabulary.

transformers marks the n places of a picture by n equal tokens, and takes their embeddings from the vision tower. Here
place i of a picture is the token V + first + i, with `first` the number of places of all pictures before it. So prompts
with pictures are rows of integers like others: groups, microbatches and common beginnings need not know of pictures,
and a pass computes each picture once, however many rollouts share its prompt.

Dimensions: V vocabulary, F places of all pictures, D hidden; positions have 3 directions: time, row, column.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from rlvr.records import MARK

START, PLACE, END = "<|vision_start|>", "<|image_pad|>", "<|vision_end|>"  # Qwen's words
SPOT = START + PLACE + END
KEPT = 2**29  # bytes of patches in memory; those of further pictures are computed anew for each pass


class Pictures:
    """The pictures that a model has met, with the tokens of their places."""

    def __init__(self, processor: Any, config: Any):
        """`processor`: the image processor of transformers; `config`: the model's."""
        self.processor, self.merge = processor, config.vision_config.spatial_merge_size
        self.vocabulary, self.place = config.get_text_config().vocab_size, config.image_token_id
        self.sections = config.get_text_config().rope_parameters["mrope_section"]
        self.paths: list[Path] = []
        self.grids: list[Tensor] = []
        self.tokens: dict[Path, range] = {}
        self._patches: dict[int, Tensor] = {}
        self._kept, self._places = 0, 0
        self._tables: list[Tensor] = []  # of each picture, or of several; `_table` joins them

    def __deepcopy__(self, memo: Any) -> Pictures:
        return self  # copies of a model have met the same pictures

    def see(self, path: Path) -> range:
        """The tokens of a picture's places. Raises OSError for a file that is no picture."""
        if path not in self.tokens:
            patches, grid = self._read(path)
            rows, columns = (grid[1:] // self.merge).tolist()
            place_F = torch.arange(rows * columns)
            moves_F = torch.zeros_like(place_F)
            moves_F[-1] = max(rows, columns)
            owner_F, time_F = torch.full_like(place_F, len(self.paths)), torch.zeros_like(place_F)
            self._tables.append(
                torch.stack([owner_F, place_F, moves_F, time_F, place_F // columns, place_F % columns], dim=-1)
            )
            first = self.vocabulary + self._places
            self._places += len(place_F)
            self._keep(len(self.paths), patches)
            self.paths.append(path)
            self.grids.append(grid)
            self.tokens[path] = range(first, self.vocabulary + self._places)
        return self.tokens[path]

    def _table(self, device: torch.device) -> Tensor:
        """(F, 6) of all places: picture, number in it, move of the position; time, row and column in the picture."""
        if len(self._tables) > 1 or self._tables[0].device != device:
            self._tables = [torch.cat([table.to(device) for table in self._tables])]
        return self._tables[0]

    def _read(self, path: Path) -> tuple[Tensor, Tensor]:
        """A picture's patches, flat, and its grid of patches (time, rows, columns)."""
        from PIL import Image

        with Image.open(path) as picture:
            seen = self.processor([picture.convert("RGB")], return_tensors="pt")
        return seen["pixel_values"], seen["image_grid_thw"][0]

    def _keep(self, number: int, patches: Tensor) -> None:
        size = patches.numel() * patches.element_size()
        if self._kept + size <= KEPT:
            self._patches[number] = patches
            self._kept += size

    def patches(self, number: int) -> Tensor:
        """The patches of picture `number`."""
        return self._patches[number] if number in self._patches else self._read(self.paths[number])[0]

    def embedded(self, model: Any, tokens: Tensor) -> Tensor:
        """Embeddings (..., D) of tokens, with gradients; each distinct picture goes through the vision tower once."""
        seen = tokens >= self.vocabulary
        words = model.get_input_embeddings()(tokens.masked_fill(seen, self.place))
        if not bool(seen.any()):
            return words
        picture, number, *_ = self._table(tokens.device)[tokens[seen] - self.vocabulary].unbind(-1)
        used, which = torch.unique(picture, return_inverse=True)
        patches = torch.cat([self.patches(i) for i in used.tolist()]).to(words.device)
        grids = torch.stack([self.grids[i] for i in used.tolist()]).to(words.device)
        features_FD = torch.cat(model.get_image_features(patches, grids).pooler_output)
        counts = grids[:, 1:].prod(-1) // self.merge**2
        rows = (counts.cumsum(0) - counts)[which] + number
        return words.masked_scatter(seen[..., None], features_FD[rows].to(words.dtype))

    def positions(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Positions (N, S, 3) of rows of tokens (N, S) from their beginning, and the position after each token (N, S).

        A token of a text moves the position by one. A picture's places lie on a grid, and its last moves the position
        by the longer side (M-RoPE of Qwen2-VL: Wang et al. 2024, sec. 2.1).
        """
        seen = rows >= self.vocabulary
        moves, within = torch.ones_like(rows), torch.zeros(*rows.shape, 3, dtype=rows.dtype, device=rows.device)
        if bool(seen.any()):
            of_picture = self._table(rows.device)[rows[seen] - self.vocabulary]
            moves[seen], within[seen] = of_picture[:, 2], of_picture[:, 3:]
        after = moves.cumsum(1)
        return (after - moves)[..., None] + within, after

    def as_words(self, tokens: Tensor) -> Tensor:
        """Only tokens of the vocabulary: each place of a picture is transformers' mark of one."""
        return tokens.masked_fill(tokens >= self.vocabulary, self.place)


def in_place(question: str, pictures: int, spot: str = SPOT) -> str:
    """A question with `spot` for each picture: instead of its mark, or in front if there are too few marks.

    A numbered mark that repeats, and marks beyond the pictures, stay as they are.
    """
    taken: list[str] = []

    def replaced(mark: re.Match[str]) -> str:
        if len(taken) == pictures or (mark[0] != "<image>" and mark[0] in taken):
            return mark[0]
        taken.append(mark[0])
        return spot

    question = MARK.sub(replaced, question)
    return spot * (pictures - len(taken)) + question
