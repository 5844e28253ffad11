"""What stands beside the rows and is wrong: models, known labels, folders, and words of the command."""

import io
import json
import zipfile
from functools import partial

import numpy as np
import scipy.sparse as sp

from tests.cli.wrong_inputs import GOOD, cut

__all__ = ["WRONG_COMPANIONS"]

WRONG_COMPANIONS = {}


def note(title, write, command, *said, code=1):
    """Add a case: what is written beside t.npy, the command, what its line must say, the exit code."""
    assert title not in WRONG_COMPANIONS, title
    WRONG_COMPANIONS[title] = (partial(beside_rows, write), command, said, code)


def beside_rows(write, folder):
    np.save(folder / "t.npy", GOOD)
    write(folder)


# Models


def write_model(folder):
    from coterie import KMeans

    KMeans(2, random_state=0, n_init=1).fit(GOOD).save(folder / "m.coterie")


def changed_model(change, folder):
    """Write a model and change the members of its archive."""
    write_model(folder)
    path = folder / "m.coterie"
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def changed_header(members, **changes):
    members["coterie.json"] = json.dumps({**json.loads(members["coterie.json"]), **changes}).encode()


def changed_array(members, shape, change):
    """Change the array of this shape."""
    for name, content in members.items():
        if name.endswith(".npy"):
            array = np.load(io.BytesIO(content), allow_pickle=False)
            if array.shape == shape:
                buffer = io.BytesIO()
                np.save(buffer, change(array))
                members[name] = buffer.getvalue()
                return
    raise AssertionError(f"no array of shape {shape}")


def with_nan(array):
    changed = array.copy()
    changed[0, 0] = np.nan
    return changed


def negative_columns(members):
    schema = json.loads(members["schema.json"])
    text = json.dumps(schema)
    at = text.index('"n_features_in_"')
    members["schema.json"] = (text[:at] + text[at:].replace('"content": "3"', '"content": "-3"', 1)).encode()


CHANGES = {
    "without a header": lambda members: members.pop("coterie.json"),
    "without a schema": lambda members: members.pop("schema.json"),
    "without its arrays": lambda members: [
        members.pop(name) for name in list(members) if name.endswith(".npy")
    ],
    "with a header that is no JSON": lambda members: members.update({"coterie.json": b"{"}),
    "with a header that is a list": lambda members: members.update({"coterie.json": b"[]"}),
    "with a header of noise": lambda members: members.update({"coterie.json": bytes(range(200))}),
    "with a schema that is no JSON": lambda members: members.update({"schema.json": b"{"}),
    "with a schema that is a list": lambda members: members.update({"schema.json": b"[]"}),
    "of the future": partial(changed_header, format=99),
    "of a version that is a word": partial(changed_header, format="new"),
    "of an unknown estimator": partial(changed_header, estimator="Magic"),
    "of an estimator that is a list": partial(changed_header, estimator=["KMeans"]),
    "with metadata that are a number": partial(changed_header, metadata=7),
    "that asks for os.system": lambda members: members.update(
        {
            "schema.json": b'{"__class__": "system", "__module__": "posix", "__loader__": "TypeNode", "__id__": 1}'
        }
    ),
    "with a NaN among its centroids": partial(changed_array, shape=(2, 3), change=with_nan),
    "whose centroids are cut": partial(changed_array, shape=(2, 3), change=lambda array: array[:, :2]),
    "of a negative number of columns": negative_columns,
}

for what, change in CHANGES.items():
    for command in ("predict m.coterie t.npy", "info m.coterie"):
        title = f"a model {what}" + (", described" if command.startswith("info") else "")
        note(title, partial(changed_model, change), command, "m.coterie")


def write_cut_model(share, folder):
    write_model(folder)
    cut(folder / "m.coterie", share)


for share in (0.0, 0.001, 0.3, 0.99):
    note(
        f"a model cut to {share:.1%}", partial(write_cut_model, share), "predict m.coterie t.npy", "m.coterie"
    )
for what, write in {
    "is not there": lambda folder: None,
    "is text": lambda folder: (folder / "m.coterie").write_text("hello"),
    "is an archive of arrays": lambda folder: (
        np.savez(folder / "m.npz", X=GOOD),
        (folder / "m.npz").rename(folder / "m.coterie"),
    ),
    "is a folder": lambda folder: (folder / "m.coterie").mkdir(),
    "links to nothing": lambda folder: (folder / "m.coterie").symlink_to("gone"),
    "links to itself": lambda folder: (folder / "m.coterie").symlink_to("m.coterie"),
}.items():
    for command in ("predict m.coterie t.npy", "info m.coterie"):
        title = f"a model that {what}" + (", described" if command.startswith("info") else "")
        note(title, write, command, "m.coterie")

