"""Files and tables that cannot be clustered: what is written, the command, and what its one line must say."""

import numpy as np
import pandas as pd
import scipy.sparse as sp

__all__ = ["WRONG_INPUTS"]

RNG = np.random.default_rng(0)
GOOD = RNG.normal(size=(60, 3))

WRONG_INPUTS = {}


def wrong(command, *said, code=1):
    """Note a bad file; the function writes it into the folder and may say more of the command's options."""

    def note(write):
        WRONG_INPUTS[write.__name__.replace("_", " ")] = (write, command, said, code)
        return write

    return note


def frame(**columns):
    return pd.DataFrame(GOOD, columns=list("abc")).assign(**columns)


def cut(path, share):
    whole = path.read_bytes()
    path.write_bytes(whole[: int(len(whole) * share)])


# No such thing, or another thing than its name says


@wrong("fit 'gone-*.npy' -k 2", "gone-*.npy")
def no_match_of_a_pattern(folder):
    pass


@wrong("fit empty -k 2", "empty", "Known extensions")
def a_folder_without_files(folder):
    (folder / "empty").mkdir()


@wrong("fit mixed -k 2", "mixed", "one format")
def a_folder_of_several_formats(folder):
    (folder / "mixed").mkdir()
    np.save(folder / "mixed/a.npy", GOOD)
    frame().to_csv(folder / "mixed/b.csv", index=False)


@wrong(
    "fit names.csv -k 2 --columns a", "2 columns are named 'a'. Rename them, or choose columns by position"
)
def columns_of_one_name(folder):
    (folder / "names.csv").write_text("a,b,a\n1,2,3\n4,5,6\n")


@wrong("fit shards -k 2", "shards: Some files lack the columns c.", "--columns")
def shards_of_other_columns(folder):
    (folder / "shards").mkdir()
    frame().to_csv(folder / "shards/0.csv", index=False)
    frame()[["a", "b"]].to_csv(folder / "shards/1.csv", index=False)


@wrong("fit notes.txt -k 2", "notes.txt", "Known extensions")
def an_unknown_extension(folder):
    (folder / "notes.txt").write_text("1 2\n3 4\n")


@wrong("fit t.npy -k 2", "t.npy", "npy")
def noise_named_npy(folder):
    (folder / "t.npy").write_bytes(b"this is no array")


@wrong("fit t.parquet -k 2", "t.parquet", "text")
def csv_named_parquet(folder):
    frame().to_csv(folder / "t.parquet", index=False)


@wrong("fit t.csv -k 2", "t.csv", "UTF-8")
def text_in_another_encoding(folder):
    (folder / "t.csv").write_bytes("größe,länge\n1,2\n3,4\n5,6\n".encode("latin-1"))


@wrong("fit t.coterie -k 2", "t.coterie", "predict")
def a_model_in_the_place_of_rows(folder):
    from coterie import KMeans

    KMeans(2, random_state=0).fit(GOOD).save(folder / "t.coterie")


# Empty, or cut short


@wrong("fit t.csv -k 2", "t.csv", "empty")
def an_empty_text_file(folder):
    (folder / "t.csv").write_text("")


@wrong("fit t.csv -k 2", "t.csv", "0 sample")
def a_header_alone(folder):
    (folder / "t.csv").write_text("a,b,c\n")


@wrong("fit t.npy -k 2", "t.npy", "truncated")
def an_array_cut_in_its_rows(folder):
    np.save(folder / "t.npy", GOOD)
    cut(folder / "t.npy", 0.7)


@wrong("fit t.npz -k 2", "t.npz")
def an_archive_cut(folder):
    np.savez(folder / "t.npz", X=GOOD)
    cut(folder / "t.npz", 0.7)


@wrong("fit t.parquet -k 2", "t.parquet")
def a_parquet_file_cut(folder):
    frame().to_parquet(folder / "t.parquet")
    cut(folder / "t.parquet", 0.7)


@wrong("fit t.csv -k 2", "t.csv", "line 61 has 2 fields, but the first has 3")
def a_text_file_cut_in_a_row(folder):
    text = frame().round(3).to_csv(index=False).rstrip().rsplit(",", 1)[0]
    (folder / "t.csv").write_text(text)


# Columns that are no numbers


@wrong("fit t.csv -k 2", "t.csv", "Column 'b'", "leave the column out: --exclude b.")
def a_text_among_numbers(folder):
    table = frame()
    table["b"] = table["b"].astype(object)
    table.loc[17, "b"] = "n.v."
    table.to_csv(folder / "t.csv", index=False)


