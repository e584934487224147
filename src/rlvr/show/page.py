"""Pages for a browser: one self-contained HTML file, without scripts; jinja escapes what a model wrote."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rlvr.show import sparks
from rlvr.show.comparison import Comparison
from rlvr.show.groups import Shown
from rlvr.show.highlight import percent, pieces, printable, signed


def render(template: str, **content: Any) -> str:
    """A template of this folder with its content."""
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=jinja2.StrictUndefined
    )
    environment.filters |= {"printable": printable, "percent": percent, "signed": signed}
    return environment.get_template(template).render(**content)


def groups_page(title: str, groups: Iterable[Shown], notes: list[str]) -> str:
    """A page of groups: each rollout beside the others, with a bar per method's weight."""
    return render("groups.html.j2", title=title, groups=[_group(shown) for shown in groups], notes=notes)


def comparison_page(of: Comparison) -> str:
    """A page of how two runs or evaluations differ."""
    curves = [(curve, sparks.limits(curve), *sparks.points(curve, 300, 80)) for curve in of.curves]
    return render("compare.html.j2", of=of, curves=curves)


def _group(shown: Shown) -> dict[str, Any]:
    group = shown.group
    largest = {method: max(map(abs, weights), default=0.0) or 1.0 for method, weights in shown.weights.items()}
    rollouts = [
        {
            "number": i,
            "status": group.statuses[i],
            "extracted": group.extracted[i],
            "reward": group.rewards[i],
            "weights": [
                {"method": method, "value": weights[i], "share": 50 * abs(weights[i]) / largest[method]}
                for method, weights in shown.weights.items()
            ],
            "shift": None if group.log_ratio is None else group.log_ratio[i],
            "logp": group.logp[i],
            "tokens": group.lengths[i],
            "pieces": pieces(shown, i),
        }
        for i in shown.visible
    ]
    return {"group": group, "right": shown.right, "rollouts": rollouts}
