"""`coterie path`: compute a path of convex clustering, its labels and plots."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from cyclopts import Parameter

import coterie
from coterie import ConvexClusterPath
from coterie.arrays import IndexArray
from coterie.cli.errors import UsageError
from coterie.cli.inputs import about, input_facts, open_prepared, read_graph
from coterie.cli.models import check_neighbors, fit_model, make_model, path_method
from coterie.cli.options import (
    Counted,
    File,
    FileIfAny,
    Force,
    Json,
    MaxTime,
    Out,
    Quiet,
    Seed,
    Switch,
    TableOptions,
    Threads,
    given,
    method_options,
    values_of,
    with_options,
)
from coterie.cli.output import file_lines, table_library, tell
from coterie.cli.report import REPORT, fit_report
from coterie.cli.runs import SUMMARY, command_line, run_folder, settings_of, write_summary
from coterie.outputs import OutputFolder
from coterie.plotting import require_matplotlib
from coterie.reports import require_report

PATH = "path.npz"

# For more rows, only the labels of gammas with at most this number of clusters are written by default.
_FEW_ROWS, _FEW_CLUSTERS = 100_000, 1000

# A single row has a path, but no tree.
_OF_SEVERAL_ROWS = ("dendrogram",)


def command() -> Callable[..., None]:
    """Return the command with the options of convex clustering."""

    def path(
        file: File,
        /,
        *,
        k: Annotated[Counted, Parameter(name=["-k", "--clusters", "--n-clusters"])] = None,
        max_iter: Counted = None,
        max_time: MaxTime = None,
        seed: Seed = 0,
        n_threads: Threads = None,
        graph: FileIfAny = None,
        all_gammas: Switch = False,
        report: Switch = False,
        out: Out = Path("coterie-path"),
        force: Force = False,
        json: Json = False,
        quiet: Quiet = False,
        tables: TableOptions = TableOptions(),
        options: Any,
    ) -> None:
        """Compute a path of convex clustering, from single rows to one cluster, with two plots.

        Parameters
        ----------
        file
            The rows: any file of dense rows that `coterie fit` reads.
        k
            Color the pictures by this number of clusters; by default by the number that lasts longest.
        max_iter
            Maximum number of iterations for each gamma.
        graph
            A file of a graph of the rows: a symmetric sparse matrix (.npz), or arrays `ids` and `distances` (.npz).
        all_gammas
            Also of more than 100,000 rows write the centroids, and the labels of all gammas instead of those with
            at most 1,000 clusters.
        report
            Also write report.html, with a slider along the path.
        out
            Folder for path.npz, labels.csv (labels.parquet for a table; a column for each gamma), path.png,
            dendrogram.png and summary.json.
        """
        limits = {"max_iter": max_iter, "max_time": max_time, "n_threads": n_threads}
        parameters = _counted_gammas(given({**limits, **values_of(options)}))
        weights = {} if graph is None else {"weights": "precomputed"}
        model = make_model(path_method(), {**parameters, **weights}, seed=seed)
        require_matplotlib()
        if report:
            require_report()
        with run_folder(out, "path", file, force=force) as outputs:
            summary = _follow(
                outputs, out, model, file, parameters, tables,
                graph=graph, n_clusters=k, all_gammas=all_gammas, report=report, quiet=quiet,
            )  # fmt: skip
        tell(summary, _lines, json, quiet)

    return with_options(path, method_options([path_method()], ["convex-path"]))


def _counted_gammas(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the parameters, with a whole number of --gammas as the number of gammas."""
    gammas = str(parameters.get("gammas"))
    if not gammas.isdecimal():
        return parameters
    if not 0 < int(gammas) < 2**63:
        raise UsageError(
            f"--gammas must be a positive integer, or numbers with commas between them, got {gammas!r}."
        )
    others = {name: value for name, value in parameters.items() if name != "gammas"}
    return {**others, "n_gammas": int(gammas)}


