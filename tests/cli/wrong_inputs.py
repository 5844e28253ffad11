"""Files and tables that cannot be clustered: what is written, the command, and what its one line must say."""

import gzip
from datetime import date

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import feather, parquet

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


@wrong("fit gone.csv -k 2", "gone.csv")
def no_such_file(folder):
    pass


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


@wrong("fit shards -k 2", "shards/1.csv", "2")
def shards_of_other_columns(folder):
    (folder / "shards").mkdir()
    frame().to_csv(folder / "shards/0.csv", index=False)
    frame()[["a", "b"]].to_csv(folder / "shards/1.csv", index=False)


@wrong("fit notes.txt -k 2", "notes.txt", "Known extensions")
def an_unknown_extension(folder):
    (folder / "notes.txt").write_text("1 2\n3 4\n")


@wrong("fit bare -k 2", "bare", "Known extensions")
def no_extension(folder):
    (folder / "bare").write_text("1,2\n3,4\n")


@wrong("fit t.npy -k 2", "t.npy", "npy")
def noise_named_npy(folder):
    (folder / "t.npy").write_bytes(b"this is no array")


@wrong("fit t.npz -k 2", "t.npz")
def noise_named_npz(folder):
    (folder / "t.npz").write_bytes(b"this is no archive")


@wrong("fit t.parquet -k 2", "t.parquet", "text")
def csv_named_parquet(folder):
    frame().to_csv(folder / "t.parquet", index=False)


@wrong("fit t.feather -k 2", "t.feather")
def noise_named_feather(folder):
    (folder / "t.feather").write_bytes(bytes(range(200)))


@wrong("fit t.h5 -k 2", "t.h5")
def noise_named_h5(folder):
    (folder / "t.h5").write_bytes(b"this is no HDF5")


@wrong("fit t.csv -k 2", "t.csv", "Parquet", ".parquet")
def parquet_named_csv(folder):
    frame().to_parquet(folder / "t.csv")


@wrong("fit t.csv -k 2", "t.csv", "gzip", "unpack")
def gz_named_csv(folder):
    (folder / "t.csv").write_bytes(gzip.compress(b"a,b\n1,2\n3,4\n"))


@wrong("fit t.csv -k 2", "t.csv", "UTF-8")
def text_in_another_encoding(folder):
    (folder / "t.csv").write_bytes("größe,länge\n1,2\n3,4\n5,6\n".encode("latin-1"))


@wrong("fit t.csv -k 2", "t.csv", "UTF-8")
def another_encoding_far_below(folder):
    text = "a,b\n" + "1,2\n" * 100_000 + "ö,2\n"
    (folder / "t.csv").write_bytes(text.encode("latin-1"))


@wrong("fit t.pkl -k 2", "t.pkl", "Known extensions")
def a_pickle(folder):
    pd.to_pickle(frame(), folder / "t.pkl")


@wrong("predict t.npy t.npy", "t.npy", "model")
def rows_in_the_place_of_a_model(folder):
    np.save(folder / "t.npy", GOOD)


@wrong("fit t.coterie -k 2", "t.coterie", "predict")
def a_model_in_the_place_of_rows(folder):
    from coterie import KMeans

    KMeans(2, random_state=0).fit(GOOD).save(folder / "t.coterie")


# Empty, or cut short


@wrong("fit t.csv -k 2", "t.csv", "empty")
def an_empty_text_file(folder):
    (folder / "t.csv").write_text("")


@wrong("fit t.npy -k 2", "t.npy")
def an_empty_array_file(folder):
    (folder / "t.npy").write_bytes(b"")


@wrong("fit t.parquet -k 2", "t.parquet")
def an_empty_parquet_file(folder):
    (folder / "t.parquet").write_bytes(b"")


@wrong("fit t.csv -k 2", "t.csv", "0 sample")
def a_header_alone(folder):
    (folder / "t.csv").write_text("a,b,c\n")


@wrong("fit t.parquet -k 2", "t.parquet", "0 sample")
def a_table_without_rows(folder):
    frame()[:0].to_parquet(folder / "t.parquet")


@wrong("fit t.csv -k 2", "t.csv", "empty")
def blank_lines_alone(folder):
    (folder / "t.csv").write_text("\n\n\n")


@wrong("fit t.npy -k 2", "t.npy", "truncated")
def an_array_cut_in_its_rows(folder):
    np.save(folder / "t.npy", GOOD)
    cut(folder / "t.npy", 0.7)


@wrong("fit t.npy -k 2", "t.npy")
def an_array_cut_in_its_header(folder):
    np.save(folder / "t.npy", GOOD)
    cut(folder / "t.npy", 0.03)


@wrong("fit t.npz -k 2", "t.npz")
def an_archive_cut(folder):
    np.savez(folder / "t.npz", X=GOOD)
    cut(folder / "t.npz", 0.7)


