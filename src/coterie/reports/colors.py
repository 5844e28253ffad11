"""The colors of clusters, on white paper and on dark."""

from __future__ import annotations

import colorsys

from coterie.figures import FEW_COLORS, MANY_COLORS

__all__ = ["NOWHERE", "color_name", "palette", "properties"]

# The color of rows in no cluster.
NOWHERE = "#777777"

# What a dot on dark paper must have of lightness to be seen.
_LIGHT_ENOUGH = 0.6


def palette(n_clusters: int) -> list[str]:
    """Return the colors of so many clusters, on white paper: those of every other picture."""
    colors = _colors(n_clusters)
    return [colors[cluster % len(colors)] for cluster in range(n_clusters)]


def color_name(cluster: int, n_clusters: int) -> str:
    """Return the CSS color of a cluster, which follows the theme."""
    return f"var(--c{cluster % len(_colors(n_clusters))})"


def properties(n_clusters: int) -> dict[str, dict[str, str]]:
    """Return the custom properties that `color_name` names, for the page.

    Examples
    --------
    >>> from coterie.reports.colors import properties
    >>> found = properties(3)
    >>> found["light"]["--c0"], found["dark"]["--c0"]
    ('#0072B2', '#33b6ff')
    """
    colors = _colors(n_clusters)
    return {
        "light": {f"--c{i}": color for i, color in enumerate(colors)},
        "dark": {f"--c{i}": _on_dark(color) for i, color in enumerate(colors)},
    }


def _colors(n_clusters: int) -> tuple[str, ...]:
    return FEW_COLORS if n_clusters <= len(FEW_COLORS) else MANY_COLORS


def _on_dark(color: str) -> str:
    red, green, blue = (int(color[i : i + 2], 16) / 255 for i in (1, 3, 5))
    hue, lightness, saturation = colorsys.rgb_to_hls(red, green, blue)
    lighter = colorsys.hls_to_rgb(hue, max(lightness, _LIGHT_ENOUGH), saturation)
    return "#" + "".join(f"{round(255 * part):02x}" for part in lighter)
