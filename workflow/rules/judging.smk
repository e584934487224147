# What claims, criteria of mechanisms, placebos and controls read. No rules here.
from rlvr.claims import contrasts, controls, mechanisms
from rlvr.config.plan import first_items
from rlvr.scoring import other_verifier

# Papers with claims, and the inputs of their claims.
CLAIMING = [name for name, made in PLAN.papers.items() if made.paper.claims]


def evaluated_claims():
    """The claims of every paper at this scale."""
    return [path for paper in CLAIMING for path in PATHS.claims(paper)]


FIRST_ITEMS = {paper: [name for owner, name in first_items(PLAN) if owner == paper] for paper in CLAIMING}
FIRST_CLAIMING = [paper for paper, names in FIRST_ITEMS.items() if names]


@cache
def compared_by(paper):
    """A paper's evaluations that another verifier can judge too, and the files that this needs."""
    layout = other_verifier.of_paper(PLAN, paper)
    return layout, other_verifier.inputs(layout, PATHS.results)


@cache
def claims_layout(paper, first=False):
    return contrasts.layout(PLAN, paper, FIRST_ITEMS[paper] if first else None)


@cache
def claims_files(paper, first=False):
    laid = claims_layout(paper, first)
    needed = contrasts.needs(laid)
    files = [PATHS.scores(*pair) for pair in needed.scores]
    files += [PATHS.diversity(*pair) for pair in needed.diversity]
    files += [path for run in needed.runs for path in PATHS.rows(run)]
    files += [PATHS.measured(measure, run) for measure, runs in needed.measured.items() for run in runs]
    files += [PATHS.mechanisms(paper, first=first)] if PLAN.papers[paper].paper.mechanism else []
    return files + [reference_file(name) for name in dict.fromkeys(claim.reference for claim in laid) if name]


# Papers with criteria of their mechanism.
MECHANISTIC = [name for name, made in PLAN.papers.items() if made.paper.mechanism]


def judged_criteria():
    """The criteria of every paper at this scale."""
    return [PATHS.mechanisms(paper) for paper in MECHANISTIC]


@cache
def criteria_of(paper, first=False):
    return mechanisms.layout(PLAN, paper, FIRST_ITEMS.get(paper) if first else None)


def criteria_spec(paper, first=False):
    criteria = [one.model_dump(mode="json") for one in criteria_of(paper, first)]
    return spec_file({"scale": PATHS.scale, "criteria": criteria})


def criteria_option(paper, first=False):
    """Tells the claims' stage the judged criteria of a paper that has some."""
    return ["--criteria", PATHS.mechanisms(paper, first=first)] if paper in MECHANISTIC else []


# Papers with placebos or controls at this scale.
CONTROLLED = [name for name, made in PLAN.papers.items() if made.paper.placebos or made.paper.controls]


@cache
def controls_layout(paper):
    return controls.layout(PLAN, paper)


def controls_files(paper):
    needed = contrasts.needs([one.claim for one in controls_layout(paper)])
    return [PATHS.scores(*pair) for pair in needed.scores]


def controls_spec(paper):
    content = [one.model_dump(mode="json") for one in controls_layout(paper)]
    return spec_file({"scale": PATHS.scale, "controls": content})


def claims_spec(paper, first=False):
    claims = [claim.model_dump(mode="json") for claim in claims_layout(paper, first)]
    content = {"scale": PATHS.scale, "claims": claims}
    return spec_file({**content, "references": own_file("config/papers")})