@wrong("fit t.parquet -k 2", "t.parquet")
def a_parquet_file_cut(folder):
    frame().to_parquet(folder / "t.parquet")
    cut(folder / "t.parquet", 0.7)


@wrong("fit t.feather -k 2", "t.feather")
def a_feather_file_cut(folder):
    feather.write_feather(frame(), folder / "t.feather")
    cut(folder / "t.feather", 0.7)


@wrong("fit t.csv -k 2", "t.csv", "line 61 has 2 fields, but the first has 3")
def a_text_file_cut_in_a_row(folder):
    text = frame().round(3).to_csv(index=False).rstrip().rsplit(",", 1)[0]
    (folder / "t.csv").write_text(text)


# Columns that are no numbers


@wrong("fit t.csv -k 2", "t.csv", "'b' (string)", "--exclude", "--one-hot")
def a_text_among_numbers(folder):
    table = frame()
    table["b"] = table["b"].astype(object)
    table.loc[17, "b"] = "n.v."
    table.to_csv(folder / "t.csv", index=False)


@wrong("fit t.csv -k 2", "t.csv", "'a' holds 'n.v.' in line 140002", "--exclude")
def a_text_far_below(folder):
    text = "a,b\n" + f"1.{'5' * 60},2\n" * 140_000 + "n.v.,2\n"
    (folder / "t.csv").write_text(text)


@wrong("fit t.csv -k 2", "t.csv", "not numbers", "--one-hot")
def texts_alone(folder):
    pd.DataFrame({"a": ["x", "y", "z"], "b": ["u", "v", "w"]}).to_csv(folder / "t.csv", index=False)


@wrong("fit t.csv -k 2", "t.csv", "'day'", "--exclude")
def a_column_of_dates(folder):
    frame(day=date(2024, 1, 5)).to_csv(folder / "t.csv", index=False)


@wrong("fit t.parquet -k 2", "t.parquet", "'day'", "--exclude")
def a_column_of_timestamps(folder):
    frame(day=pd.Timestamp("2024-01-05")).to_parquet(folder / "t.parquet")


@wrong("fit t.parquet -k 2", "t.parquet", "'s' (struct", "--exclude")
def a_column_of_structs(folder):
    frame(s=[{"x": 1, "y": 2}] * 60).to_parquet(folder / "t.parquet")


@wrong("fit t.parquet -k 2", "t.parquet", "'s' (list<", "--exclude")
def lists_of_lists(folder):
    frame(s=[[[1.0], [2.0]]] * 60).to_parquet(folder / "t.parquet")


@wrong("fit t.parquet -k 2", "t.parquet", "'s' (list<", "--exclude")
def lists_of_texts(folder):
    frame(s=[["x", "y"]] * 60).to_parquet(folder / "t.parquet")


@wrong("fit t.parquet -k 2", "t.parquet", "'s' (binary)", "--exclude")
def bytes_in_cells(folder):
    frame(s=[b"\x00\x01"] * 60).to_parquet(folder / "t.parquet")


@wrong("fit t.npy -k 2", "t.npy", "Complex", "X.real")
def complex_numbers(folder):
    np.save(folder / "t.npy", GOOD + 1j)


@wrong("fit t.npy -k 2", "t.npy", "object", "astype")
def an_array_of_objects(folder):
    np.save(folder / "t.npy", GOOD.astype(object), allow_pickle=True)


@wrong("fit t.npy -k 2", "t.npy", "numbers")
def an_array_of_texts(folder):
    np.save(folder / "t.npy", np.array([["a", "b"], ["c", "d"]]))


@wrong("fit t.npy -k 2", "t.npy", "datetime64")
def an_array_of_dates(folder):
    np.save(folder / "t.npy", np.array([["2024-01-01"], ["2024-01-02"]], dtype="datetime64[D]"))


@wrong("fit t.npy -k 2", "t.npy", "structured")
def a_structured_array(folder):
    np.save(folder / "t.npy", np.zeros(4, dtype=[("größe", float), ("b", float)]))


@wrong("fit t.npy -k 2", "t.npy", "structured")
def another_structured_array(folder):
    np.save(folder / "t.npy", np.zeros(4, dtype=[("a", float), ("b", float)]))


@wrong("fit t.npy -k 2", "t.npy", "2D")
def one_dimension(folder):
    np.save(folder / "t.npy", GOOD[0])


@wrong("fit t.npy -k 2", "t.npy", "dim 3", "reshape")
def three_dimensions(folder):
    np.save(folder / "t.npy", GOOD[None])


@wrong("fit t.npz -k 2", "t.npz", "::")
def several_arrays(folder):
    np.savez(folder / "t.npz", P=GOOD, Q=GOOD)


