"""The colours of clusters, on white paper and on dark."""

from __future__ import annotations

import colorsys

from coterie.figures import FEW_COLOURS, MANY_COLOURS

__all__ = ["NOWHERE", "colour_name", "palette", "properties"]

# The colour of rows in no cluster.
NOWHERE = "#777777"

# What a dot on dark paper must have of lightness to be seen.
_LIGHT_ENOUGH = 0.6


def palette(n_clusters: int) -> list[str]:
    """Return the colours of so many clusters, on white paper: those of every other picture."""
    colours = _colours(n_clusters)
    return [colours[cluster % len(colours)] for cluster in range(n_clusters)]


def colour_name(cluster: int, n_clusters: int) -> str:
    """Return the CSS colour of a cluster, which follows the theme."""
    return f"var(--c{cluster % len(_colours(n_clusters))})"


def properties(n_clusters: int) -> dict[str, dict[str, str]]:
    """Return the custom properties that `colour_name` names, for the page.

    Examples
    --------
    >>> from coterie.reports.colours import properties
    >>> found = properties(3)
    >>> found["light"]["--c0"], found["dark"]["--c0"]
    ('#0072B2', '#33b6ff')
    """
    colours = _colours(n_clusters)
    return {
        "light": {f"--c{i}": colour for i, colour in enumerate(colours)},
        "dark": {f"--c{i}": _on_dark(colour) for i, colour in enumerate(colours)},
    }


def _colours(n_clusters: int) -> tuple[str, ...]:
    return FEW_COLOURS if n_clusters <= len(FEW_COLOURS) else MANY_COLOURS


def _on_dark(colour: str) -> str:
    red, green, blue = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    hue, lightness, saturation = colorsys.rgb_to_hls(red, green, blue)
    lighter = colorsys.hls_to_rgb(hue, max(lightness, _LIGHT_ENOUGH), saturation)
    return "#" + "".join(f"{round(255 * part):02x}" for part in lighter)
