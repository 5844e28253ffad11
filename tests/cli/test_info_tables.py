"""`coterie info` describes tables, also those that cannot be clustered yet, and its command clusters them."""

import json
import shlex

import numpy as np
import pytest

from coterie.cli import main

pandas = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")


def information(file, capsys):
    assert main(["info", file, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert main(["info", file]) == 0
    return facts, capsys.readouterr().out


def clustered(command, capsys):
    """Run the command that was advised; it has nothing to say."""
    assert main([*shlex.split(command)[1:], "--out", "o"]) == 0
    told = capsys.readouterr().err
    assert "warning" not in told


@pytest.fixture
def people(folder, X):
    frame = pandas.DataFrame(X * [1, 1, 10, 1000], columns=["a", "b", "a size, in cm", "7"])
    frame.insert(0, "city", np.resize(["Rome", "Oslo"], 300))
    frame["who"] = [f"n{i}" for i in range(300)]
    frame.loc[::13, "b"] = np.nan
    frame["since"] = "2024-05-06"
    return frame


def test_a_table_of_people(people, capsys):
    people.to_csv("people.csv", index=False)
    facts, text = information("people.csv", capsys)
    assert facts["rows"] == 300
    assert "problem" not in facts
    assert [column["looks_like"] for column in facts["table"]] == ["category", *["number"] * 4, "id", "date"]
    assert sum(column["share_of_variance"] or 0 for column in facts["table"]) == pytest.approx(1)
    assert facts["command"] == (
        "coterie fit people.csv --categories auto --missing median --scale standard -k 10"
    )
    assert f"this would cluster it\n  {facts['command']}\n" in text
    lines = [line.split() for line in text.splitlines()]
    assert ["city", "string", "category", "2", "Oslo", "to", "Rome"] in lines
    clustered(facts["command"], capsys)


def test_more_columns_that_are_not_clustered(people, capsys):
    people.drop(columns=["a", "b"]).assign(x="text one", y="2024-01-01", z=None).to_parquet("people.parquet")
    facts, _ = information("people.parquet", capsys)
    assert facts["command"] == "coterie fit people.parquet --categories auto --scale standard -k 10"
    clustered(facts["command"], capsys)


def test_vectors(folder, X, capsys):
    table = pandas.DataFrame({"id": [f"r{i}" for i in range(300)], "topic": 1, "v": list(X)})
    table.to_parquet("v.parquet")
    facts, text = information("v.parquet", capsys)
    assert facts["command"] == "coterie fit v.parquet -k 10"
    assert "vector of 4" in text
    clustered(facts["command"], capsys)


def test_a_wide_table(folder, capsys):
    X = np.random.default_rng(0).normal(size=(60, 500))
    frame = pandas.DataFrame(X).rename(columns="e{}".format)
    frame["kind"] = np.resize(["a", "b"], 60)
    frame.loc[3, "e400"] = np.nan
    frame.to_csv("wide.csv", index=False)
    facts, text = information("wide.csv", capsys)
    assert len(facts["table"]) == 501
    assert len(text.splitlines()) < 40
    assert "and 481 more columns: 480 number, 1 category" in text
    assert "no numbers: kind" in text
    assert "with missing values: e400" in text
    clustered(facts["command"], capsys)


def test_nothing_to_cluster(folder, capsys):
    pandas.DataFrame({"a": [f"some words, {i} of them" * 9 for i in range(30)]}).to_csv("t.csv", index=False)
    facts, text = information("t.csv", capsys)
    assert facts["command"] is None
    assert text.endswith("nothing here can be clustered\n")


def test_info_of_a_model_has_no_table(folder, rows, capsys):
    assert main(["fit", rows, "-k", "3", "-q"]) == 0
    facts, _ = information("coterie-out/model.coterie", capsys)
    assert facts["prepared_by"] == []
    facts, text = information(rows, capsys)
    assert "table" not in facts
    assert "this would" not in text