@wrong("fit t.npz::Z -k 2", "t.npz", "'P', 'Q'")
def no_such_array(folder):
    np.savez(folder / "t.npz", P=GOOD, Q=GOOD)


# Rows and vectors that do not fit


@wrong("fit t.csv -k 2", "t.csv", "line 4 has 2 fields, but the first has 3: '7,8'", "--sep")
def ragged_rows(folder):
    (folder / "t.csv").write_text("a,b,c\n1,2,3\n4,5,6\n7,8\n1,2,3\n")


@wrong("fit t.csv -k 2", "t.csv", "line 3 has 1 field", "--sep")
def mixed_separators(folder):
    (folder / "t.csv").write_text("a,b,c\n1,2,3\n4;5;6\n7,8,9\n1,2,3\n")


@wrong("fit t.parquet -k 2", "t.parquet", "'v'", "row: 7", "Leave such rows out")
def ragged_vectors(folder):
    pd.DataFrame({"v": [[1.0, 2.0]] * 7 + [[1.0]] + [[1.0, 2.0]] * 9}).to_parquet(folder / "t.parquet")


@wrong("fit t.parquet -k 2", "t.parquet", "'v'", "row: 7", "Leave such rows out")
def null_vectors(folder):
    pd.DataFrame({"v": [[1.0, 2.0]] * 7 + [None] + [[1.0, 2.0]] * 9}).to_parquet(folder / "t.parquet")


@wrong("fit t.parquet -k 2", "t.parquet", "'v'", "row: 0")
def vectors_of_no_numbers(folder):
    table = pa.table({"v": pa.array([[]] * 9, pa.list_(pa.float32()))})
    parquet.write_table(table, folder / "t.parquet")


@wrong("fit t.parquet -k 2", "t.parquet", "NaN", "row: 7")
def a_missing_number_in_a_vector(folder):
    pd.DataFrame({"v": [[1.0, 2.0]] * 7 + [[1.0, None]] + [[1.0, 2.0]] * 9}).to_parquet(folder / "t.parquet")


@wrong("fit t.parquet -k 2", "t.parquet", "several columns of vectors: 'v'", "--columns v")
def two_columns_of_vectors(folder):
    pd.DataFrame({"v": [[1.0, 2.0]] * 9, "w": [[1.0]] * 9}).to_parquet(folder / "t.parquet")


# Missing and strange numbers


@wrong("fit t.csv -k 2", "t.csv", "row: 5", "'b' in 1", "--impute median")
def a_missing_number(folder):
    table = frame()
    table.loc[5, "b"] = np.nan
    table.to_csv(folder / "t.csv", index=False)


@wrong("fit t.npy -k 2", "t.npy", "NaN", "row: 5", "--impute")
def nan_in_an_array(folder):
    X = GOOD.copy()
    X[5, 1] = np.nan
    np.save(folder / "t.npy", X)


@wrong("fit t.npy -k 2", "t.npy", "infinity", "row: 5", "Leave such rows out")
def an_infinity_in_an_array(folder):
    X = GOOD.copy()
    X[5, 1] = np.inf
    np.save(folder / "t.npy", X)


@wrong("fit t.csv -k 2 --impute mean --scale standard", "t.csv", "infinity", "row: 5", "Leave such rows out")
def an_infinity_in_a_table(folder):
    table = frame()
    table.loc[5, "b"] = np.inf
    table.to_csv(folder / "t.csv", index=False)


@wrong("fit t.csv -k 2 --impute median", "t.csv", "'d'", "--exclude")
def a_column_without_values(folder):
    frame(d=np.nan).to_csv(folder / "t.csv", index=False)


@wrong("fit t.csv -k 2", "t.csv", "'d' in 60", "--exclude")
def a_column_without_values_not_imputed(folder):
    frame(d=np.nan).to_csv(folder / "t.csv", index=False)


@wrong("fit t.npy -k 2 --metric cosine", "t.npy", "zeros", "row: 5", "--zero-rows ignore")
def a_row_of_zeros_by_angle(folder):
    X = GOOD.copy()
    X[5] = 0
    np.save(folder / "t.npy", X)


@wrong("fit t.npy -k 2 --impute median --scale robust", "t.npy", "no value at all", "1")
def an_array_column_without_values(folder):
    X = GOOD.copy()
    X[:, 1] = np.nan
    np.save(folder / "t.npy", X)


# Words of the command that the table does not know


@wrong("fit t.csv -k 61", "t.csv", "60 rows", code=2)
def more_clusters_than_rows(folder):
    frame().to_csv(folder / "t.csv", index=False)


@wrong("fit t.csv -k 2", "t.csv", "1 rows", code=2)
def a_single_row(folder):
    frame()[:1].to_csv(folder / "t.csv", index=False)


@wrong("fit t.csv -k 2 --columns a,size", "t.csv", "'size'", "'a', 'b', 'c'")
def an_unknown_column(folder):
    frame().to_csv(folder / "t.csv", index=False)


