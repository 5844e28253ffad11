"""The options of tables, which several commands have: which columns are clustered, and how they are prepared."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal, get_type_hints

from cyclopts import Group, Parameter
from docstring_parser import DocstringStyle, parse

from coterie.cli import UsageError
from coterie.cli.arguments import Switch, WholeNumber, column_names, separator_of
from coterie.cli.options import given, with_parameters

__all__ = ["table_options", "with_table_options"]

_GROUP = Group("Columns of tables, and how rows are prepared", sort_key=8)


def with_table_options(function: Callable[..., None], *, without: Sequence[str] = ()) -> Callable[..., None]:
    """Return a command with these options in the place of its `tables`, which jobs take as they are.

    Parameters
    ----------
    function : callable
        The command; its `tables` is what `table_options` returns.
    without : sequence of str
        Options that it does not have.
    """
    types = get_type_hints(table_options, include_extras=True)
    told = parse(inspect.cleandoc(table_options.__doc__ or ""), style=DocstringStyle.NUMPYDOC)
    texts = {entry.arg_name: " ".join((entry.description or "").split()) for entry in told.params}
    options = [
        option.replace(annotation=Annotated[types[name], Parameter(help=texts[name], group=_GROUP)])
        for name, option in inspect.signature(table_options).parameters.items()
        if name not in without
    ]

    @functools.wraps(function)
    def command(*args: Any, **kwargs: Any) -> None:
        asked = {option.name: kwargs.pop(option.name) for option in options if option.name in kwargs}
        function(*args, **kwargs, tables=table_options(**asked))

    return with_parameters(command, options, place="tables", replaces=True)


def table_options(
    *,
    normalize: Switch = False,
    columns: str | None = None,
    exclude: str | None = None,
    impute: Literal["mean", "median"] | None = None,
    scale: Literal["standard", "robust", "none"] = "none",
    one_hot: str | None = None,
    category_limit: WholeNumber = 100,
    handle_unknown: Literal["error", "ignore"] = "error",
    sep: str | None = None,
    decimal: str | None = None,
) -> dict[str, Any]:
    """Return what jobs are told of tables.

    Parameters
    ----------
    normalize
        Scale each row to length 1 (spherical clustering), after all that is done to columns. `coterie predict` prepares
        rows in the same way.
    columns
        Use only these columns of a table, with commas between them: names, positions from 0, ranges (e0:e255 with both
        ends, 2:258 without the last), patterns (e*). By default its one column of vectors, else all.
    exclude
        Leave out these columns of a table.
    impute
        Put the mean or the median of its column in the place of a missing number; by default it is an error.
    scale
        Scale each column of numbers: standard (by mean and standard deviation) or robust (by median and quartiles).
    one_hot
        Columns of categories, with commas between them, or auto for all that are no numbers: each value becomes a
        column of zeros and ones behind the numbers. By default texts are an error.
    category_limit
        The most values that a column of --one-hot may have.
    handle_unknown
        What `coterie predict` does with a value that this file does not have: an error, or zeros (ignore).
    sep
        What separates the fields of a .csv file, such as ';' or tab; by default what fits its first lines.
    decimal
        Its decimal sign, '.' or ','; by default what its first lines have.
    """
    if category_limit < 1:
        raise UsageError(f"--category-limit must be at least 1, got {category_limit}.")
    wanted = {
        "impute": impute,
        "scale": None if scale == "none" else scale,
        "one_hot": "auto" if one_hot == "auto" else column_names(one_hot, "--one-hot"),
        "normalize": normalize or None,
    }
    encoding = {"category_limit": category_limit, "handle_unknown": handle_unknown} if one_hot else {}
    return {
        "columns": column_names(columns, "--columns"),
        "exclude": column_names(exclude, "--exclude"),
        "sep": separator_of(sep),
        "decimal": decimal,
        "preparing": {**given(wanted), **encoding},
    }
