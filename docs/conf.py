"""The documentation site: `make docs` builds it into build/docs."""

from __future__ import annotations

import importlib
import inspect
from pathlib import Path
from typing import Any
from weakref import WeakSet

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from sphinx_gallery.scrapers import figure_rst

import coterie

HERE = Path(__file__).parent
MODULES = (
    "coterie", "coterie.seeding", "coterie.coresets", "coterie.graphs", "coterie.metrics", "coterie.datasets",
    "coterie.plotting", "coterie.estimators",
)  # fmt: skip

project = "Coterie"
author = "The Coterie developers"
version = release = coterie.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.extlinks",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
# Some pages, which are read in the repository too, lead to files outside of this folder; what comes from scikit-learn
# leads to its own pages.
suppress_warnings = ["myst.xref_missing", "ref.ref", "config.cache"]
extlinks = {"doi": ("https://doi.org/%s", "doi:%s")}
exclude_patterns = ["pictures.md", "api.md"]
root_doc = "index"

autosummary_generate = True
autosummary_ignore_module_all = False
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False
add_module_names = False


def coterie_figures(block: Any, names: dict[str, Any], settings: dict[str, Any]) -> str:
    """Save the figures that a block of an example made by `coterie.plotting`, which pyplot does not know."""
    paths = []
    for value in list(names["example_globals"].values()):
        figure = value.figure if isinstance(value, Axes) else value
        if isinstance(figure, Figure) and getattr(figure, "number", None) is None and figure not in SAVED:
            SAVED.add(figure)
            paths.append(next(names["image_path_iterator"]))
            figure.savefig(paths[-1], dpi=100)
    return figure_rst(paths, settings["src_dir"])


SAVED: WeakSet[Figure] = WeakSet()

sphinx_gallery_conf = {
    "image_scrapers": ("matplotlib", coterie_figures),
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "gallery",
    "filename_pattern": "/plot_",
    "download_all_examples": False,
    "show_memory": False,
    "capture_repr": (),
    "remove_config_comments": True,
    "abort_on_example_error": True,
    "within_subsection_order": "FileNameSortKey",
}

html_theme = "pydata_sphinx_theme"
html_title = "Coterie"
templates_path = ["_templates"]
html_static_path = ["_static"]
html_css_files = ["coterie.css"]
html_show_sourcelink = False
html_theme_options = {
    "show_prev_next": True,
    "navigation_with_keys": False,
    "header_links_before_dropdown": 6,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
}
html_sidebars = {"index": []}


def write_reference() -> None:
    """Write a page for each public module, from its `__all__`: what is public is listed, and nothing else."""
    folder = HERE / "reference"
    folder.mkdir(exist_ok=True)
    for name in MODULES:
        (folder / f"{name}.rst").write_text("\n".join(_module_page(name)) + "\n")
    toctree = ["Reference", "=========", "", "Every public name.", "", ".. toctree::", "   :maxdepth: 1", ""]
    (folder / "index.rst").write_text("\n".join([*toctree, *(f"   {name}" for name in MODULES)]) + "\n")


def _module_page(name: str) -> list[str]:
    module = importlib.import_module(name)
    public = [
        each for each in module.__all__ if not inspect.ismodule(getattr(module, each)) and each[0] != "_"
    ]
    summary = (module.__doc__ or "").strip().splitlines()[0]
    return [
        name, "=" * len(name), "", summary, "", f".. currentmodule:: {name}", "", ".. autosummary::",
        "   :toctree: made", "   :nosignatures:", "", *(f"   {each}" for each in public),
    ]  # fmt: skip


def setup(_: Any) -> None:
    """Write the reference before Sphinx looks for files."""
    write_reference()
