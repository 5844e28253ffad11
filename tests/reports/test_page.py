"""Rendering of pages: parts as HTML, and escaping of texts."""

import re
from html.parser import HTMLParser

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
)  # fmt: skip

NASTY = [
    "<script>alert(1)</script>",
    '" onmouseover="alert(1)" x=\'',
    "</script><img src=x onerror=alert(1)>",
    "שלום עולם \u202e right to left",
    "👩‍👩‍👧 emoji",
    "a | b\n\n# no heading",
    "{{ 7 * 7 }} {% raw %}",
    "$\\alpha$ [link](javascript:alert(1))",
]


class Reader(HTMLParser):
    """Notes elements, attributes and the text between them."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.elements, self.texts, self.attributes = [], [], []

    def handle_starttag(self, tag, attributes):
        self.elements.append(tag)
        self.attributes += [(tag, *attribute) for attribute in attributes]

    def handle_data(self, data):
        self.texts.append(data)


def read(html):
    reader = Reader()
    reader.feed(html)
    return reader


def page_of(*parts, title="Title"):
    return Page(title, "subtitle", [Section("One part", parts)])


def parts_with(text):
    """Every kind of part, with a text from data wherever one can stand."""
    return [
        Text(text),
        Code(text, text),
        Warnings([text]),
        Facts([(text, text)]),
        Table(
            text,
            [Column(text), Column(text, True)],
            [[text, Mark(text, "var(--c0)")], [Shade(text, 0.5), 1]],
            text,
        ),
    ]


@pytest.mark.parametrize("text", NASTY)
def test_texts_are_escaped(text):
    same_length = "x" * len(text)  # long ones are given more room
    harmless = read(page_of(*parts_with(same_length), title=same_length).html())
    found = read(page_of(*parts_with(text), title=text).html())
    assert found.elements == harmless.elements
    assert [name for _, name, _ in found.attributes] == [name for _, name, _ in harmless.attributes]
    assert "".join(found.texts).count(text) >= 11


def test_no_request_is_sent():
    html = page_of(*parts_with("x"), Picture(new_figure((2, 2)), "p", "empty")).html()
    for _, name, value in read(html).attributes:
        if name in ("src", "href"):
            assert value.startswith(("data:", "#"))
    assert "default-src 'none'" in html
    assert not re.search(r"@import|url\((?!#|data:)", html)


def test_numbers_as_people_read_them():
    rows = [[1234567, 0.123456, None, float("nan"), 3.0, 1.5e-9, 123456.7, Bar(12000, 0.5)]]
    html = page_of(Table("t", [Column("n", True)] * 8, rows)).html()
    cells = re.findall(r"<td[^>]*>(.*?)</td>", html)
    assert [re.sub("<.*?>", "", cell) for cell in cells] == [
        "1,234,567", "0.1235", "–", "–", "3", "1.5e-09", "123,457", "12,000",
    ]  # fmt: skip


def test_pictures_follow_the_theme_and_have_names_of_their_own():
    figures = [new_figure((3, 2)) for _ in range(2)]
    for figure in figures:
        figure.subplots().plot([1, 2], [3, 4])
    html = page_of(*(Picture(figure, f"p{i}", "A line <up>") for i, figure in enumerate(figures))).html()
    assert html.count('role="img" aria-label="A line &lt;up&gt;"') == 2
    assert "<svg" in html
    assert "currentColor" in html
    names = [value for _, name, value in read(html).attributes if name == "id"]
    assert len(names) == len(set(names))