@wrong("fit t.csv -k 2 --exclude size", "t.csv", "'size'", "'a', 'b', 'c'")
def an_unknown_column_to_exclude(folder):
    frame().to_csv(folder / "t.csv", index=False)


@wrong("fit t.csv -k 2 --columns 7", "t.csv", "7", "'a', 'b', 'c'")
def a_position_too_large(folder):
    frame().to_csv(folder / "t.csv", index=False)


@wrong("fit t.csv -k 2 --exclude 'a:c'", "t.csv", "no column")
def all_columns_excluded(folder):
    frame().to_csv(folder / "t.csv", index=False)


@wrong("fit t.csv -k 2 --columns a,place", "t.csv", "'place'", "--one-hot")
def a_text_column_asked_for(folder):
    frame(place="x").to_csv(folder / "t.csv", index=False)


@wrong("fit t.csv -k 2 --one-hot town", "t.csv", "'town'", "'a', 'b', 'c'")
def unknown_categories_column(folder):
    frame().to_csv(folder / "t.csv", index=False)


@wrong("fit t.csv -k 2 --one-hot auto", "t.csv", "'name'", "--exclude", "--category-limit")
def too_many_categories(folder):
    pd.DataFrame({"a": np.arange(200.0), "name": [f"n{i}" for i in range(200)]}).to_csv(
        folder / "t.csv", index=False
    )


@wrong("fit t.npy -k 2 --one-hot 1", "t.npy", "one_hot has no meaning")
def categories_of_an_array(folder):
    np.save(folder / "t.npy", GOOD)


@wrong("fit t.svm -k 2 --scale standard", "t.svm", "sparse")
def sparse_rows_scaled(folder):
    (folder / "t.svm").write_text("1 1:2.5 3:1\n0 2:1\n1 1:1\n")


@wrong("fit t.csv -k 2 --id who", "t.csv", "'who'")
def an_unknown_id(folder):
    frame().to_csv(folder / "t.csv", index=False)


@wrong("fit t.npy -k 2 --id who", "t.npy", "--id", code=2)
def an_id_of_an_array(folder):
    np.save(folder / "t.npy", GOOD)


@wrong("fit t.csv -k 2 --sep ab", "t.csv", "sep must be one character")
def a_separator_of_two_characters(folder):
    frame().to_csv(folder / "t.csv", index=False)


@wrong("fit t.parquet -k 2", "t.parquet", "'a' is there more than once", "Rename")
def columns_of_the_same_name(folder):
    table = pa.table([pa.array([1.0, 2.0]), pa.array([3.0, 4.0])], names=["a", "a"])
    parquet.write_table(table, folder / "t.parquet")


# Other rows for a model


def fitted(folder, options=""):
    from coterie.cli import main

    frame(place=np.resize(["x", "y"], 60)).to_csv(folder / "fit.csv", index=False)
    assert main(["fit", "fit.csv", "-k", "2", "-q", "--out", "m", *options.split()]) == 0


@wrong("predict m/model.coterie t.csv", "t.csv", "no column 'c'", "'a', 'b'")
def a_column_less_than_the_fit(folder):
    fitted(folder, "--exclude place")
    frame()[["a", "b"]].to_csv(folder / "t.csv", index=False)


@wrong("predict m/model.coterie t.csv", "t.csv", "no column 'c'")
def a_chosen_column_less(folder):
    fitted(folder, "--columns a,c")
    frame()[["a", "b"]].to_csv(folder / "t.csv", index=False)


@wrong("predict m/model.coterie t.npy", "t.npy", "2 columns", "3")
def an_array_of_fewer_columns(folder):
    fitted(folder, "--exclude place")
    np.save(folder / "t.npy", GOOD[:, :2])


@wrong("predict m/model.coterie t.csv", "t.csv", "'place'", "'z'", "row: 3")
def a_category_that_is_new(folder):
    fitted(folder, "--one-hot place")
    frame(place=["x", "x", "y", "z"] + ["x"] * 56).to_csv(folder / "t.csv", index=False)


@wrong("predict m/model.coterie t.csv", "t.csv", "'place'")
def a_column_of_categories_less(folder):
    fitted(folder, "--one-hot place")
    frame().to_csv(folder / "t.csv", index=False)


@wrong("predict m/model.coterie t.csv", "t.csv", "row: 5", "'b' in 1")
def a_number_that_is_missing_in_predict(folder):
    fitted(folder, "--exclude place --scale standard")
    a_missing_number(folder)


@wrong("predict m/model.coterie t.csv", "m/model.coterie", "not a coterie model")
def a_model_cut_short(folder):
    fitted(folder, "--exclude place")
    cut(folder / "m/model.coterie", 0.6)
    frame().to_csv(folder / "t.csv", index=False)
