"""`--labels`: files of known classes, right and wrong ones."""

import numpy as np
import pytest

import coterie
from coterie.cli import main
from coterie.cli.inputs import read_known_labels
from coterie.rows import as_rows
from tests.cli.running import failed

SOME = np.where(np.arange(300) % 3, -1, np.arange(300) // 100)

ARRAYS = {
    "names of classes": (np.resize(["cat", "dog"], 300), "not <U3. Number the names of classes"),
    "complex numbers": (SOME + 0j, "not complex128"),
    "dates": (SOME.astype("M8[D]"), "whole numbers"),
    "records": (np.zeros(300, dtype=[("a", int)]), "whole numbers"),
    "fractions": (np.where(np.arange(300) == 7, 0.5, SOME), "holds 0.5 for the row 7, counted from 0"),
    "nan": (np.where(np.arange(300) == 7, np.nan, SOME), "holds nan for the row 7"),
    "infinity": (np.where(np.arange(300) == 7, np.inf, SOME), "holds inf for the row 7"),
    "too large": (np.where(np.arange(300) == 7, 3, SOME), "holds 3 for the row 7"),
    "too large for 64 bits": (np.full(300, 2**64 - 1, dtype=np.uint64), "holds 18446744073709551615 for the row 0"),
    "too small": (np.where(np.arange(300) == 7, -2, SOME), "holds -2 for the row 7"),
    "too few": (SOME[:299], "300 labels, one for each row, got shape (299,)"),
    "too many": (np.append(SOME, 0), "300 labels, one for each row, got shape (301,)"),
    "none": (SOME[:0], "300 labels, one for each row, got shape (0,)"),
    "two columns": (np.stack([SOME, SOME], axis=1), "got shape (300, 2)"),
    "a single number": (np.array(3), "got shape ()"),
    "no class": (np.full(300, -1), "has no class of any row"),
    "a class for every row": (np.arange(300) % 3, "a class for every row: none is left to cluster"),
    "one-hot": (np.eye(3)[SOME], "got shape (300, 3)"),
}  # fmt: skip

TEXTS = {
    "names of classes": ("cat\n" * 300, "one integer on each line"),
    "a header": ("class\n" + "0\n" * 300, "one integer on each line"),
    "two columns": ("0,1\n" * 300, "got shape (300, 2)"),
    "ragged lines": ("0,1\n0\n" * 150, "one integer on each line"),
    "fractions": ("0\n" * 9 + "0.5\n" * 291, "holds 0.5 for the row 9"),
    "no line": ("", "got shape (0,)"),
    "too few": ("0\n" * 299, "got shape (299,)"),
    "complex numbers": ("1+2j\n" * 300, "one integer on each line"),
}


@pytest.mark.parametrize("kind", ARRAYS)
def test_wrong_arrays(folder, rows, capsys, kind):
    labels, said = ARRAYS[kind]
    np.save("known.npy", labels)
    assert failed(capsys, 1, "fit", rows, "-k", "3", "--labels", "known.npy").startswith("known.npy ")
    assert said in failed(capsys, 1, "fit", rows, "-k", "3", "--labels", "known.npy")
    assert not (folder / "coterie-out" / "model.coterie").exists()


@pytest.mark.parametrize("kind", TEXTS)
def test_wrong_texts(folder, rows, capsys, recwarn, kind):
    content, said = TEXTS[kind]
    (folder / "known.csv").write_text(content)
    message = failed(capsys, 1, "fit", rows, "-k", "3", "--labels", "known.csv")
    assert message.startswith("known.csv ")
    assert said in message
    assert not recwarn.list


def test_files_that_are_no_labels(folder, rows, capsys):
    np.savez("several.npz", a=SOME, b=SOME)
    archive = (folder / "several.npz").read_bytes()
    np.save("objects.npy", SOME.astype(object), allow_pickle=True)
    (folder / "nested").mkdir()
    wrong = {
        "known.npy": (archive, "archive of several arrays"),
        "cut.npy": (archive[: len(archive) // 2], "damaged"),
        "noise.npy": (b"this is no array", "damaged"),
        "empty.npy": (b"", "damaged"),
        "known.npz": (archive, "one integer on each line"),
        "zeros.csv": (bytes(300), "one integer on each line"),
    }
    for name, (content, said) in wrong.items():
        (folder / name).write_bytes(content)
        assert said in failed(capsys, 1, "fit", rows, "-k", "3", "--labels", name), name
    assert "damaged" in failed(capsys, 1, "fit", rows, "-k", "3", "--labels", "objects.npy")
    for name in ("gone.npy", "gone.csv", "nested"):
        assert name in failed(capsys, 1, "fit", rows, "-k", "3", "--labels", name)


def test_labels_are_read_from_each_format(folder):
    expected, three = np.array([0, -1, 2], dtype=np.int32), as_rows(np.zeros((3, 1)))
    for number, labels in enumerate([expected, expected.astype(float), expected.astype(np.int8)]):
        np.save(f"{number}.npy", labels)
        np.testing.assert_array_equal(read_known_labels(f"{number}.npy", three, 3)[0], expected)
    np.save("yes.npy", np.array([True, False]))
    np.testing.assert_array_equal(read_known_labels("yes.npy", as_rows(np.zeros((2, 1))), 2)[0], [1, 0])
    for text in ("0\n-1\n2\n", "0\n-1\n2", "# classes\n0\n-1.0\n2\n"):
        (folder / "known.csv").write_text(text)
        np.testing.assert_array_equal(read_known_labels("known.csv", three, 3)[0], expected)


def test_a_column_of_the_table(folder, X, capsys):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    frame = pandas.DataFrame(X, columns=list("abcd"))
    names = np.array(["red", "green", "blue"], dtype=object)[np.arange(300) // 100]
    numbers = 2 - np.arange(300) // 100  # in the order of the names
    some = np.arange(300) % 25 == 0
    frame["names"], frame["all"] = np.where(some, names, None), names
    frame["numbers"], frame["gaps"] = np.where(some, numbers, -1), np.where(some, numbers, np.nan)
    frame.to_csv("people.csv", index=False)
    line = ["people.csv", "-k", "3", "--exclude", "numbers,gaps", "--force", "--labels"]
    found = []
    for name, exclude in (("names", "numbers,gaps"), ("numbers", "gaps"), ("gaps", "numbers")):
        line[4] = exclude
        assert main(["fit", *line, name]) == 0
        said = capsys.readouterr().out
        assert "Used: 4 columns (a, b, c, d)." in said
        assert ("clusters of the known classes: 0 blue, 1 green, 2 red" in said) == (name == "names")
        found.append(coterie.load("coterie-out/model.coterie").labels_)
        assert main(["verify", "coterie-out", "-q"]) == 0
        assert main(["compare", *line, name, "--methods", "k-means,gmm", "-q"]) == 0
    np.testing.assert_array_equal(found[0][some], numbers[some])
    assert all(np.array_equal(labels, found[0]) for labels in found)
    capsys.readouterr()
    assert failed(capsys, 2, "fit", *line, "nobody").startswith(
        "--labels must be a file or a column of the table, got 'nobody'"
    )
    assert "must hold classes from 0 to 2" in failed(capsys, 1, "fit", *line, "a")
    assert "all has a class for every row" in failed(capsys, 1, "fit", *line, "all")
    line[2] = "2"
    assert failed(capsys, 1, "fit", *line, "names") == "names has 3 classes, more than 2 clusters."


def test_names_among_unknown_classes_are_refused(X):
    model = coterie.TotalVariationClustering(3, n_init=1, max_iter=20, random_state=0)
    names = np.array(["a", "b", "c"], dtype=object)[np.arange(300) // 100]
    for unknown in (-1, "-1", None, np.nan):
        y = np.where(np.arange(300) % 3, unknown, names)
        with pytest.raises(ValueError, match="whole numbers, -1 where a class is not known"):
            model.fit(X, y)
    with pytest.raises(ValueError, match="y holds NaN"):
        model.fit(X, np.where(SOME < 0, np.nan, SOME))
    # scikit-learn's tools hand known classes to all estimators.
    np.testing.assert_array_equal(model.fit(X, names).labels_, model.fit(X).labels_)


def test_a_threshold_that_is_no_number(rows, capsys):
    assert main(["fit", rows, "-k", "3", "-q"]) == 0
    model = coterie.load("coterie-out/model.coterie")
    for threshold in ("x", [1], True, float("nan")):
        coterie.save(model, "m.coterie", metadata={"outlier_threshold": threshold})
        assert "m.coterie: outlier_threshold" in failed(capsys, 1, "predict", "m.coterie", rows, "-q")
