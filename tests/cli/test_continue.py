"""`coterie fit --continue`: ids of clusters that last over runs."""

import csv
import json

import numpy as np
import pytest

from coterie.cli import main
from tests.cli.running import failed

pandas = pytest.importorskip("pandas")


def write_rows(name, centers, names, seed=0):
    """Write 30 rows around each center to a table, with ids in random order."""
    random = np.random.default_rng(seed)
    rows = np.repeat(np.asarray(centers, dtype=float), 30, axis=0) + random.normal(
        0, 0.1, (30 * len(centers), 2)
    )
    order = random.permutation(len(rows))
    table = pandas.DataFrame(rows[order], columns=["x", "y"])
    table.insert(0, "id", np.asarray(names)[order])
    table.to_csv(name, index=False)


def fit(name, out, k, *more):
    return main(["fit", name, "-k", str(k), "--out", out, "--results", "csv", "-q", *more])


def changes(out):
    with open(f"{out}/changes.csv", encoding="utf-8", newline="") as file:
        return {int(line["id"]): line for line in csv.DictReader(file)}


def lasting(out):
    table = pandas.read_csv(f"{out}/labels.csv", dtype={"id": str})
    return dict(zip(table["id"], table["lasting_id"]))


def ids(*starts):
    return [f"{number:04}" for start in starts for number in range(start, start + 30)]


def test_clusters_keep_their_ids_over_three_runs(folder):
    write_rows("one.csv", [(0, 0), (0, 9), (9, 0)], ids(0, 100, 200))
    assert fit("one.csv", "one", 3) == 0
    before = pandas.read_csv("one/labels.csv", dtype={"id": str}).set_index("id")["cluster"]
    # The second cluster dies, a new one is born far away.
    write_rows("two.csv", [(9, 0), (0, 0), (90, 90)], ids(200, 0, 300), seed=1)
    assert fit("two.csv", "two", 3, "--continue", "one", "--seed", "5") == 0
    found = lasting("two")
    assert all(found[key] == before[key] for key in ids(0, 200))
    assert {found[key] for key in ids(300)} == {3}
    table = changes("two")
    events = {table[before[key]]["event"] for key in ("0000", "0200")}
    assert events == {"continued"}
    assert table[before["0100"]]["event"] == "died"
    assert table[before["0100"]]["cluster"] == ""
    assert (table[3]["event"], table[3]["rows_after"], table[3]["share_after"]) == ("born", "30", "0")
    assert table[before["0000"]]["share_before"] == "1"
    summary = json.loads((folder / "two/summary.json").read_text())
    assert summary["continued"] == {
        "run": "one",
        "next_id": 4,
        "events": {"born": 1, "continued": 2, "died": 1},
    }
    # Cluster 3 dies: its id does not come again.
    write_rows("three.csv", [(9, 0), (0, 0), (0, 90)], ids(200, 0, 400), seed=2)
    assert fit("three.csv", "three", 3, "--continue", "two") == 0
    found = lasting("three")
    assert all(found[key] == before[key] for key in ids(0, 200))
    assert {found[key] for key in ids(400)} == {4}


def test_rows_without_ids_are_those_of_the_older_run_in_their_order(folder, X, capsys):
    np.save("rows.npy", X)
    arguments = ["fit", "rows.npy", "-k", "3", "-q", "--out"]
    assert main([*arguments, "one"]) == 0
    assert main([*arguments, "two", "--seed", "3", "--continue", "one"]) == 0
    old, new = np.load("one/labels.npy"), np.load("two/labels.npy")
    names = {int(line["cluster"]): int(line["id"]) for line in changes("two").values()}
    assert np.array_equal([names[label] for label in new.tolist()], old)
    np.save("rows.npy", X[1:])
    assert "give both tables a column of ids" in failed(capsys, 2, *arguments, "two", "--continue", "one")


def test_density_continues_with_noise(folder):
    write_rows("one.csv", [(0, 0), (0, 9), (9, 0), (9, 9)], ids(0, 100, 200, 300))
    arguments = ["fit", "one.csv", "--method", "density", "--results", "parquet", "-q", "--out"]
    assert main([*arguments, "one"]) == 0
    assert main([*arguments, "two", "--continue", "one", "--min-samples", "4"]) == 0
    one, two = (pandas.read_parquet(f"{name}/labels.parquet") for name in ("one", "two"))
    both = (one["cluster"] >= 0) & (two["cluster"] >= 0)
    assert np.array_equal(one["cluster"][both], two["lasting_id"][both])
    assert (two["lasting_id"][two["cluster"] < 0] == -1).all()


def test_wrong_older_runs(folder, X, capsys):
    write_rows("one.csv", [(0, 0), (0, 9)], ids(0, 0))
    np.save("rows.npy", X)
    assert main(["fit", "rows.npy", "-k", "2", "--out", "plain", "-q"]) == 0
    text = failed(capsys, 2, "fit", "one.csv", "-k", "2", "--continue", "plain")
    assert "--continue plain: its labels.npy has no column 'id'" in text
    assert fit("one.csv", "twice", 2) == 0
    text = failed(capsys, 2, "fit", "one.csv", "-k", "2", "--continue", "twice")
    assert "occurs more than once in the labels of twice" in text
    text = failed(capsys, 2, "fit", "one.csv", "-k", "2", "--continue", "nowhere")
    assert "--continue nowhere" in text
