"""The `benchloom import` commands: one command for each importer of published data or of your own data."""

from __future__ import annotations

import inspect
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer
from typer.core import TyperCommand

from flows.commands.cli_group import CommandGroup

if TYPE_CHECKING:
    from tasks.sources.base_importer import Option


class ImportCommand(TyperCommand):
    """The command of an importer. The importer's class is imported only when the options are read."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the importer's options."""
        if self.callback is None:
            made = make_command(str(self.name))
            self.params, self.callback = made.params, made.callback
        return super().get_params(ctx)


class ImportGroup(CommandGroup):
    """A group with a command for each importer in Benchloom, in the project, and in other packages."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        del self.commands  # replaced by the property below, which lists importers on demand

    @cached_property
    def commands(self) -> dict[str, Any]:  # type: ignore[override] # an attribute in typer
        """The commands of the importers by name; the importers' modules are not imported."""
        from flows.importers import list_importers

        return {
            name: ImportCommand(name, help=told, rich_markup_mode=None)
            for name, told in list_importers().items()
        }


app = typer.Typer(cls=ImportGroup, help="Import published data or your own data.", no_args_is_help=True)


@app.callback()
def describe() -> None:
    """Import published data or your own data.

    Example: benchloom import templates my-templates.jsonl --database shop --instead
    """


def make_command(name: str) -> Any:
    """Return the command of an importer, with its fields as options. Raises BadInput for an unknown name."""
    from flows.importers import find_importer

    kind, where = find_importer(name)

    def command(**options: Any) -> None:
        from flows.import_process import ImportLimits, is_inside, limit_this_process
        from flows.importing import bring_in, make_importer
        from flows.settings import find_project, load_params, parse_section
        from tasks.lines import print_line, say_line

        root = find_project()
        if engine := options.get("engine"):
            from flows.run.engine.engines import require_engine

            require_engine(engine)
        if is_inside():
            limits = parse_section(load_params(root), "run.importing", ImportLimits)
            limit_this_process(limits, options.values())
        done = bring_in(root, make_importer(kind, where, options))
        for line in done.said:
            print_line(line)
        for line in done.ended:
            say_line(f"benchloom: {line}")
        if done.ended:
            raise typer.Exit(1)

    hints = get_type_hints(kind)
    parameters = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            annotation=Annotated[hints[name], describe_option(name, option)],
            default=inspect.Parameter.empty if option.default is ... else option.default,
        )
        for name, option in kind.list_options().items()
    ]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined] # read by typer
    made = typer.Typer(add_completion=False)
    made.command(name)(command)
    return typer.main.get_command(made)


def describe_option(name: str, option: Option) -> Any:
    """Return the Typer argument or option for an importer's field."""
    if option.default is ...:
        return typer.Argument(help=option.help, metavar=option.metavar)
    words = option.words or (f"--{name.replace('_', '-')}",)
    return typer.Option(
        *words, help=option.help, metavar=option.metavar, min=option.least, envvar=option.variable
    )