# Known labels

LABELLED = "fit t.npy -k 2 --method total-variation --labels y."


def save(name, labels, folder):
    np.save(folder / name, labels, allow_pickle=True)


def write_text(name, text, folder):
    (folder / name).write_text(text)


for what, labels in {
    "too few": np.zeros(59, int),
    "too many": np.zeros(61, int),
    "in two dimensions": np.zeros((60, 1), int),
    "a scalar": np.int64(0),
    "too large": np.full(60, 2),
    "too small": np.full(60, -2),
    "halves": np.full(60, 0.5),
    "a NaN": np.full(60, np.nan),
    "infinite": np.full(60, np.inf),
    "texts in .npy": np.array(["a"] * 60),
    "complex": np.zeros(60, complex),
    "objects": np.array([None] * 60),
    "dates": np.zeros(60, "datetime64[D]"),
    "records": np.zeros(60, [("a", int)]),
}.items():
    note(f"labels that are {what}", partial(save, "y.npy", labels), LABELLED + "npy", "y.npy")
for what, text in {
    "texts": "frog\n" * 60,
    "empty": "",
    "in several columns": "0,1\n" * 60,
    "ragged": "0\n" * 59 + "0,1\n",
    "no text": "\0" * 60,
}.items():
    note(f"labels that are {what}", partial(write_text, "y.csv", text), LABELLED + "csv", "y.csv")
for what, write in {
    "truncated": lambda folder: (np.save(folder / "y.npy", np.zeros(60, int)), cut(folder / "y.npy", 0.5)),
    "an archive": lambda folder: (
        np.savez(folder / "y.npz", y=GOOD),
        (folder / "y.npz").rename(folder / "y.npy"),
    ),
    "a sparse matrix": lambda folder: (
        sp.save_npz(folder / "y.npz", sp.csr_array(GOOD)),
        (folder / "y.npz").rename(folder / "y.npy"),
    ),
    "noise": lambda folder: (folder / "y.npy").write_bytes(bytes(range(200))),
    "not there": lambda folder: None,
    "a folder": lambda folder: (folder / "y.npy").mkdir(),
}.items():
    note(f"labels that are {what}", write, LABELLED + "npy", "y.npy")

# Graphs, centres to begin with, and files of options


def save_graph(change, folder):
    graph = sp.lil_array((60, 60))
    graph[0, 1] = graph[1, 0] = 1.0
    change(graph)
    sp.save_npz(folder / "g.npz", graph.tocsr())


def with_weight(weight, graph):
    graph[2, 3] = graph[3, 2] = weight


for what, write, said in (
    ("of other rows", lambda folder: sp.save_npz(folder / "g.npz", sp.csr_array(np.eye(50))), "60 rows"),
    ("not square", lambda folder: sp.save_npz(folder / "g.npz", sp.csr_array(GOOD)), "60 rows"),
    ("noise", lambda folder: (folder / "g.npz").write_bytes(bytes(range(200))), "g.npz"),
    ("not there", lambda folder: None, "g.npz"),
    ("a folder", lambda folder: (folder / "g.npz").mkdir(), "g.npz"),
    ("negative", partial(save_graph, partial(with_weight, -1.0)), "negative"),
    ("NaN", partial(save_graph, partial(with_weight, np.nan)), "NaN"),
    ("of one direction", partial(save_graph, lambda graph: graph.__setitem__((4, 5), 1.0)), "symmetric"),
):
    note(f"a graph that is {what}", write, "fit t.npy --gamma 1 --graph g.npz", said)

for what, centers in {
    "of another width": np.zeros((2, 4)),
    "too many": np.zeros((3, 3)),
    "a vector": np.zeros(6),
    "NaN": np.full((2, 3), np.nan),
    "complex": np.zeros((2, 3), complex),
    "objects": np.array([[None] * 3] * 2),
    "texts": np.array([["a"] * 3] * 2),
}.items():
    write = partial(save, "c.npy", centers)
    note(f"centres to begin with that are {what}", write, "fit t.npy -k 2 --init c.npy", ".npy")
for what, write, name in (
    ("noise", lambda folder: (folder / "c.npy").write_bytes(bytes(range(200))), "c.npy"),
    ("not there", lambda folder: None, "c.npy"),
    ("a folder", lambda folder: (folder / "c.npy").mkdir(), "c.npy"),
    ("a folder without a model", lambda folder: (folder / "c").mkdir(), "c"),
    ("a damaged model", partial(write_cut_model, 0.5), "m.coterie"),
):
    note(f"a start from what is {what}", write, f"fit t.npy -k 2 --init {name}", name)

