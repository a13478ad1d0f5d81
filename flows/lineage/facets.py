"""Make OpenLineage facets for stages: schemas, columns, sizes, contracts, calls and commits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attr
import pyarrow as pa
import pyarrow.parquet as pq
from openlineage.client.facet_v2 import (
    RunFacet,
    column_lineage_dataset,
    data_quality_assertions_dataset,
    dataset_version_dataset,
    output_statistics_output_dataset,
    schema_dataset,
    source_code_location_job,
)

from tasks.artifacts.contracts import ContractFinding, read_findings
from tasks.artifacts.statistics import is_checksum
from tasks.lineage.columns import ColumnSource, find_columns
from tasks.lineage.location import CALLS, ArtifactLocator
from tasks.lineage.lookup import RowLookup
from tasks.lineage.records import FileRecord, Graph, StageRecord

if TYPE_CHECKING:
    from openlineage.client.generated.base import (
        DatasetFacet,
        InputDatasetFacet,
        JobFacet,
        OutputDatasetFacet,
    )

PRODUCER = "urn:benchloom:lineage"
TOKENS = ("prompt_tokens", "completion_tokens")
HOW = {"copied": ("IDENTITY", "the same in every row"), "names": ("TRANSFORMATION", "ids of its rows")}


@attr.define
class BenchloomCallsRunFacet(RunFacet):
    """The model calls that a run's outputs contain; the schema is docs/openlineage.calls.json.

    `dollars`: the cost of the calls; None if one of the models has no configured price.
    """

    calls: int
    promptTokens: int  # noqa: N815 - as the standard writes keys
    completionTokens: int  # noqa: N815
    estimated: int
    dollars: float | None = None

    @staticmethod
    def _get_schema() -> str:
        return "urn:benchloom:schema:calls:1-0-0"


class FacetMaker:
    """Makes facets for a project's stages.

    `prices`: model -> dollars per million input tokens and per million output tokens.
    """

    def __init__(
        self, root: Path, graph: Graph, namespace: str, prices: Mapping[str, tuple[float, float]]
    ) -> None:
        self.root, self.namespace = root, namespace
        self._graph, self._prices = graph, prices
        self._locator = ArtifactLocator(root, graph, RowLookup())

    def describe_file(self, file: FileRecord) -> dict[str, DatasetFacet]:
        """Return the facets of an input or output file: its hash, and its schema if it is Parquet."""
        facets: dict[str, Any] = {}
        if file.md5 is not None:
            facets["version"] = dataset_version_dataset.DatasetVersionDatasetFacet(
                f"md5:{file.md5}", producer=PRODUCER
            )
        if self._is_artifact(file):
            fields = [_describe_field(field) for field in pq.read_schema(self.root / file.path)]
            facets["schema"] = schema_dataset.SchemaDatasetFacet(fields=fields, producer=PRODUCER)
        return facets

    def describe_columns(
        self, file: FileRecord, stage: StageRecord, name: Callable[[str], str]
    ) -> dict[str, DatasetFacet]:
        """Return the facet that maps an output's columns to input columns; empty if no mapping is known.

        `name`: function that returns a path's name in events. Sources in artifacts that the stage did not
        read are omitted; `benchloom lineage` traces these sources.
        """
        if not self._is_artifact(file):
            return {}
        read = {dep.path for dep in stage.data}
        sources = [
            source
            for source in find_columns(self.root, file.path, self._locator.find_artifact)
            if source.artifact in read
        ]
        if not sources:
            return {}
        fields: dict[str, list[Any]] = {}
        for source in sources:
            fields.setdefault(source.column, []).append(self._make_input(source, name))
        return {
            "columnLineage": column_lineage_dataset.ColumnLineageDatasetFacet(
                fields={
                    column: column_lineage_dataset.Fields(inputFields=inputs)
                    for column, inputs in fields.items()
                },
                producer=PRODUCER,
            )
        }

    def _make_input(self, source: ColumnSource, name: Callable[[str], str]) -> Any:
        subtype, description = HOW[source.how]
        transformation = column_lineage_dataset.Transformation(
            type="DIRECT", subtype=subtype, description=description, masking=False
        )
        return column_lineage_dataset.InputField(
            namespace=self.namespace,
            name=name(source.artifact),
            field=source.field,
            transformations=[transformation],
        )

    def measure_output(self, file: FileRecord) -> dict[str, OutputDatasetFacet]:
        """Return a facet with an output's size in bytes, and the row count of a Parquet file."""
        if file.size is None:
            return {}
        rows = pq.ParquetFile(self.root / file.path).metadata.num_rows if self._is_artifact(file) else None
        return {
            "outputStatistics": output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet(
                rowCount=rows, size=file.size, producer=PRODUCER
            )
        }

    def tell_quality(self, file: FileRecord) -> dict[str, InputDatasetFacet]:
        """Return a facet with the data contracts' findings on a file; empty if no stage checked the file."""
        findings = self._findings.get(file.path, [])
        if not findings:
            return {}
        return {
            "dataQualityAssertions": data_quality_assertions_dataset.DataQualityAssertionsDatasetFacet(
                assertions=[
                    data_quality_assertions_dataset.Assertion(
                        assertion=finding.contract,
                        success=finding.state == "held",
                        severity="error",
                        name=finding.id,
                        description=finding.says,
                        expected="0 broken",
                        actual=f"{finding.broken} broken of {finding.checked}, {finding.state}",
                    )
                    for finding in findings
                ],
                producer=PRODUCER,
            )
        }

    @cached_property
    def _findings(self) -> dict[str, list[ContractFinding]]:
        """Return artifact path -> findings, read from the folders that validation stages wrote."""
        found: dict[str, list[ContractFinding]] = {}
        for stage in self._graph.stages:
            for out in stage.outs if stage.function.endswith(".contracts") else ():
                if not (self.root / out.path).is_dir():
                    continue
                for finding in read_findings(self.root / out.path):
                    places = [
                        file.path for file in stage.data if file.path.endswith(f"/{finding.artifact}.parquet")
                    ]
                    if len(places) == 1:
                        found.setdefault(places[0], []).append(finding)
        return found

    def count_calls(self, stage: StageRecord) -> dict[str, RunFacet]:
        """Return a facet with the calls in a stage's outputs: number, tokens, and cost at current prices."""
        paths = [out.path for out in stage.outs if out.path.endswith(CALLS)]
        tables = [
            pq.read_table(self.root / path, columns=["id", "model", *TOKENS, "estimated", "identity"])
            for path in paths
            if (self.root / path).is_file()
        ]
        if not tables:
            return {}
        calls = list({call["id"]: call for table in tables for call in table.to_pylist()}.values())
        return {
            "benchloom_calls": BenchloomCallsRunFacet(
                calls=len(calls),
                promptTokens=sum(call["prompt_tokens"] for call in calls),
                completionTokens=sum(call["completion_tokens"] for call in calls),
                estimated=sum(call["estimated"] for call in calls),
                dollars=self._price(calls),
                producer=PRODUCER,
            )
        }

    def _price(self, calls: list[dict[str, Any]]) -> float | None:
        """Return the cost of calls in dollars; None if a model has no price.

        Calls to embedded models, which run on this machine, cost nothing.
        """
        total = 0.0
        for call in calls:
            if is_checksum(call["identity"]):
                continue
            price = self._prices.get(call["model"])
            if price is None:
                return None
            total += (call["prompt_tokens"] * price[0] + call["completion_tokens"] * price[1]) / 1e6
        # Summing floats leaves digits of rounding errors.
        return float(f"{total:.10g}")

    def locate_code(self, stage: StageRecord) -> dict[str, JobFacet]:
        """Return a facet with the commit of a stage's code; empty without git."""
        if self._graph.commit is None:
            return {}
        own = f"{stage.function.rpartition('.')[2]}.py"
        path = next((file.path for file in stage.code if file.path.endswith(f"/{own}")), None)
        return {
            "sourceCodeLocation": source_code_location_job.SourceCodeLocationJobFacet(
                type="git",
                url=f"urn:benchloom:commit:{self._graph.commit}",
                path=path,
                version=self._graph.commit,
                producer=PRODUCER,
            )
        }

    def _is_artifact(self, file: FileRecord) -> bool:
        return file.path.endswith(".parquet") and (self.root / file.path).is_file()


def _describe_field(field: pa.Field) -> Any:
    """Return the description of a column, including the fields of a struct or of a list of structs."""
    kind = field.type
    inner = kind.value_type if pa.types.is_list(kind) else kind
    parts = [inner.field(place) for place in range(inner.num_fields)] if pa.types.is_struct(inner) else []
    word = "array" if pa.types.is_list(kind) else "struct" if parts else str(kind)
    return schema_dataset.SchemaDatasetFacetFields(
        name=field.name, type=word, fields=[_describe_field(part) for part in parts]
    )
