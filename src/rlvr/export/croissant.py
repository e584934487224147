"""croissant.json: the folder's parquet files with their columns in Croissant 1.0, which data set libraries read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

from rlvr.export.cards import MEANING, TAGS
from rlvr.files import sha256

PARQUET = "application/x-parquet"
KINDS = {"int64": "sc:Integer", "double": "sc:Float", "bool": "sc:Boolean"}  # all others are text
TERMS = """
citeAs column equivalentProperty extract field fileObject fileProperty fileSet format includes isLiveDataset jsonPath
key md5 parentField path recordSet references regex repeated replace samplingRate separator source subField transform
"""
CONTEXT = {  # the standard one
    "@language": "en",
    "@vocab": "https://schema.org/",
    "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    **{term: f"cr:{term}" for term in TERMS.split()},
}


def describe(folder: Path, title: str, licence: str, creators: Sequence[str], files: dict[str, str]) -> str:
    """The description of a folder; `files` has the path or the pattern of each kind of rows."""
    content = {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        "name": title,
        "description": f"{title}: {'; '.join(MEANING[name] for name in files)}.",
        "license": licence,
        "creator": [{"@type": "Person" if "," in name else "Organization", "name": name} for name in creators],
        "citeAs": f"{'; '.join(creators)}: {title}.",
        "keywords": TAGS,
        "version": "1.0.0",
        "datePublished": date.today().isoformat(),
        "distribution": [_file(folder, name, pattern) for name, pattern in files.items()],
        "recordSet": [_rows(folder, name, pattern) for name, pattern in files.items()],
    }
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def _file(folder: Path, name: str, pattern: str) -> dict[str, Any]:
    """A file, or the files of a pattern; its id is the name of the rows with `-file` behind it."""
    same = {"@id": f"{name}-file", "name": f"{name}-file", "encodingFormat": PARQUET}
    if "*" in pattern:
        return {"@type": "cr:FileSet", **same, "includes": pattern}
    path = folder / pattern
    size = {"contentSize": f"{path.stat().st_size} B", "sha256": sha256(path)}
    return {"@type": "cr:FileObject", **same, "contentUrl": pattern, **size}


def _rows(folder: Path, name: str, pattern: str) -> dict[str, Any]:
    import pyarrow.parquet as pq

    of = {"fileSet" if "*" in pattern else "fileObject": {"@id": f"{name}-file"}}
    fields = [
        {
            "@type": "cr:Field",
            "@id": f"{name}/{column.name}",
            "name": column.name,
            "dataType": KINDS.get(str(column.type), "sc:Text"),
            "source": {**of, "extract": {"column": column.name}},
        }
        for column in pq.read_schema(next(folder.glob(pattern)))
    ]
    return {"@type": "cr:RecordSet", "@id": name, "name": name, "description": MEANING[name], "field": fields}
