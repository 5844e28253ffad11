"""Rendering of pages: sections as one self-contained HTML file.

Cells of tables and values of facts are texts, numbers, None (a dash), `Bar`, `Mark` or `Shade`. Texts are escaped:
only the templates write HTML. jinja2 comes with the extra `report`.
"""

from __future__ import annotations

import base64
import html
import io
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files as package_files
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from coterie._kernels import __version__
from coterie.outputs import replacing

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, slots=True)
class Bar:
    """A number that a table shows with a bar, whose length is a `share` from 0 to 1."""

    value: float | str
    share: float


@dataclass(frozen=True, slots=True)
class Mark:
    """A text behind a disc of a CSS color; "var(--c3)" where the page's stylesheet has it."""

    text: str
    color: str


@dataclass(frozen=True, slots=True)
class Shade:
    """A value on a shade of the page: of one color for a strength up to 1, of another one for one down to -1."""

    value: str | float | None
    strength: float


Cell: TypeAlias = str | float | int | Bar | Mark | Shade | None


@dataclass(frozen=True, slots=True)
class Text:
    """A paragraph."""

    text: str


@dataclass(frozen=True, slots=True)
class Code:
    """Code, such as a command, with a caption."""

    caption: str
    text: str


@dataclass(frozen=True, slots=True)
class Warnings:
    """Warnings."""

    lines: Sequence[str]


@dataclass(frozen=True, slots=True)
class Facts:
    """Names and values."""

    entries: Sequence[tuple[str, Cell]]


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: its heading, and whether it has numbers."""

    name: str
    is_number: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """A table with a caption; `note` stands below it. On a phone the cells of a stacked one stand below each other."""

    caption: str
    columns: Sequence[Column]
    rows: Sequence[Sequence[Cell]]
    note: str = ""
    is_stacked: bool = False


@dataclass(frozen=True, slots=True)
class Picture:
    """A matplotlib figure with the text `alt`; small ones stand beside each other where there is space."""

    figure: Figure
    alt: str
    caption: str = ""
    is_small: bool = False

    def png(self) -> str:
        """Return the address of a PNG image on white paper, which holds it."""
        buffer = io.BytesIO()
        self.figure.savefig(buffer, format="png", metadata={"Software": None})
        self.figure.set_layout_engine("none")  # a second layout would differ
        return f"data:image/png;base64,{base64.b64encode(buffer.getvalue()).decode('ascii')}"


@dataclass(frozen=True, slots=True)
class Explorer:
    """A map of rows and a table of clusters, interactive by `page.js` with `data` (ready for JSON), else static."""

    picture: Picture
    table: Table
    data: Mapping[str, Any]


Part: TypeAlias = Text | Code | Warnings | Facts | Table | Picture | Explorer


@dataclass(frozen=True, slots=True)
class Section:
    """Parts under a heading, which is in the page's list of sections."""

    title: str
    parts: Sequence[Part]

    @property
    def anchor(self) -> str:
        """Its address on the page."""
        return re.sub(r"\W+", "-", self.title.lower()).strip("-") or "section"


@dataclass(frozen=True, slots=True)
class Page:
    """A page; `properties` are CSS custom properties by theme: {"light": {"--c0": "#0072b2"}, "dark": {...}}."""

    title: str
    subtitle: str
    sections: Sequence[Section]
    properties: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def html(self) -> str:
        """Return the page as one HTML document."""
        return str(_environment().get_template("page.html.jinja").render(page=self, version=__version__))

    def save(self, path: str | Path) -> None:
        """Write the page to a file that ends in .html."""
        if Path(path).suffix != ".html":
            raise ValueError(f"A page ends in .html, got {Path(path).name!r}.")
        with replacing(Path(path)) as target:
            target.write_text(self.html(), encoding="utf-8")

    def _repr_html_(self) -> str:
        # An own frame separates the styles of notebook and page.
        return (
            f'<iframe title="{html.escape(self.title)}" srcdoc="{html.escape(self.html())}" '
            'style="width: 100%; height: 800px; border: 1px solid #8888; border-radius: 6px"></iframe>'
        )

    @property
    def is_interactive(self) -> bool:
        """Whether the page has a script."""
        return any(isinstance(part, Explorer) for section in self.sections for part in section.parts)


def require_jinja() -> None:
    """Raise an ImportError now if jinja2 is missing."""
    try:
        import jinja2  # noqa: F401
    except ImportError as error:
        raise ImportError("Reports need jinja2: pip install 'coterie[report]'") from error


@cache
def _environment() -> Any:
    """Return jinja2's environment with the templates of this package; texts are escaped."""
    require_jinja()
    import jinja2

    made = jinja2.Environment(
        loader=jinja2.FunctionLoader(_template), autoescape=True, trim_blocks=True, lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )  # fmt: skip
    made.policies["json.dumps_kwargs"] = {"sort_keys": False, "separators": (",", ":"), "ensure_ascii": False}
    made.filters["kind"] = lambda part: type(part).__name__
    made.filters["shown"] = _shown
    made.globals["source"] = _template
    return made


def _template(name: str) -> str:
    return (package_files("coterie.reports") / "templates" / name).read_text(encoding="utf-8")


def _shown(value: Any) -> str:
    """A value as people read it: whole numbers with commas, others with four digits, None as a dash."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if isinstance(value, bool | str):
        return str(value)
    size = abs(value)
    if float(value).is_integer() and size < 1e15:
        return f"{int(value):,}"
    return f"{value:.4g}" if 1e-4 <= size < 9999.5 else f"{value:,.0f}" if 1 <= size < 1e9 else f"{value:.3g}"