for what, text, said in (
    ("noise", "\0\1\2", "run.toml is no TOML file"),
    ("of an unknown option", "k = 2\nbatchsize = 9\n", "Did you mean batch_size?"),
    ("of a nested table", "[fit]\nk = 2\n", "has no option 'fit'"),
    ("of another command", 'command = "path"\n', "not of coterie fit"),
    ("of a wrong number", "k = -1\n", "-k"),
    ("of a wrong word", 'k = 2\nscale = "large"\n', "scale"),
):
    note(
        f"a file of options that is {what}",
        partial(write_text, "run.toml", text),
        "fit t.npy --config run.toml",
        said,
        code=2,
    )
note("a file of options that is not there", lambda folder: None, "fit t.npy --config run.toml", "run.toml")
note(
    "a folder without a file of options",
    lambda folder: (folder / "o").mkdir(),
    "fit t.npy --config o",
    "run.toml",
)

# Words of the command that are wrong before any file is read


def nothing(folder):
    pass


for line, said in {
    "fit t.npy -k 2 --columns ,": "--columns",
    "fit t.npy -k 2 --exclude 'a,,b'": "--exclude",
    "fit t.npy -k 2 --one-hot ''": "--one-hot",
    "fit t.npy -k 2 --keep ','": "--keep",
    "fit t.npy -k 2 --outliers lots": "outliers",
    "fit t.npy -k 2 --outliers 101%": "outliers",
    "fit t.npy -k 2 --outliers=-1": "outliers",
    "fit t.npy -k 2 --outliers nan": "outliers",
    "fit t.npy -k 2 --results xml": "xml",
    "fit t.npy -k 2 --scale huge": "huge",
    "fit t.npy -k 2 --impute mode": "mode",
    "fit t.npy -k 2 --handle-unknown maybe": "maybe",
    "fit t.npy -k 2 --format npy": "--format",
    "fit - -k 2": "--format",
    "fit - -k 2 --format zarr": "zarr",
    "fit t.npy -k 99999999999999999999": "-k",
    "fit t.npy -k 1e999": "-k",
    "fit t.npy -k nan": "-k",
    "fit t.npy -k ''": "-k",
    "fit t.npy -k 2 -k 3": "-k",
    "fit t.npy -k 2 --seed 99999999999": "--seed",
    "fit t.npy -k 2 --threads=-1": "n_threads",
    "fit t.npy -k 2 --threads 1e9": "--threads",
    "fit t.npy -k 2 --max-iter=-1": "max_iter",
    "fit t.npy -k 2 --max-time nan": "--max-time",
    "fit t.npy -k 2 --max-time soon": "soon",
    "fit t.npy -k 2 --tol=-inf": "--tol",
    "fit t.npy -k 2 --method gmm --max-iter 0": "max_iter",
    "fit t.npy -k 2 --metric taxi": "metric",
    "fit t.npy -k 2 --bounds loose": "bounds",
    "path t.npy --clusters 0": "--clusters",
    "path t.npy --gammas 0": "gammas",
    "path t.npy --gammas many": "many",
    "path t.npy --norm l7": "norm",
    "path t.npy --solver magic": "solver",
    "path": "path",
    "verify": "verify",
    "info": "info",
    "predict t.npy": "predict",
    "demo t.npy": "t.npy",
    "--nothing": "--nothing",
    "Fit t.npy -k 2": "Fit",
}.items():
    note(f"the words {line}", nothing, line, said, code=2)

# Places to write to


def write_file(name, folder):
    (folder / name).write_text("mine\n")


def make_folders(name, folder):
    (folder / name).mkdir(parents=True)


for command in ("fit t.npy -k 2 --out o", "path t.npy --out o", "demo --out o"):
    note(
        f"a file where the folder of {command.split()[0]} is",
        partial(write_file, "o"),
        command,
        "o: Not a folder",
    )
note(
    "a folder where the labels of predict are",
    lambda folder: (write_model(folder), (folder / "o.npy").mkdir()),
    "predict m.coterie t.npy --out o.npy",
    "o.npy",
)
note(
    "labels of predict in a folder that is not there",
    lambda folder: (write_model(folder), write_file("file", folder)),
    "predict m.coterie t.npy --out file/o.npy",
    "file",
)
for what, write in {
    "nowhere": nothing,
    "a file": partial(write_file, "o"),
    "an empty folder": partial(make_folders, "o"),
    "a folder with a summary of noise": lambda folder: (
        make_folders("o", folder),
        write_file("o/summary.json", folder),
    ),
    "a folder with a summary of nothing": lambda folder: (
        make_folders("o", folder),
        (folder / "o/summary.json").write_text("{}"),
    ),
    "a folder whose summary is a list": lambda folder: (
        make_folders("o", folder),
        (folder / "o/summary.json").write_text("[]"),
    ),
}.items():
    note(f"a run to repeat that is {what}", write, "verify o", "o")
