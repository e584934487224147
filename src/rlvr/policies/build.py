"""Stage: model. Makes, checks, fetches or converts one model (rlvr.policies.sources)."""

import typer
from pydantic import TypeAdapter

from rlvr import provenance, stage_options
from rlvr.config.registries import SOURCES
from rlvr.config.schema.models_and_data import Model
from rlvr.files import publish_json
from rlvr.policies import sources


def main(spec: stage_options.Spec, out: stage_options.Manifest, source: stage_options.Source = "") -> None:
    """Make one model."""
    origin = provenance.collect()
    model = TypeAdapter(Model).validate_json(spec.read_bytes())
    try:
        entries = SOURCES.load(model.source).build(model, out, source)
    except sources.Unbuildable as error:
        raise SystemExit(str(error)) from error
    publish_json(out, {**entries, "provenance": provenance.at_once(origin)})


if __name__ == "__main__":
    typer.run(main)
