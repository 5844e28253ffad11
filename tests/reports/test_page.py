"""Rendering of pages: texts are escaped, nothing is requested, and numbers are readable."""

import html
import re

import pytest

pytest.importorskip("jinja2")

from coterie.figures import new_figure
from coterie.reports.page import (
    Bar,
    Code,
    Column,
    Facts,
    Mark,
    Page,
    Picture,
    Section,
    Shade,
    Table,
    Text,
    Warnings,
)

NASTY = "</script><img src=x onerror=alert(1)> \" x=' {{ 7 * 7 }} {% raw %} שלום \u202e 👩‍👩‍👧"


def html_of(*parts, title="Title"):
    return Page(title, "subtitle", [Section("One part", parts)]).html()


def parts_with(text):
    """Every kind of part, with a text from data wherever one can stand."""
    cells = [[text, Mark(text, "var(--c0)")], [Shade(text, 0.5), 1]]
    return [Text(text), Code(text, text), Warnings([text]), Facts([(text, text)]),
            Table(text, [Column(text), Column(text, True)], cells, text)]  # fmt: skip


def test_texts_are_escaped():
    found, plain = (html_of(*parts_with(text), title=text) for text in (NASTY, "x" * len(NASTY)))
    assert html.unescape(found).count(NASTY) >= 11
    assert re.findall("<[a-z/]+", found) == re.findall("<[a-z/]+", plain)


def test_no_request_is_sent():
    found = html_of(*parts_with("x"), Picture(new_figure((2, 2)), "empty"))
    assert all(address.startswith(("data:", "#")) for address in re.findall(r'(?:src|href)="([^"]*)', found))
    assert "default-src 'none'" in found
    assert not re.search(r"@import|url\((?!#|data:)", found)


def test_numbers_as_people_read_them():
    rows = [[1234567, 0.123456, None, float("nan"), 3.0, 1.5e-9, 123456.7, Bar(12000, 0.5)]]
    cells = re.findall(r"<td[^>]*>(.*?)</td>", html_of(Table("t", [Column("n", True)] * 8, rows)))
    assert [re.sub("<.*?>", "", cell) for cell in cells] == [
        "1,234,567", "0.1235", "–", "–", "3", "1.5e-09", "123,457", "12,000",
    ]  # fmt: skip
