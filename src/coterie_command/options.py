"""The options of the commands, each declared once; a command takes one of the dataclasses at the end."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import Group, Parameter

# The parser would take a lone dash for an option.
STANDARD_INPUT = "standard input"

_RUN = Group("Options", sort_key=1)
_READING, _OUTPUT = Group("Columns and reading", sort_key=2), Group("Output", sort_key=3)
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600}


class UsageError(Exception):
    """A command line that cannot be run: a wrong option, a wrong value, or options that exclude each other."""


def _converter(read: Callable[[str], Any]) -> Callable[[Any, Sequence[Any]], Any]:
    """Return a converter of an option; `read` raises a ValueError of what its text must be."""

    def convert(_: Any, tokens: Sequence[Any]) -> Any:
        text = "-" if tokens[0].value == STANDARD_INPUT else tokens[0].value
        try:
            return read(text)
        except ValueError as error:
            raise UsageError(f"{tokens[0].keyword or 'An argument'} must be {error}, got {text!r}.") from None

    return convert


def _option(
    help: str, *names: str, read: Callable[[str], Any] | None = None, group: Group = _RUN, show: bool = True
) -> Parameter:
    """Return an option; `read` converts its text. Options for rare cases are shown in the help of another one only."""
    converter = None if read is None else _converter(read)
    return Parameter(name=names or None, help=help, negative="", converter=converter, group=group, show=show)


def _whole(least: int, most: int = 2**63 - 1) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not re.fullmatch(r"-?\d{1,19}", text) or not least <= int(text) <= most:
            raise ValueError(f"a whole number from {least}" + (f" to {most}" if most < 2**63 - 1 else ""))
        return int(text)

    return read


def _seconds(text: str) -> float:
    found = re.fullmatch(r"(\d+(?:\.\d*)?|\.\d+)([smh]?)", text.strip())
    if found is None or float(found[1]) == 0:
        raise ValueError("a time above 0 such as 90, 90s, 5m or 1h")
    return float(found[1]) * _SECONDS[found[2]]


def _path(text: str) -> Path:
    if not text:
        raise ValueError("a file or a folder")
    return Path(text)


def _character(text: str) -> str:
    sign = {"tab": "\t", "\\t": "\t", "space": " "}.get(text, text)
    if len(sign) != 1:
        raise ValueError("one character such as ';', or tab")
    return sign


def column_names(text: str | None, option: str) -> list[str | int] | None:
    """Return the names and positions between the commas of an option."""
    if text is None:
        return None
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise UsageError(f"{option} must be names or positions with commas between them, got {text!r}.")
    return [int(name) if name.isdecimal() else name for name in names]


_output, _column = partial(_option, group=_OUTPUT), partial(_option, group=_READING)
_rare = partial(_option, show=False)

# fmt: off

Rows = Annotated[str, Parameter(converter=_converter(str), help=
    "A table or an array: .csv, .tsv, .jsonl, .parquet, .feather, .xlsx, .npy, .npz, .h5, .h5ad, .zarr, .svm, a folder "
    "or a quoted pattern of files, an address (s3://, https://, hf://), or - for the standard input.")]
Input = Annotated[str, Parameter(converter=_converter(str), help="Any file that coterie fit reads, or -.")]
Described = Annotated[str, Parameter(help="A file that coterie fit reads, a model, or the folder of a run.")]
Model = Annotated[str, Parameter(help="The folder of coterie fit, or a model file.")]
Folder = Annotated[Path, Parameter(help="What coterie fit wrote.")]
MethodName = Annotated[str | None, Parameter(help="Name of a method.")]
OptionalInput = Annotated[str | None, Parameter(converter=_converter(str), help=
    "The rows, if they are no longer where the summary says; - for the standard input.")]

_Clusters = _option("Number of clusters.", "-k", "--n-clusters", read=_whole(1))
_Out = Annotated[Path, _output("Folder for the results.", "--out", "-o", read=_path)]
_OF_LABELS = "Labels keep all columns but vectors: fewer by --columns-out id or none, without formulas by --csv-escape."
_Labels = Annotated[str | None, _option(
    "Known classes: a column, or a file with one for each row, -1 or empty where unknown.", read=str)]


# Help lists options in the order of their classes, the last base class first.


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Printed:
    """What a command prints."""

    json: Annotated[bool, _output("Print the summary as JSON.")] = False
    quiet: Annotated[bool, _output("Print errors only.", "--quiet", "-q")] = False


@dataclass(frozen=True, kw_only=True)
class _Force:
    force: Annotated[bool, _output("Replace the results of another run.")] = False


@dataclass(frozen=True, kw_only=True)
class _Open:
    open: Annotated[bool, _output("Show the page in a browser.")] = False


@dataclass(frozen=True, kw_only=True)
class _Labeled:
    columns_out: Annotated[Literal["none", "id", "all"], _rare("Columns of the input that the labels keep.")] = "all"
    csv_escape: Annotated[bool, _rare("Write ' before text that a spreadsheet would run as a formula.")] = False
    outliers: Annotated[str | None, _option(
        "Label this share of the rows -1, such as 1%: those farthest from their clusters.")] = None


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Reading:
    """How a text file or a spreadsheet is read; what is not given is detected."""

    header: Annotated[Literal["yes", "no"] | None, _column("Whether the first row names the columns.")] = None
    sep: Annotated[str | None, _column("Separator of the fields such as ';', or tab.", read=_character)] = None
    decimal: Annotated[str | None, _column(
        "Decimal sign: '.' or ','. Where needed also --thousands ' ' and --missing-words '?,-,n/a'.")] = None
    thousands: Annotated[str | None, _rare("Sign between thousands, such as ',' or ' '.")] = None
    missing_words: Annotated[str | None, _rare("Cells that mean a missing value, with commas between them.")] = None
    skip_lines: Annotated[int | None, _column("Lines above the header to skip.", read=_whole(0))] = None

    @property
    def reading(self) -> dict[str, Any]:
        """The options that were given, as `coterie.open_rows` takes them."""
        found = {field.name: getattr(self, field.name) for field in fields(Reading)}
        found = {name: value for name, value in found.items() if value is not None}
        if self.header is not None:
            found["header"] = self.header == "yes"
        if self.missing_words is not None:
            found["missing_words"] = self.missing_words.split(",")
        return found


@dataclass(frozen=True, kw_only=True)
class _Named:
    exclude: Annotated[str | None, _column("Leave these columns out.")] = None
    id: Annotated[str | None, _column("The column that names the rows; it is not clustered.")] = None


@dataclass(frozen=True, kw_only=True)
class _Prepared:
    columns: Annotated[str | None, _column(
        "Cluster only these: names, positions, ranges (a:c), patterns (e*).")] = None
    missing: Annotated[Literal["error", "drop", "mean", "median"], _column(
        "Missing numbers: an error, drop their rows, or the mean or median instead.")] = "error"
    scale: Annotated[Literal["none", "standard", "robust"], _column(
        "Divide columns by their standard deviation, or by their quartile range.")] = "none"
    categories: Annotated[str | None, _column(
        "Encode these columns as zeros and ones; auto: all of few texts.")] = None


@dataclass(frozen=True, kw_only=True)
class Columns(Reading, _Named, _Prepared):
    """The columns to cluster, and the preparation of their rows."""


@dataclass(frozen=True, kw_only=True)
class _Threads:
    threads: Annotated[int | None, _option(
        "Number of threads; by default all processors.", read=_whole(1, 4096))] = None


@dataclass(frozen=True, kw_only=True)
class _Drawn:
    max_time: Annotated[float | None, _option(
        "Time limit such as 90s, 5m or 1h; the best result so far is written.", read=_seconds)] = None
    seed: Annotated[int, _option(
        "Seed of the random numbers: the same seed, the same clusters.", read=_whole(0, 2**32 - 1))] = 0


@dataclass(frozen=True, kw_only=True)
class _Method:
    k: Annotated[int | None, _Clusters] = None
    parameters: Annotated[list[str] | None, _option(
        "A parameter of the method: -p NAME=VALUE; may be repeated.", "-p", "--parameter")] = None
    graph: Annotated[str | None, _option(
        "A graph of the rows instead of nearest neighbors: a sparse matrix (.npz).",
        read=str)] = None
    report: Annotated[bool, _output("Also write report.html.")] = False


@dataclass(frozen=True, kw_only=True)
class _Chosen:
    method: Annotated[str | None, _option(
        "One that `coterie methods` lists; by default k-means, of more than 100,000 rows nested.")] = None


@dataclass(frozen=True, kw_only=True)
class FitOptions(Printed, _Force, _Labeled, Columns, _Threads, _Drawn, _Method, _Chosen):
    labels: _Labels = None
    out: Annotated[Path, _output(
        f"Folder for the results. {_OF_LABELS}", "--out", "-o", read=_path)] = Path("coterie-out")


@dataclass(frozen=True, kw_only=True)
class PathOptions(Printed, _Force, Columns, _Threads, _Drawn, _Method):
    out: _Out = Path("coterie-path")


@dataclass(frozen=True, kw_only=True)
class PredictOptions(Printed, _Force, _Labeled, Reading, _Named, _Threads):
    out: Annotated[Path | None, _output(
        "File for the labels: .npy, .csv, .tsv, .parquet, .feather, .jsonl, .xlsx, or - for "
        f"one label a line; by default labels with the ending of the input. {_OF_LABELS}",
        "--out", "-o", read=_path)] = None
    names: Annotated[str | None, _option(
        "Names of clusters: names.csv of a report; by default those of the fit.", read=str)] = None
    merges: Annotated[str | None, _option("Clusters to merge: merges.csv of a report.", read=str)] = None


@dataclass(frozen=True, kw_only=True)
class CompareOptions(Printed, _Force, _Open, Columns, _Threads, _Drawn):
    k: Annotated[int, _Clusters]
    max_time: Annotated[float | None, _option(
        "Time limit such as 90s or 5m; methods whose fits do not end within it are left out.", read=_seconds)] = None
    methods: Annotated[str | None, _option(
        "Only these methods, with commas between them; by default those that suit the rows.")] = None
    labels: _Labels = None
    out: _Out = Path("coterie-compare")


@dataclass(frozen=True, kw_only=True)
class ReportOptions(Printed, _Open):
    out: Annotated[Path | None, _output(
        "The .html file; by default report.html in the folder.", "--out", "-o", read=_path)] = None
    known: Annotated[str | None, _option(
        "Known classes to compare with: a column, or a file with one for each row.", read=str)] = None
    names: Annotated[str | None, _option(
        "Names of clusters: a .csv file with the columns cluster and name.", read=str)] = None
    id: Annotated[str | None, _option("The column that names the rows.")] = None
    text: Annotated[str | None, _option(
        "The column with a text of each row; by default that of the longest texts.")] = None


@dataclass(frozen=True, kw_only=True)
class VerifyOptions(Printed, _Threads):
    """The options of `coterie verify`."""


@dataclass(frozen=True, kw_only=True)
class InfoOptions(Printed, Reading):
    """The options of `coterie info`."""


@dataclass(frozen=True, kw_only=True)
class DemoOptions(Printed, _Force, _Open):
    out: _Out = Path("coterie-demo")
