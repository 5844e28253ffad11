"""`--missing`, `--scale`, `--categories`: the commands do what the library does, and remember it."""

import json
import shlex

import numpy as np
import pytest

import coterie
from coterie.cli import main
from tests.cli.running import failed

pandas = pytest.importorskip("pandas")
parquet = pytest.importorskip("pyarrow.parquet")

OPTIONS = ["--missing", "median", "--scale", "standard", "--categories", "city"]


@pytest.fixture
def people(folder, X):
    frame = pandas.DataFrame(X * [1, 1, 10, 1000], columns=list("abcd")).assign(
        name=[f"n{i}" for i in range(300)]
    )
    frame.insert(0, "city", np.resize(["Rome", "Oslo"], 300))
    frame.loc[::13, "b"] = np.nan
    frame.to_csv("people.csv", index=False, sep=";", decimal=",")
    return frame


def test_fit_predict_and_verify(people, folder, capsys):
    assert main(["fit", "people.csv", "-k", "3", "--id", "name", "--out", "o", *OPTIONS]) == 0
    assert "warning" not in capsys.readouterr().err
    options = {"missing": "median", "scale": "standard", "categories": ["city"]}
    rows = coterie.prepare_rows(people, exclude=["name"], **options)
    expected = coterie.KMeans(3, random_state=0).fit(rows).labels_
    labels = parquet.read_table("o/labels.parquet")
    assert labels.column_names[:3] == ["name", "city", "cluster"]
    assert np.array_equal(labels["cluster"], expected)
    summary = json.loads((folder / "o/summary.json").read_text())
    assert summary["preparing"] == {**options, "category_limit": 100, "handle_unknown": "error"}
    assert main(["verify", "o", "-q"]) == 0
    people[["d", "name", "city", "c", "b", "a"]][50:80].to_parquet("more.parquet", index=False)
    assert main(["predict", "o/model.coterie", "more.parquet", "-q"]) == 0
    assert np.array_equal(parquet.read_table("labels.parquet")["cluster"], expected[50:80])
    assert main(["info", "o/model.coterie"]) == 0
    shown = capsys.readouterr().out
    assert (
        "columns a b c d, transform Pipeline(steps=[('simpleimputer', SimpleImputer(strategy='median'))"
        in shown
    )


def test_path(people, folder):
    options = shlex.split("--exclude name --sep ; --decimal , --missing mean --categories auto")
    options += ["--scale", "standard"]
    pytest.importorskip("matplotlib")
    assert main(["path", "people.csv", "--max-iter", "2", "-q", *options]) == 0
    summary = json.loads((folder / "coterie-path/summary.json").read_text())
    assert summary["input"]["columns"] == 6


def test_dialect_and_excluded_columns_in_predict(people, folder, X):
    assert main(["fit", "people.csv", "-k", "3", "--columns", "a,c", "-q"]) == 0
    people.to_csv("odd.csv", index=False, sep="^")
    assert (
        main(["predict", "coterie-out/model.coterie", "odd.csv", "--sep", "^", "--decimal", ".", "-q"]) == 0
    )
    frame = pandas.DataFrame(X, columns=list("abcd"))
    frame.to_csv("abcd.csv", index=False)
    assert main(["fit", "abcd.csv", "-k", "3", "-q", "--force"]) == 0
    frame.assign(e=1.0).to_csv("more.csv", index=False)
    assert main(["predict", "coterie-out/model.coterie", "more.csv", "--exclude", "e", "-q"]) == 0
    assert "e" in parquet.read_table("labels.parquet").column_names


def test_encoded_columns_can_be_kept(people):
    options = ["--id", "name", "--keep", "city", "--missing", "mean", "--categories", "city"]
    assert main(["fit", "people.csv", "-k", "3", "-q", *options]) == 0
    assert coterie.load("coterie-out/model.coterie").n_features_in_ == 6
    assert parquet.read_table("coterie-out/labels.parquet").column_names[:2] == ["name", "city"]


def test_wide_scales_are_named_with_the_switch(people, capsys):
    options = ["--exclude", "name,city", "--missing", "mean"]
    assert main(["fit", "people.csv", "-k", "3", *options]) == 0
    assert "The columns 'd' and 'a' differ in scale by more than 100" in (told := capsys.readouterr().err)
    assert "--scale standard" in told
    assert main(["fit", "people.csv", "-k", "3", "--scale", "robust", *options]) == 0
    assert "warning" not in capsys.readouterr().err


def test_predict_by_id_needs_a_table(rows, capsys):
    assert main(["fit", rows, "-k", "3", "-q"]) == 0
    message = failed(capsys, 2, "predict", "coterie-out/model.coterie", rows, "--id", "name")
    assert "rows.npy is not a table" in message
