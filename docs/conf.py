"""The documentation site: `make docs` builds it into build/docs."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any
from weakref import WeakSet

from docutils import nodes
from latex2mathml.converter import convert as to_mathml
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from sphinx_gallery.scrapers import figure_rst

import coterie

HERE = Path(__file__).parent
MODULES = [
    f"coterie.{name}"
    for name in (
        "seeding", "coresets", "graphs", "metrics", "datasets", "plotting", "rows", "dask", "passes", "estimators",
    )
]  # fmt: skip

project = "Coterie"
author = "The Coterie developers"
version = release = coterie.__version__

extensions = [
    "matplotlib.sphinxext.plot_directive",
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.extlinks",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 3
# Some pages, which are read in the repository too, lead to files outside of this folder; what comes from scikit-learn
# leads to its own pages.
suppress_warnings = ["myst.xref_missing", "ref.ref", "config.cache"]
extlinks = {"doi": ("https://doi.org/%s", "doi:%s")}
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
    "examples_dirs": ["../examples/gallery", "../examples/tutorials"],
    "gallery_dirs": ["gallery", "tutorials"],
    "filename_pattern": "/plot_",
    "download_all_examples": False,
    "show_memory": False,
    "write_computation_times": False,
    "capture_repr": (),
    "remove_config_comments": True,
    "abort_on_example_error": True,
    "within_subsection_order": "FileNameSortKey",
}

# The pictures of the guide are drawn when the site is built, by the programs in guide/pictures.
plot_include_source = plot_html_show_source_link = plot_html_show_formats = False
plot_formats = [("png", 110)]
plot_pre_code = ""
plot_apply_rcparams = True
plot_rcparams = {
    "figure.constrained_layout.use": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "font.size": 12,
    "axes.titlesize": "medium",
}

# Browsers draw MathML themselves: no script, and nothing to fetch.
html_math_renderer = "mathml"

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
# Without it the theme complains on the console of a first visit.
html_context = {"default_mode": "auto"}
html_sidebars = {"index": []}


def write_reference() -> None:
    """Write a page for each public module, from its `__all__`."""
    folder = HERE / "reference" / "made"
    folder.mkdir(exist_ok=True)
    for name in MODULES:
        (folder / f"{name}.rst").write_text("\n".join(_module_page(name)) + "\n")


def _module_page(name: str) -> list[str]:
    module = importlib.import_module(name)
    public = [each for each in module.__all__ if getattr(module, each) is not getattr(coterie, each, None)]
    summary = (module.__doc__ or "").strip().splitlines()[0]
    return [
        name, "=" * len(name), "", summary, "", f".. currentmodule:: {name}", "", ".. autosummary::",
        "   :toctree: .", "   :nosignatures:", "", *(f"   {each}" for each in public),
    ]  # fmt: skip


def inline_formula(writer: Any, node: nodes.math) -> None:
    """Write a formula in a line as MathML."""
    writer.body.append(to_mathml(node.astext()))
    raise nodes.SkipNode


def formula(writer: Any, node: nodes.math_block) -> None:
    """Write a formula of its own as MathML; where it is wider than the window, it can be moved by the keyboard."""
    writer.body.append(f'<div class="formula" tabindex="0">{to_mathml(node.astext(), display="block")}</div>')
    raise nodes.SkipNode


def setup(app: Any) -> None:
    """Write the reference before Sphinx looks for files; draw formulas."""
    write_reference()
    app.add_html_math_renderer("mathml", (inline_formula, None), (formula, None))
