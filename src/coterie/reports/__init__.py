"""HTML reports about fits: a map, named clusters, their quality, and how they were made.

`page` is the engine of pages; the other modules are the report of a fit. jinja2, openTSNE, matplotlib and pyarrow are
imported only when a report is made.
"""

from coterie.reports.build import Report, report, require_report

__all__ = ["Report", "report", "require_report"]
