"""What the OpenLineage standard (2-0-2) asks of an event and of the facets that ours have, as JSON Schema."""

from collections.abc import Mapping
from typing import Any

TEXT = {"type": "string"}
URI = {"type": "string", "pattern": r"^[a-z][a-z0-9+.-]*:\S+$"}
UUID = {"type": "string", "pattern": "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"}
TIME = {"type": "string", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$"}
WHOLE = {"type": "integer"}


def have(required: str, **properties: Any) -> dict[str, Any]:
    """Describe an object. required: names apart by blanks."""
    return {"type": "object", "required": required.split(), "properties": properties}


def many(items: Mapping[str, Any]) -> dict[str, Any]:
    """Describe an array."""
    return {"type": "array", "items": items}


def name_by(values: Mapping[str, Any]) -> dict[str, Any]:
    """Describe an object whose keys are anyone's."""
    return {"type": "object", "additionalProperties": values}


FIELD = have("name", name=TEXT, type=TEXT, description=TEXT, fields=many({"$ref": "#/$defs/field"}))
TRANSFORMATION = have("type", type=TEXT, subtype=TEXT, description=TEXT, masking={"type": "boolean"})
INPUT_FIELD = have(
    "namespace name field", namespace=TEXT, name=TEXT, field=TEXT, transformations=many(TRANSFORMATION)
)
ASSERTION = have(
    "assertion success", assertion=TEXT, success={"type": "boolean"}, column=TEXT, severity=TEXT, name=TEXT,
    description=TEXT, expected=TEXT, actual=TEXT,
)  # fmt: skip
PARAMETER = have("key", key=TEXT, name=TEXT, description=TEXT, value=TEXT)
FACETS = {
    "columnLineage": have("fields", fields=name_by(have("inputFields", inputFields=many(INPUT_FIELD)))),
    "dataQualityAssertions": have("assertions", assertions=many(ASSERTION)),
    "executionParameters": have("parameters", parameters=many(PARAMETER)),
    "jobType": have("processingType integration", processingType=TEXT, integration=TEXT, jobType=TEXT),
    "outputStatistics": have("", rowCount=WHOLE, size=WHOLE, fileCount=WHOLE),
    "schema": have("", fields=many({"$ref": "#/$defs/field"})),
    "sourceCode": have("language sourceCode", language=TEXT, sourceCode=TEXT),
    "sourceCodeLocation": have("type url", type=TEXT, url=URI, path=TEXT, version=TEXT),
    "version": have("datasetVersion", datasetVersion=TEXT),
}
BASE = have("_producer _schemaURL", _producer=URI, _schemaURL=URI)


def list_facets(*names: str) -> dict[str, Any]:
    """Describe facets of which the named ones have a schema here; any other has what all must have."""
    known = {name: {"allOf": [BASE, FACETS[name]]} for name in names}
    return {"type": "object", "properties": known, "additionalProperties": BASE}


DATASET = {"namespace": TEXT, "name": TEXT, "facets": list_facets("columnLineage", "schema", "version")}
EVENT = {
    "$defs": {"field": FIELD},
    **have(
        "eventTime producer schemaURL run job",
        eventType={"enum": ["START", "RUNNING", "COMPLETE", "ABORT", "FAIL", "OTHER"]},
        eventTime=TIME,
        producer=URI,
        schemaURL=URI,
        run=have("runId", runId=UUID, facets=list_facets("executionParameters")),
        job=have(
            "namespace name",
            namespace=TEXT,
            name=TEXT,
            facets=list_facets("jobType", "sourceCode", "sourceCodeLocation"),
        ),
        inputs=many(have("namespace name", **DATASET, inputFacets=list_facets("dataQualityAssertions"))),
        outputs=many(have("namespace name", **DATASET, outputFacets=list_facets("outputStatistics"))),
    ),
}
