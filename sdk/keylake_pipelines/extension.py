"""The names and commands that pipelines add to keylake, found by the entry point `pipelines`."""

from keylake.extension import Extension

EXTENSION = Extension(
    names={
        "Files": "keylake_pipelines.definition.sources",
        "Kafka": "keylake_pipelines.definition.sources",
        "LakeSink": "keylake_pipelines.definition.pipeline",
        "MySql": "keylake_pipelines.definition.sources",
        "Pipeline": "keylake_pipelines.definition.pipeline",
        "PipelineCheck": "keylake_pipelines.comparison.results",
        "PipelineOptions": "keylake_pipelines.definition.pipeline",
        "PipelineReport": "keylake_pipelines.runner.settings",
        "Postgres": "keylake_pipelines.definition.sources",
        "Route": "keylake_pipelines.definition.pipeline",
        "RowDifference": "keylake_pipelines.comparison.results",
        "Step": "keylake_pipelines.definition.steps",
        "TableCheck": "keylake_pipelines.comparison.results",
        "Transform": "keylake_pipelines.definition.pipeline",
        "check_pipeline": "keylake_pipelines.pipeline.checking",
        "run_pipeline": "keylake_pipelines.pipeline.running",
    },
    commands="keylake_pipelines.cli.commands",
)
