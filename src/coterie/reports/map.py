"""The map: rows of a sample in two dimensions, drawn for paper, and by Bokeh for whoever wants to look closer."""

from __future__ import annotations

import base64
import json
from functools import cache
from typing import Any

import numpy as np

from coterie.arrays import FloatArray
from coterie.figures import INK, MOST_NUMBERED, new_figure, style_of
from coterie.reports.colors import NOWHERE, color_name, palette
from coterie.reports.page import Custom, Part, Picture, environment
from coterie.reports.projection import Projection
from coterie.reports.subject import Subject
from coterie.reports.thumbnails import Sprite, sprite

__all__ = ["map_part", "require_bokeh"]

# What texts of all rows may take of the page, and the most of one.
_TEXT_CHARACTERS, _MOST_OF_TEXT, _MOST_OF_ID = 1_200_000, 160, 60


def require_bokeh() -> None:
    """Fail now if no map can be drawn later.

    Raises
    ------
    ImportError
        If Bokeh is missing; the message names the extra that brings it.
    """
    try:
        import bokeh  # noqa: F401
    except ImportError as error:
        raise ImportError("The map of a report needs bokeh: pip install 'coterie[report]'") from error


def map_part(subject: Subject, projection: Projection) -> Custom:
    """Return the map of a report."""
    n_drawn, n_rows = len(subject.sample.rows), subject.rows.shape[0]
    drawn = f"All {n_rows:,} rows are drawn." if n_drawn == n_rows else (
        f"{n_drawn:,} of {n_rows:,} rows are drawn, some of each cluster."
    )  # fmt: skip
    alt = (
        f"Scatter plot of {n_drawn:,} rows in {subject.n_clusters:,} clusters, each in a color; the cards below say "
        "the same in words."
    )
    still = Picture(
        _figure(subject, projection.points), "map", alt, f"{drawn} {projection.caption}", is_raster=True
    )
    thumbnails = sprite(subject)
    html = (
        environment()
        .get_template("map.html.jinja")
        .render(
            still=still,
            png=still.png(),
            plot=json.loads(_plot(subject, projection.points)),
            rows=_rows(subject, thumbnails),
            clusters=[
                {
                    "text": f"Cluster {cluster}",
                    "size": int(size),
                    "color": color_name(cluster, subject.n_clusters),
                }
                for cluster, size in enumerate(subject.sizes)
            ],
            n_nowhere=int(np.count_nonzero(subject.labels < 0)),
            nowhere=NOWHERE,
            thumbnails=thumbnails,
        )
    )
    from markupsafe import Markup

    instead: list[Part] = [still]
    return Custom(Markup(html), instead, (_bokeh_script(), _script("map.js")))


def _figure(subject: Subject, points: FloatArray) -> Any:
    """Draw the map for paper."""
    figure = new_figure((7.2, 5.4))
    figure.set_dpi(120)
    ax = figure.subplots()
    labels, n_clusters = subject.sample.labels, subject.n_clusters
    size = float(np.clip(20_000 / max(len(points), 1), 3, 30))
    nowhere = points[labels < 0]
    ax.scatter(nowhere[:, 0], nowhere[:, 1], s=size, c=NOWHERE, marker="x", linewidths=0.7)
    # Many clusters have the same style; a call for each would take seconds.
    styles = [style_of(cluster, n_clusters) for cluster in range(n_clusters)]
    kinds = {style: number for number, style in enumerate(dict.fromkeys(styles))}
    kind_of = np.array([kinds[style] for style in styles])[np.maximum(labels, 0)]
    for (color, shape), number in kinds.items():
        chosen = points[(kind_of == number) & (labels >= 0)]
        ax.scatter(chosen[:, 0], chosen[:, 1], s=size, c=color, marker=shape, linewidths=0, alpha=0.65)
    if n_clusters <= MOST_NUMBERED:
        for cluster, place in _name_places(subject, points):
            box = {
                "boxstyle": "round,pad=0.25",
                "facecolor": "white",
                "edgecolor": "#999999",
                "alpha": 0.9,
                "lw": 0.6,
            }
            ax.annotate(str(cluster), place, ha="center", va="center", fontsize=8, color=INK, bbox=box)
    ax.set(xticks=[], yticks=[])
    for spine in ax.spines.values():
        spine.set_visible(False)
    return figure


def _name_places(subject: Subject, points: FloatArray) -> list[tuple[int, tuple[float, float]]]:
    """Where the names of clusters stand: in the middle of their rows."""
    labels = subject.sample.labels
    return [
        (
            cluster,
            (float(np.median(points[labels == cluster, 0])), float(np.median(points[labels == cluster, 1]))),
        )
        for cluster in range(subject.n_clusters)
        if np.any(labels == cluster)
    ]


