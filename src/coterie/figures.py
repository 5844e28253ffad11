"""Figures without a display, colors, and plain axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure

# Colors for all kinds of color vision: those of Okabe and Ito without yellow (too pale on white).
FEW_COLORS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#4D4D4D")
INK = "#333333"

# For many clusters Tol's muted colors with a gray. Where they run out, points change shape.
MANY_COLORS = (
    *("#332288", "#DDCC77", "#117733", "#88CCEE", "#CC6677"),
    *("#999933", "#882255", "#44AA99", "#AA4499", "#777777"),
)
_SHAPES = ("o", "^", "s", "D", "v", "P", "X")

# Clusters that can be numbered in a picture.
MOST_NUMBERED = 50


def require_matplotlib() -> None:
    """Raise an ImportError now if matplotlib is missing."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError as error:
        raise ImportError("Drawing needs matplotlib: pip install 'coterie[plot]'") from error


def new_figure(size: tuple[float, float], layout: Literal["constrained"] | None = "constrained") -> Figure:
    """A figure that no global list keeps alive and that needs no display; without a layout places stay as they are."""
    require_matplotlib()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, dpi=150, layout=layout)
    FigureCanvasAgg(figure)
    return figure


def axes_or_new(ax: Axes | None, size: tuple[float, float]) -> Axes:
    return new_figure(size).subplots() if ax is None else ax


def tidy(ax: Axes, *, has_grid: bool = False) -> None:
    """No box, quiet axes, lines at the ticks of y on request."""
    ax.set_axisbelow(True)
    if has_grid:
        ax.grid(axis="y", color="#DDDDDD", linewidth=0.8)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color("#999999")
    ax.tick_params(colors=INK, labelsize=9)
    ax.title.set_fontsize(11)
    ax.title.set_color(INK)


def plain_ticks(axis: Axis) -> None:
    """Label 1, 2 and 5 times the powers of ten as plain numbers."""
    from matplotlib.ticker import LogLocator, NullFormatter

    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter("{x:g}")
    axis.set_minor_formatter(NullFormatter())


def counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def short(text: str, width: int) -> str:
    """Return a text in one line of a width; of a long text the end is not read."""
    line = " ".join(text[: 4 * width].split())
    return line if len(line) <= width else f"{line[: width - 1]}…"


def style_of(cluster: int, n_clusters: int) -> tuple[str, str]:
    """Color and shape of a cluster's points; the shape changes where the colors run out."""
    colors = FEW_COLORS if n_clusters <= len(FEW_COLORS) else MANY_COLORS
    shape = (cluster // len(colors)) % len(_SHAPES) if n_clusters <= MOST_NUMBERED else 0
    return colors[cluster % len(colors)], _SHAPES[shape]
