"""The schemas of a paper (its arms, sweeps and items) and of a scale."""

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from rlvr.config.colors import COLORS
from rlvr.config.schema.fields import Name, Natural, Positive, Strict
from rlvr.config.schema.items import Claim, ItemConfig
from rlvr.config.schema.mechanism import Criterion
from rlvr.config.schema.models_and_data import GENERAL
from rlvr.config.schema.stated import HardwareStatement, Statements

PUBLISHED_WIDTH = "95 % half-width over training runs"


class PaperModel(Strict):
    """A model in a paper: the paper's settings for it, a prompt that replaces the model's, and sets that replace the
    paper's, where it is trained on something else."""

    prompt: str | None = None
    settings: dict[str, Any] = {}
    data: str | None = None
    sft_data: str | None = None
    validation_data: str | None = None


class Arm(Strict):
    """A named way to train: settings on top of those of the arm it is `like`, and a training set.

    `times` multiplies settings whose value the model or the scale decides, such as {rl.learning_rate: 0.5}.
    """

    like: str | None = None
    data: str | None = None
    label: str | None = None
    about: str | None = None
    color: Literal[tuple(COLORS)] | None = None  # in figures; null: a free one  # type: ignore[valid-type]
    settings: dict[str, Any] = {}
    times: dict[str, float] = {}
    control: bool = False  # a placebo's arm or a control's: `controls: none` of a scale leaves it out


class Control(Strict):
    """A comparison whose result is known: where it is not found, the experiment would not find a method's effect.

    Each contrast, `left` minus one of `right` over a table at one k, is expected above 0, below 0, or undecided. The
    first two hold where each contrast's interval does. The last holds where the wider interval, of all together,
    includes 0 for each. With `at_least`, percent points, it is no control but says what the settings were chosen for:
    it holds where the estimate has so many.
    """

    name: Name
    says: str
    table: Name
    left: str
    right: Annotated[list[str], Field(min_length=1)]
    k: Positive
    expected: Literal["above", "below", "undecided"] = "above"
    at_least: float | None = None
    effort: Literal["paper's setting", "equal pass@1"] = "paper's setting"

    @model_validator(mode="after")
    def is_one_expectation(self):
        if ("expected" in self.model_fields_set) == (self.at_least is not None):
            raise ValueError("expected: a control needs `expected`, or `at_least`, and not both")
        return self


class Sweep(Strict):
    """One setting of some arms, set to each value or multiplied by it."""

    like: list[str] = []  # arms, or patterns (`ace_grpo-alpha-*`)
    every_arm: bool = False  # of the paper's own, instead of `like`
    set: str | None = None
    times: str | None = None
    values: Annotated[list[float], Field(min_length=1)]  # times 1 is the arm itself
    label: str = "{name} = {value}"
    published: str | None = None

    @model_validator(mode="after")
    def over_some_arms(self):
        if bool(self.like) == self.every_arm:
            raise ValueError("like: a sweep needs either `like`, a list of arms, or `every_arm: true`")
        return self

    @model_validator(mode="after")
    def one_way(self):
        if (self.set is None) == (self.times is None):
            raise ValueError("a sweep needs either `set` or `times`, the dotted name of a setting")
        return self

    @model_validator(mode="after")
    def only_known_fields_in_labels(self):
        for key in ("label", "published"):
            try:
                str(getattr(self, key) or "").format(name="", value=0.0)
            except (KeyError, IndexError, ValueError, AttributeError):
                raise ValueError(f"{key}: may contain {{name}} and {{value}}, but no other braces") from None
        return self


class Defaults(Strict):
    """What tables and figures have whose kind has the key, unless they have another value or are `like` another."""

    tables: dict[str, Any] = {}
    figures: dict[str, Any] = {}


class Core(Strict):
    """Some tables and figures of a paper."""

    tables: list[str] = []
    figures: list[str] = []