def _plot(subject: Subject, points: FloatArray) -> str:
    """Return the Bokeh plot as JSON; the page's script sets its colors, which follow the theme."""
    require_bokeh()
    from bokeh.embed import json_item
    from bokeh.models import (
        CDSView,
        ColumnDataSource,
        HoverTool,
        IndexFilter,
        LinearColorMapper,
        PanTool,
        WheelZoomTool,
    )
    from bokeh.plotting import figure

    small = points.astype(np.float32)
    source = ColumnDataSource(
        {"x": small[:, 0], "y": small[:, 1], "label": subject.sample.labels.astype(np.float32)}, name="rows"
    )
    view = CDSView(filter=IndexFilter(indices=list(range(len(small))), name="shown"))
    n_colors = _most_clusters(subject)
    mapper = LinearColorMapper(
        palette=[NOWHERE, *palette(n_colors)], low=-1.5, high=n_colors - 0.5, name="colors"
    )
    plot = figure(
        name="map", sizing_mode="stretch_both", toolbar_location=None, tools=[], outline_line_color=None,
        background_fill_color=None, border_fill_color=None, min_border=0, match_aspect=True, output_backend="canvas",
    )  # fmt: skip
    plot.axis.visible = False
    plot.grid.visible = False
    plot.x_range.range_padding = plot.y_range.range_padding = 0.05
    size = float(np.clip(np.sqrt(20_000 / max(len(small), 1)) * 1.8, 3.5, 9))
    dots = plot.scatter(
        "x", "y", source=source, view=view, size=size, fill_alpha=0.7, line_color=None,
        fill_color={"field": "label", "transform": mapper},
    )  # fmt: skip
    if subject.n_clusters <= MOST_NUMBERED:
        places = _name_places(subject, points)
        names = ColumnDataSource({
            "x": [place[0] for _, place in places],
            "y": [place[1] for _, place in places],
            "text": [str(cluster) for cluster, _ in places],
        })  # fmt: skip
        plot.text(
            "x", "y", "text", source=names, name="names", text_align="center", text_baseline="middle",
            text_font_size="13px", text_font_style="bold", padding=3, border_radius=4, background_fill_alpha=0.85,
        )  # fmt: skip
    hover = HoverTool(tooltips=None, renderers=[dots], mode="mouse")
    # A wheel that zooms would catch whoever only scrolls past.
    wheel = WheelZoomTool(modifiers={"ctrl": True})
    pan = PanTool()
    plot.add_tools(hover, pan, wheel)
    plot.toolbar.active_drag = pan
    plot.toolbar.active_scroll = wheel
    return json.dumps(json_item(plot))


def _rows(subject: Subject, thumbnails: Sprite | None) -> dict[str, Any]:
    """What is shown of a row under the pointer."""
    sample = subject.sample
    room = int(np.clip(_TEXT_CHARACTERS / max(len(sample.rows), 1), 20, _MOST_OF_TEXT))
    found: dict[str, Any] = {
        "idName": subject.id_name or "row",
        "ids": [_cut(name, _MOST_OF_ID) for name in sample.ids],
        "texts": None if sample.texts is None else [_cut(text, room) for text in sample.texts],
        "labels": base64.b64encode(sample.labels.astype("<i4").tobytes()).decode("ascii"),
        "clusters": _most_clusters(subject),
    }
    if thumbnails is not None:
        found["thumbnails"] = {
            "width": thumbnails.width,
            "height": thumbnails.height,
            "columns": thumbnails.columns,
        }
    return found | _frames(subject)


def _frames(subject: Subject) -> dict[str, Any]:
    """The clusters at each gamma of a convex path, for a slider."""
    labels = getattr(subject.model, "labels_path_", None)
    if labels is None:
        return {}
    part = labels[:, subject.sample.rows].astype("<u2")
    # Where the path has as many clusters as the map begins with, or the next fewer.
    start = int(np.argmax(subject.model.n_clusters_path_ <= subject.n_clusters))
    return {
        "frames": {
            "start": start,
            "gammas": [float(f"{gamma:.4g}") for gamma in subject.model.gammas_],
            "clusters": [int(count) for count in subject.model.n_clusters_path_],
            "gaps": [float(f"{gap:.3g}") for gap in subject.model.dual_gaps_],
            "labels": base64.b64encode(np.ascontiguousarray(part).tobytes()).decode("ascii"),
        }
    }


def _most_clusters(subject: Subject) -> int:
    """How many clusters need a color: along a path those of its first gamma."""
    return max(subject.n_clusters, int(np.max(getattr(subject.model, "n_clusters_path_", 0), initial=0)))


def _cut(text: str, room: int) -> str:
    line = " ".join(text[: 4 * room].split())
    return line if len(line) <= room else line[: room - 1] + "…"


@cache
def _bokeh_script() -> str:
    from bokeh.resources import Resources

    (library, *_) = Resources(mode="inline", components=["bokeh"]).js_raw
    return str(library)


@cache
def _script(name: str) -> str:
    return str(environment().globals["source"](name))
