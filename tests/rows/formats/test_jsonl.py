"""JSON lines: vectors in a field, types that change, bad lines."""

import json

import pytest

from coterie.rows import open_rows
from tests.rows.formats import assert_same_rows, numbers

N_ROWS = 60


def write(path, objects):
    path.write_text("".join(f"{json.dumps(each)}\n" for each in objects))
    return path


def objects(n_rows=N_ROWS):
    return [
        {"id": f"r{i}", "text": "é" * (i % 5), "embedding": row}
        for i, row in enumerate(numbers(n_rows).tolist())
    ]


@pytest.fixture(params=[1 << 6, 1 << 12, 1 << 23])
def chunk_bytes(request, monkeypatch):
    """Files are read in few or many chunks, or in chunks shorter than a line."""
    monkeypatch.setattr("coterie.rows.formats.jsonl._CHUNK_BYTES", request.param)


def test_vectors_in_a_field(chunk_bytes, tmp_path):
    rows = open_rows(write(tmp_path / "x.jsonl", objects()))
    assert_same_rows(rows, numbers(N_ROWS))
    assert rows.column_names[1] == "embedding[1]"
    assert rows.metadata_columns.column_names == ["id", "text"]
    metadata = rows.metadata_columns.select(["text", "id"])
    assert metadata["id"].to_pylist() == [f"r{i}" for i in range(N_ROWS)]
    assert metadata["text"][9].as_py() == "éééé"


def test_types_that_become_wider(chunk_bytes, tmp_path):
    fields = [{"v": [1, 2], "n": 1, "when": "2020-01-01", "late": None, "part": {"a": 1}} for _ in range(20)]
    fields += [{"v": [1.5, 2], "n": 1.5, "when": "soon", "late": "x"}]
    rows = open_rows(write(tmp_path / "x.jsonl", fields), columns="v")
    assert rows.read()[19:].tolist() == [[1, 2], [1.5, 2]]
    metadata = rows.metadata_columns.to_pylist()
    assert metadata[20] == {"n": 1.5, "when": "soon", "late": "x", "part": None}
    assert metadata[0]["when"] == "2020-01-01"


def test_empty_lines_and_marks_are_no_rows(chunk_bytes, tmp_path):
    text = '\ufeff{"v": [1, 2]}\r\n\r\n  \n{"v": [3, 4]}\n\n{"v": [5, 6]}'
    (tmp_path / "x.jsonl").write_text(text, encoding="utf-8", newline="")
    assert open_rows(tmp_path / "x.jsonl").read().tolist() == [[1, 2], [3, 4], [5, 6]]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"id": "a", "embedding": [1, 2', "Missing a comma or"),
        ("nonsense", "Invalid value"),
        ("[1, 2, 3, 4, 5]", "from object to array"),
        ('{"id": 7, "embedding": [1, 2, 3, 4, 5]}', "id"),
        ('{"embedding": [1, "a"]}', "embedding"),
        ('{"id": "a", "id": "b"}', "was specified twice"),
        (b'{"id": "\xff"}', "'utf-8' codec"),
        ('{"embedding": [1e999]}', "Number too big"),
    ],
)
def test_a_bad_line_is_told(line, message, chunk_bytes, tmp_path):
    """With its field, or the first line of its part of the file and its number there."""
    path = write(tmp_path / "x.jsonl", objects())
    lines = path.read_bytes().split(b"\n")
    lines[41] = line if isinstance(line, bytes) else line.encode()
    path.write_bytes(b"\n".join(lines))
    with pytest.raises(ValueError, match=rf"Cannot read {path}: .*{message}") as caught:
        open_rows(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("text", ["", "\n \n"])
def test_no_rows(text, tmp_path):
    (tmp_path / "x.jsonl").write_text(text)
    with pytest.raises(ValueError, match=r"Cannot read .*x\.jsonl: the file has no rows"):
        open_rows(tmp_path / "x.jsonl")


def test_a_line_without_an_end(tmp_path, monkeypatch):
    """It is not read to its end."""
    monkeypatch.setattr("coterie.rows.formats.jsonl._LONGEST_LINE", 2**20)
    monkeypatch.setattr("coterie.rows.formats.jsonl._CHUNK_BYTES", 2**16)
    path = tmp_path / "x.jsonl"
    path.write_text('{"a": 1}\n[' + '{"a": 1},' * 200_000 + "]")
    with pytest.raises(ValueError, match=r"x\.jsonl: line 2 has more than 1 MiB\. .*one object"):
        open_rows(path)