class Paper(Strict):
    name: Name
    short: str
    title: str
    authors: str
    year: int
    data: str | None = None  # a paper with arms needs this and the next three
    sft_data: str | None = None
    validation_data: str | None = None
    benchmarks: list[str] = []
    prompts: dict[str, list[str]] = {}  # a prompt, or what the paper says of it -> the sets that it is for
    # The paper's verifier instead of another, for the published sets that it trains and evaluates on.
    verifiers: dict[Literal[GENERAL], Literal[GENERAL]] = {}  # type: ignore[valid-type]
    # A model or benchmark -> its name in the paper's tables, where it differs; null: not in these tables.
    published_as: dict[str, str | None] = {}
    published_width: str = PUBLISHED_WIDTH  # what the ± of its published tables is
    seeds: list[Natural] = []
    settings: dict[str, Any] = {}
    models: dict[str, PaperModel] = {}
    arms: dict[Name, Arm] = {}
    sweeps: dict[Name, Sweep] = {}
    defaults: Defaults = Defaults()
    tables: dict[Name, ItemConfig] = {}
    figures: dict[Name, ItemConfig] = {}
    core: Core = Core()  # what a scale with `items: core` makes
    first: Core = Core()  # the part of the core that the default target makes
    margin: Annotated[float, Field(ge=0)] = 0.5  # percent points: a smaller difference has no practical size
    claims: list[Claim] = []
    mechanism: list[Criterion] = []
    regime: str | None = (
        None  # the arm that is asked the criteria of config/regime.yaml, which planning adds to `mechanism`
    )
    placebos: dict[str, list[str]] = {}  # an arm -> the arms that keep its size and take its idea away
    controls: list[Control] = []
    deviations: list[str] = []
    stated: dict[str, Statements] = {}  # a setting -> what the paper's text says of it
    hardware: list[HardwareStatement] = []

    def published_name(self, name: str) -> str:
        """The name of a model or benchmark in the paper's tables; empty where it is not in them."""
        return self.published_as.get(name, name) or ""

    @model_validator(mode="after")
    def trains_on_something(self):
        needed = ("data", "sft_data", "validation_data", "benchmarks", "seeds", "models")
        missing = [name for name in needed if not getattr(self, name)]
        if self.arms and missing:
            raise ValueError(f"a paper with arms needs {', '.join(missing)}")
        return self

    @model_validator(mode="after")
    def each_seed_once(self):
        if len(set(self.seeds)) < len(self.seeds):
            raise ValueError(f"seeds: each seed is one run; remove the duplicates (got {self.seeds})")
        return self


class Machine(Strict):
    """The machine that `rlvr plan` estimates for: nodes of a device of config/hardware.yaml (`per_node` null: as many
    devices as that file says). In no identity."""

    device: str = "h100"
    nodes: Positive = 4
    per_node: Positive | None = None


class Matched(Strict):
    """The part of comparisons at equal pass@1 that a scale makes; by default all of it.

    What is left out is no run of the scale. Verdicts that need it are "not run".
    """

    rates: list[float] = []  # of a sweep's values only these


class Scale(Strict):
    """Sizes for all papers; a paper's folder has its own on top of them (`AtScale`)."""

    name: Name
    like: Name | None = None  # the scale below this one
    about: str
    models: dict[str, str] = {}  # a model, or one that stands in for some -> the one in its place
    data: dict[str, str] = {}  # the same for data sets
    seeds: Positive | None = None
    repeats: Positive | None = None  # the number of seeds of items with `repeats`
    largest_k: Positive | None = None  # tables leave out larger k
    matched: Matched = Matched()
    # What `paper_<name>` makes: the core, every item without `by_name`, or both, where only the core has companions.
    items: Literal["core", "all", "both"] = "all"
    companions: bool = True  # with tables at equal pass@1 and frontiers
    # Placebos and controls: not run, run and reported, or run so that `claims` fails where a control is not found.
    controls: Literal["none", "warn", "fail"] = "none"
    sft: bool | list[str]  # models that are fine-tuned before RL: all, none, or those of papers' `models` by name
    settings: dict[str, Any] = {}
    hardware: Machine = Machine()

    def fine_tunes(self, model: str) -> bool:
        return self.sft if isinstance(self.sft, bool) else model in self.sft


class AtScale(Strict):
    """What a paper has at one scale, on top of the scale's own."""

    settings: dict[str, Any] = {}
    models: dict[str, dict[str, Any]] = {}  # settings for one of its models, on top of those
    data: dict[str, str] = {}  # a data set -> the one in its place, where it is not the scale's own stand-in
    without: list[Name] = []  # tables and figures that the scale cannot make
    companions: bool | None = None  # null: as the scale
