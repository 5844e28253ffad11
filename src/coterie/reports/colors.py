"""The colors of clusters as CSS custom properties, on white and on dark pages."""

from __future__ import annotations

import colorsys

from coterie.figures import FEW_COLORS, MANY_COLORS

# The least lightness of a color on a dark page.
_ON_DARK = 0.6


def color_name(cluster: int, n_clusters: int) -> str:
    """Return the CSS color of a cluster, which follows the theme."""
    return f"var(--c{cluster % len(_colors(n_clusters))})"


def properties(n_clusters: int) -> dict[str, dict[str, str]]:
    """Return the custom properties that `color_name` names, by theme.

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
    lighter = colorsys.hls_to_rgb(hue, max(lightness, _ON_DARK), saturation)
    return "#" + "".join(f"{round(255 * part):02x}" for part in lighter)