def _follow(
    outputs: OutputFolder,
    out: Path,
    model: Any,
    file: str,
    parameters: Mapping[str, Any],
    tables: TableOptions,
    *,
    graph: str | None,
    n_clusters: int | None,
    all_gammas: bool,
    report: bool,
    quiet: bool,
) -> dict[str, Any]:
    """Follow the path of a file; write it, the labels, two pictures and a summary, which is returned."""
    pictures_of = path_method().pictures
    rows, reading_warnings, _ = open_prepared(file, **tables.for_jobs())
    if rows.is_sparse:
        raise ValueError(f"{file} has sparse rows, and convex clustering takes only dense ones.")
    if n_clusters is not None and n_clusters > rows.shape[0]:
        raise UsageError(f"-k {n_clusters} is more than the {rows.shape[0]} rows of {file}.")
    check_neighbors(model, parameters, rows, file)
    label_name = "labels.parquet" if rows.is_table else "labels.csv"
    if rows.is_table:
        table_library(".parquet")
    drawn = [name for name in pictures_of if rows.shape[0] > 1 or name not in _OF_SEVERAL_ROWS]
    names = [PATH, label_name, *(f"{name}.png" for name in drawn), SUMMARY, *([REPORT] if report else [])]
    outputs.check(*names)
    files = {name: out / name for name in names}
    matrix = None if graph is None else read_graph(graph, rows.shape[0])
    with about(file):
        seconds, warned = fit_model(model, rows, graph=matrix, quiet=quiet)
    pictures = {f"{name}.png": pictures_of[name](model, n_clusters=n_clusters) for name in drawn}
    for axes in pictures.values():
        axes.set_title(f"{Path(file).name}, {axes.get_title()}", fontsize=10)
    summary = {
        "coterie": coterie.__version__,
        "command": "path",
        "command_line": command_line.get(),
        "input": input_facts(file, rows),
        "columns": rows.chosen if tables.exclude or tables.columns else None,
        "preparing": tables.for_jobs()["preparing"],
        "graph": graph,
        "parameters": settings_of(model),
        "gammas": model.gammas_.tolist(),
        "clusters": model.n_clusters_path_.tolist(),
        "splits": model.n_splits_.tolist(),
        "largest_gap": float(np.max(model.relative_gaps_)),
        "iterations": model.n_iter_,
        "seconds": round(seconds, 6),
        "warnings": [*reading_warnings, *warned],
        "files": {name: str(path) for name, path in files.items()},
    }
    if report:
        outputs.write(fit_report(model, rows, summary, {"n_clusters": n_clusters}).page.files(REPORT))
    is_whole = all_gammas or rows.shape[0] <= _FEW_ROWS
    labeled = np.flatnonzero(is_whole | (model.n_clusters_path_ <= _FEW_CLUSTERS))
    with outputs.writing(PATH) as path, open(path, "wb") as archive:
        np.savez_compressed(
            archive,
            allow_pickle=False,
            gammas=model.gammas_,
            labels=model.labels_path_[labeled],
            labeled=labeled,
            n_clusters=model.n_clusters_path_,
            objectives=model.objectives_,
            dual_gaps=model.dual_gaps_,
            n_splits=model.n_splits_,
            linkage=model.linkage_,
            edges=model.edges_,
            edge_weights=model.edge_weights_,
            **({"centroids": model.centroids_path_} if is_whole else {}),
        )
    with outputs.writing(label_name) as path:
        _write_labels(path, model, labeled)
    for name, axes in pictures.items():
        with outputs.writing(name) as path:
            axes.figure.savefig(path)
    write_summary(outputs, summary)
    return summary


def _write_labels(path: Path, model: ConvexClusterPath, labeled: IndexArray) -> None:
    """Write a column for each of these gammas, named after it."""
    names = [f"gamma={gamma:.6g}" for gamma in model.gammas_[labeled]]
    names = [name if names.count(name) == 1 else f"{name} ({i})" for i, name in enumerate(names)]
    labels = model.labels_path_[labeled]
    if path.suffix == ".parquet":
        import pyarrow

        table_library(".parquet").write_table(pyarrow.table(dict(zip(names, labels))), path)
        return
    np.savetxt(path, labels.T, fmt="%d", delimiter=",", header=",".join(names), comments="")


def _lines(facts: dict[str, Any]) -> list[str]:
    source, counts = facts["input"], facts["clusters"]
    return [
        f"{source['file']}: {source['rows']:,} rows x {source['columns']:,} columns, "
        f"{len(facts['gammas']):,} gammas up to {facts['gammas'][-1]:.4g}, {counts[0]:,} to {counts[-1]:,} clusters",
        f"{facts['iterations']:,} iterations in {facts['seconds']:.3g} s, "
        f"duality gaps up to {facts['largest_gap']:.2g} of the objective",
        *(["clusters split at some gammas: see splits in summary.json"] if any(facts["splits"]) else []),
        *file_lines(facts),
    ]
