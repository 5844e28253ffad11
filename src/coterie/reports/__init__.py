"""Pages for people: what is in the clusters of a fit, and whether they can be trusted.

`page` is the engine, which knows no clusterings; the other modules are the report of a fit. jinja2, Bokeh, matplotlib
and pyarrow are imported only when a report is made.
"""

from coterie.reports.build import Report, report, require_report

__all__ = ["Report", "report", "require_report"]