@wrong("fit t.npz -k 2", "t.npz", "::")
def several_arrays(folder):
    np.savez(folder / "t.npz", P=GOOD, Q=GOOD)


# Rows and vectors that do not fit


@wrong("fit t.csv -k 2", "t.csv", "line 4 has 2 fields, but the first has 3: '7,8'", "--sep")
def ragged_rows(folder):
    (folder / "t.csv").write_text("a,b,c\n1,2,3\n4,5,6\n7,8\n1,2,3\n")


@wrong("fit t.parquet -k 2", "t.parquet", "'v'", "row: 7", "Leave such rows out")
def ragged_vectors(folder):
    pd.DataFrame({"v": [[1.0, 2.0]] * 7 + [[1.0]] + [[1.0, 2.0]] * 9}).to_parquet(folder / "t.parquet")


# Missing and strange numbers


@wrong("fit t.csv -k 2", "t.csv", "row: 5", "'b' in 1", "--missing median")
def a_missing_number(folder):
    table = frame()
    table.loc[5, "b"] = np.nan
    table.to_csv(folder / "t.csv", index=False)


@wrong("fit t.npy -k 2", "t.npy", "NaN", "row: 5", "--missing")
def nan_in_an_array(folder):
    X = GOOD.copy()
    X[5, 1] = np.nan
    np.save(folder / "t.npy", X)


@wrong("fit t.npy -k 2 --metric cosine", "t.npy", "zeros", "row: 5", "--zero-rows ignore")
def a_row_of_zeros_by_angle(folder):
    X = GOOD.copy()
    X[5] = 0
    np.save(folder / "t.npy", X)


# Words of the command that the table does not know


@wrong("fit t.csv -k 2 --columns a,size", "t.csv", "'size'", "'a', 'b', 'c'")
def an_unknown_column(folder):
    frame().to_csv(folder / "t.csv", index=False)


@wrong("fit t.csv -k 2 --exclude 'a:c'", "t.csv", "no column")
def all_columns_excluded(folder):
    frame().to_csv(folder / "t.csv", index=False)


@wrong("fit t.svm -k 2 --scale standard", "t.svm", "sparse")
def sparse_rows_scaled(folder):
    (folder / "t.svm").write_text("1 1:2.5 3:1\n0 2:1\n1 1:1\n")


# Other rows for a model


def fitted(folder, options=""):
    from coterie.cli import main

    frame(place=np.resize(["x", "y"], 60)).to_csv(folder / "fit.csv", index=False)
    assert main(["fit", "fit.csv", "-k", "2", "-q", "--out", "m", *options.split()]) == 0


@wrong("predict m/model.coterie t.npy", "t.npy", "2 columns", "3")
def an_array_of_fewer_columns(folder):
    fitted(folder, "--exclude place")
    np.save(folder / "t.npy", GOOD[:, :2])


@wrong("predict m/model.coterie t.csv", "t.csv", "'place'", "'z'", "row: 3")
def a_category_that_is_new(folder):
    fitted(folder, "--categories place")
    frame(place=["x", "x", "y", "z"] + ["x"] * 56).to_csv(folder / "t.csv", index=False)


@wrong("predict m/model.coterie t.csv", "m/model.coterie", "not a coterie model")
def a_model_cut_short(folder):
    fitted(folder, "--exclude place")
    cut(folder / "m/model.coterie", 0.6)
    frame().to_csv(folder / "t.csv", index=False)


# Files beside the rows


@wrong(
    "fit t.npy --gamma 1 --graph g.npz",
    "g.npz must have a row and a column for each of the 60 rows",
    "(59, 59)",
)
def a_graph_of_other_rows(folder):
    np.save(folder / "t.npy", GOOD)
    sp.save_npz(folder / "g.npz", sp.eye_array(59, format="csr"))


@wrong("fit t.npy -k 2 --init c.npy", "NaN")
def centers_that_are_nan(folder):
    np.save(folder / "t.npy", GOOD)
    np.save(folder / "c.npy", np.full((2, 3), np.nan))


OVERFLOW = "t.npy: The input is too large for float32: squared distances overflow. First bad row: 5."


@wrong("compare t.npy -k 2", OVERFLOW)
def a_comparison_of_rows_that_overflow(folder):
    rows = np.zeros((60, 3), dtype=np.float32)
    rows[5, 1], rows[6, 1] = 3e38, -3e38
    np.save(folder / "t.npy", rows)


@wrong("compare t.npy -k 2", OVERFLOW)
def a_comparison_on_rows_that_overflow(folder):
    a_comparison_of_rows_that_overflow(folder)
