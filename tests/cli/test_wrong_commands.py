"""Wrong commands: the exact text of each error, which names options and files and says what to do."""

import shlex

import pytest

import coterie
from coterie.cli import main
from tests.cli.running import everything

# Command, exit code, and the text of the error.
WRONG = [
    ("nothing", 2, "coterie has no command nothing. coterie --help shows how it is used."),
    ("Fit rows.npy -k 3", 2, "coterie has no command Fit. Did you mean fit?"),
    ("fot rows.npy -k 3", 2, "coterie has no command fot. Did you mean fit?"),
    ("--nothing", 2, "coterie has no option --nothing. coterie --help shows how it is used."),
    ("fit", 2, "coterie fit needs FILE: coterie fit --help shows how it is used."),
    (
        "fit rows.npy",
        2,
        "The number of clusters is missing: add -k NUMBER. If it is unknown, coterie choose-k FILE estimates it, and --method density needs none.",
    ),
    (
        "fit rows.npy more -k 3",
        2,
        "coterie fit does not take the argument 'more': coterie fit --help shows how it is used.",
    ),
    ("fit -k 3", 2, "coterie fit needs FILE: coterie fit --help shows how it is used."),
    ("fit rows.npy -k", 2, "-k needs a value."),
    ("fit rows.npy -k three", 2, "-k must be a positive integer, got 'three'."),
    ("fit rows.npy -k 1.5", 2, "-k must be a positive integer, got '1.5'."),
    ("fit rows.npy -k 0", 2, "-k must be a positive integer, got '0'."),
    ("fit rows.npy -k -2", 2, "-k must be a positive integer, got '-2'."),
    ("fit rows.npy -k nan", 2, "-k must be a positive integer, got 'nan'."),
    ("fit rows.npy -k ''", 2, "-k must be a positive integer, got ''."),
    ("fit rows.npy -k 99999999999999999999", 2, "-k must be a positive integer, got '99999999999999999999'."),
    ("fit rows.npy -k 301", 2, "-k 301 is more than the 300 rows of rows.npy."),
    ("fit rows.npy -k 2 -k 3", 2, "-k is given more than once."),
    ("fit rows.npy -k 3 --color red", 2, "coterie fit has no option --color. Did you mean --tol?"),
    (
        "fit rows.npy -k 3 --n-cluster 2",
        2,
        "coterie fit has no option --n-cluster. Did you mean --n-clusters?",
    ),
    (
        "fit rows.npy -k 3 --covarance-type diag",
        2,
        "coterie fit has no option --covarance-type. Did you mean --covariance-type?",
    ),
    (
        "fit rows.npy -k 3 --method magic",
        2,
        "--method must be k-means, nested, mini-batch, bisecting, size-constrained, gmm, laplacian-kmodes, multilevel, total-variation, density, convex-clustering or auto, got 'magic'.",
    ),
    (
        "fit rows.npy -k 3 --method convex-clustering",
        2,
        "--method convex-clustering takes no -k: it finds the number of clusters.",
    ),
    (
        "fit rows.npy --method gmm",
        2,
        "The number of clusters is missing: add -k NUMBER. If it is unknown, coterie choose-k FILE estimates it, and --method density needs none.",
    ),
    (
        "fit rows.npy -k 3 --algorithm magic",
        2,
        "--algorithm must be auto, lloyd, elkan, yinyang or hamerly, got 'magic'.",
    ),
    (
        "fit rows.npy -k 3 --init magic",
        2,
        "--init must be split-merge, k-means++, k-means||, afk-mc2, random, a file of rows or a model or the folder of a run, got 'magic'.",
    ),
    ("fit rows.npy -k 3 --init gone.npy", 1, "gone.npy: No such file or directory"),
    ("fit rows.npy -k 3 --init rows.npy", 2, "--init rows.npy has 300 rows, but -k is 3."),
    ("fit rows.npy -k 3 --n-init 0", 2, "--n-init must be auto or a positive integer, got '0'."),
    ("fit rows.npy -k 3 --n-init 2.5", 2, "--n-init must be auto or a positive integer, got '2.5'."),
    ("fit rows.npy -k 3 --n-init many", 2, "--n-init must be auto or a positive integer, got 'many'."),
    ("fit rows.npy -k 3 --max-iter 0", 2, "--max-iter must be a positive integer, got '0'."),
    ("fit rows.npy -k 3 --max-iter 2.5", 2, "--max-iter must be a positive integer, got '2.5'."),
    (
        "fit rows.npy -k 3 --max-time 0",
        2,
        "--max-time must be a time above 0 such as 10, 90s, 5m or 1h, got '0'.",
    ),
    (
        "fit rows.npy -k 3 --max-time -1",
        2,
        "--max-time must be a time above 0 such as 10, 90s, 5m or 1h, got '-1'.",
    ),
    (
        "fit rows.npy -k 3 --max-time soon",
        2,
        "--max-time must be a time above 0 such as 10, 90s, 5m or 1h, got 'soon'.",
    ),
    (
        "fit rows.npy -k 3 --max-time 5d",
        2,
        "--max-time must be a time above 0 such as 10, 90s, 5m or 1h, got '5d'.",
    ),
    ("fit rows.npy -k 3 --tol -1", 2, "--tol must be a non-negative number, got '-1'."),
    ("fit rows.npy -k 3 --tol nan", 2, "--tol must be a non-negative number, got 'nan'."),
    ("fit rows.npy -k 3 --seed -1", 2, "--seed must be an integer from 0 to 4294967295, got '-1'."),
    ("fit rows.npy -k 3 --seed 1.5", 2, "--seed must be an integer from 0 to 4294967295, got '1.5'."),
    (
        "fit rows.npy -k 3 --seed 4294967296",
        2,
        "--seed must be an integer from 0 to 4294967295, got '4294967296'.",
    ),
    ("fit rows.npy -k 3 --threads 0", 2, "--threads must be an integer from 1 to 4096, got '0'."),
    ("fit rows.npy -k 3 --threads 1.5", 2, "--threads must be an integer from 1 to 4096, got '1.5'."),
    (
        "fit rows.npy -k 3 --threads 2147483648",
        2,
        "--threads must be an integer from 1 to 4096, got '2147483648'.",
    ),
    ("fit rows.npy -k 3 --metric taxi", 2, "--metric must be euclidean or cosine, got 'taxi'."),
    ("fit rows.npy -k 3 --zero-rows drop", 2, "--zero-rows must be error or ignore, got 'drop'."),
    (
        "fit rows.npy -k 3 --method size-constrained --size-min -1",
        2,
        "--size-min must be a non-negative number, got '-1'.",
    ),
    (
        "fit rows.npy -k 3 --method size-constrained --size-min 200 --size-max 100",
        2,
        "--size-min 200 is more than --size-max 100.",
    ),
    ("fit rows.npy -k 9 --coreset 8", 2, "--coreset 8 should be >= -k 9."),
    ("fit rows.npy -k 9 --method gmm --coreset 8", 2, "--coreset 8 should be >= -k 9."),
    ("fit rows.npy -k 3 --bounds loose", 2, "--bounds must be auto, elkan, yinyang or off, got 'loose'."),
    ("fit rows.npy -k 3 --min-improvement 1", 2, "--min-improvement must be a number >= 0 and < 1, got '1'."),
    ("fit rows.npy -k 3 --batch-size 0", 2, "--batch-size must be auto or a positive integer, got '0'."),
    (
        "fit rows.npy -k 3 --method mini-batch --max-no-improvement never",
        2,
        "--max-no-improvement must be a non-negative integer or none, got 'never'.",
    ),
    (
        "fit rows.npy -k 3 --method bisecting --init rows.npy",
        2,
        "--init must be k-means++, afk-mc2 or random, got 'rows.npy'.",
    ),
    (
        "fit rows.npy -k 3 --method bisecting --bisecting-strategy worst",
        2,
        "--bisecting-strategy must be biggest_inertia or largest_cluster, got 'worst'.",
    ),
    (
        "fit rows.npy -k 3 --method k-means --covariance-type diag",
        2,
        "--method k-means takes no --covariance-type, which is an option of gmm.",
    ),
    (
        "fit rows.npy -k 3 --method nested --n-init 2",
        2,
        "--method nested takes no --n-init, which is an option of k-means, mini-batch, bisecting, size-constrained, gmm, laplacian-kmodes and total-variation.",
    ),
    (
        "fit rows.npy -k 3 --covariance-type diag --algorithm lloyd",
        2,
        "No method has all of the options --algorithm (k-means, bisecting) and --covariance-type (gmm).",
    ),
    (
        "fit rows.npy -k 3 --covariance-type full",
        2,
        "--covariance-type must be tied_spherical, spherical, diag or factors, got 'full'.",
    ),
    ("fit rows.npy -k 3 --candidates 0", 2, "--candidates must be a positive integer, got '0'."),
    (
        "fit rows.npy -k 3 --search-group-size 513",
        2,
        "--search-group-size must be an integer from 1 to 512, got '513'.",
    ),
    (
        "fit rows.npy -k 3 --assignment magic",
        2,
        "--assignment must be auto, exact or truncated, got 'magic'.",
    ),
    (
        "fit rows.npy -k 3 --method gmm --weights-init 0.5,0.5,x",
        2,
        "--weights-init must be a file of rows or numbers with commas between them, got '0.5,0.5,x'.",
    ),
    ("fit rows.npy -k 3 --method gmm --labels known.csv", 2, "--method gmm takes no --labels."),
    (
        "fit rows.npy -k 3 --method gmm --graph rows.npy",
        2,
        "--method gmm takes no --graph in addition to its rows.",
    ),
    (
        "fit rows.npy -k 3 --neighbors 5",
        2,
        "Several methods have these options: add --method gmm, laplacian-kmodes, multilevel or total-variation.",
    ),
    (
        "fit rows.npy -k 3 --method total-variation --neighbors 1000000000000000000",
        2,
        "--neighbors 1000000000000000000 must be less than the 300 rows of rows.npy.",
    ),
    (
        "path rows.npy --neighbors 300",
        2,
        "--neighbors 300 must be less than the 300 rows of rows.npy.",
    ),
    ("choose-k rows.npy -k 2:400 -o ''", 2, "-o must be a file or a folder, got ''."),
    ("fit rows.npy -k 3 --out=", 2, "--out must be a file or a folder, got ''."),
    (
        "fit rows.npy -k 3 -o .",
        1,
        ".: Is the current folder, so it cannot be replaced as a whole: choose a new folder in it",
    ),
    (
        "fit rows.npy -k 3 -o ..",
        1,
        "..: Contains the current folder, so it cannot be replaced as a whole: choose a new folder in it",
    ),
    (
        "fit rows.npy -k 3 -o /",
        1,
        "/: Is a mount point, so it cannot be replaced as a whole: choose a new folder in it",
    ),
    ("fit rows.npy -k 3 --method gmm --neighbors 0", 2, "--neighbors must be a positive integer, got '0'."),
    (
        "fit rows.npy -k 3 --modes median",
        2,
        "--modes must be byproduct, mean_shift or densest, got 'median'.",
    ),
    ("fit rows.npy -k 3 --symmetrize both", 2, "--symmetrize must be none, mean or max, got 'both'."),
    (
        "fit rows.npy -k 3 --method laplacian-kmodes --affinity cosine",
        2,
        "--affinity must be knn or precomputed, got 'cosine'.",
    ),
    (
        "fit rows.npy -k 3 --method laplacian-kmodes --affinity precomputed --modes mean_shift",
        2,
        "--modes mean_shift needs coordinates, not precomputed affinities.",
    ),
    (
        "fit rows.npy -k 3 --method laplacian-kmodes --bandwidth 0",
        2,
        "--bandwidth must be a finite positive number, got '0'.",
    ),
    (
        "fit rows.npy -k 3 --method total-variation --graph rows.npy",
        2,
        "--method total-variation takes no --graph in addition to its rows: give it in place of the rows, with --affinity precomputed.",
    ),
    (
        "fit rows.npy -k 3 --class-priors 0.5,0.5",
        2,
        "--class-priors must have shape (3,), one for each cluster, got (2,).",
    ),
    (
        "fit rows.npy -k 3 --class-priors guess",
        2,
        "--class-priors must be estimate, labels, numbers with commas between them or a file of rows, got 'guess'.",
    ),
    (
        "fit rows.npy -k 3 --class-priors labels --balance-weight 2",
        2,
        "--balance-weight and --class-priors both set the sizes of clusters: give one of them.",
    ),
    ("fit rows.npy -k 3 --inner-tol 1", 2, "--inner-tol must be a number >= 0 and < 1, got '1'."),
    ("fit rows.npy -k 3 --gamma 1", 2, "--gamma is an option of convex-clustering, which takes no -k."),
    ("fit rows.npy --gamma -1", 2, "--gamma must be a finite non-negative number, got '-1'."),
    ("fit rows.npy --gamma inf", 2, "--gamma must be a finite non-negative number, got 'inf'."),
    (
        "fit rows.npy --gamma 1 --warm-neighbors 1,x",
        2,
        "--warm-neighbors must be numbers with commas between them, got '1,x'.",
    ),
    (
        "fit rows.npy --gamma 1 --warm-neighbors 3,2",
        2,
        "--warm-neighbors must ascend to fewer than --neighbors 5, got [3, 2].",
    ),
    (
        "fit rows.npy --gamma 1 --norm l3",
        2,
        "--norm must be l2, l1, linf or groups of columns such as '0,1;2:5', got 'l3'.",
    ),
    (
        "fit rows.npy --gamma 1 --norm 0:x",
        2,
        "--norm must be l2, l1, linf or groups of columns such as '0,1;2:5', got '0:x'.",
    ),
    (
        "fit rows.npy --gamma 1 --step-size paper --solver admm",
        2,
        "--step-size paper is a step of AMA: for ADMM the paper names none. Give a positive number.",
    ),
    (
        "fit rows.npy --gamma 1 --stopping residuals",
        2,
        "--stopping residuals is for --solver admm: ama never splits U and V. Use --stopping gap.",
    ),
    (
        "fit rows.npy --gamma 1 --distance-decay -1",
        2,
        "--distance-decay must be auto or a finite non-negative number, got '-1'.",
    ),
    (
        "fit rows.npy -k 3 --image 3x3",
        2,
        "--image: Images of 3x3 have 9 numbers, but the rows have 4 columns.",
    ),
    ("fit rows.npy -k 3 --image 4", 2, "--image must be like 28x28 or, for color images, 32x32x3, got '4'."),
    (
        "fit rows.npy -k 3 --image 0x4",
        2,
        "--image must be like 28x28 or, for color images, 32x32x3, got '0x4'.",
    ),
    (
        "fit rows.npy -k 3 --image 2x1x2",
        2,
        "--image must be like 28x28 or, for color images, 32x32x3, got '2x1x2'.",
    ),
    (
        "fit rows.npy -k 3 --columns ,",
        2,
        "--columns must be names or positions with commas between them, got ','.",
    ),
    (
        "fit rows.npy -k 3 --exclude a,,b",
        2,
        "--exclude must be names or positions with commas between them, got 'a,,b'.",
    ),
    ("fit rows.npy -k 3 --keep ,", 2, "--keep must be names or positions with commas between them, got ','."),
    (
        "fit rows.npy -k 3 --id name",
        2,
        "--id and --keep name columns of a table, and rows.npy is not a table.",
    ),
    (
        "fit rows.npy -k 3 --outliers lots",
        2,
        "--outliers must be a share of the rows from 0 to less than 1, or such as '1%', got 'lots'.",
    ),
    (
        "fit rows.npy -k 3 --outliers 101%",
        2,
        "--outliers must be a share of the rows from 0 to less than 1, or such as '1%', got '101%'.",
    ),
    ("fit rows.npy -k 3 --results xml", 2, "--results must be one of npy, parquet, csv, got 'xml'."),
    ("fit rows.npy -k 3 --scale huge", 2, "--scale must be one of standard, robust, none, got 'huge'."),
    (
        "fit rows.npy -k 3 --format npy",
        2,
        "--format is for the standard input (-); rows.npy has the format of its ending.",
    ),
    (
        "fit - -k 3",
        2,
        "The standard input (-) needs --format, one of npy, npz, csv, tsv, jsonl, parquet, arrow, hdf5, h5ad, svmlight.",
    ),
    (
        "fit - -k 3 --format zarr",
        2,
        "--format must be one of npy, npz, csv, tsv, jsonl, parquet, arrow, hdf5, h5ad, svmlight, got 'zarr'.",
    ),
    (
        "fit rows.npy -k 3 --memory lots",
        2,
        "--memory: an amount of memory is a number with a unit, such as 4GB or 512MiB, got 'lots'.",
    ),
    ("fit rows.npy -k 3 --config gone.toml", 1, "gone.toml: No such file or directory"),
    (
        "fit rows.npy -k 3 --labels-out - --json",
        2,
        "--json and --labels-out - both write to the standard output: give one of them.",
    ),
    ("fit rows.npy -k 3 --out rows.npy", 1, "rows.npy: Not a folder, so nothing can be written there"),
    (
        "fit rows.npy -k 3 --scheduler tcp://127.0.0.1:9 --report",
        2,
        "--scheduler takes no --report: prepare the rows first, or fit without a cluster.",
    ),
    ("predict", 2, "coterie predict needs MODEL: coterie predict --help shows how it is used."),
    ("predict rows.npy", 2, "coterie predict needs FILE: coterie predict --help shows how it is used."),
    (
        "predict rows.npy rows.npy",
        1,
        "rows.npy is not a coterie model, or it is damaged (File is not a zip file).",
    ),
    ("predict gone.coterie rows.npy", 1, "gone.coterie: No such file or directory"),
    (
        "predict m.coterie rows.npy --out labels.txt",
        2,
        "--out must end in .npy, .parquet, .csv or .h5ad, got 'labels.txt'.",
    ),
    (
        "predict m.coterie rows.npy --json --out -",
        2,
        "--json and --out - both write to the standard output: give one of them.",
    ),
    (
        "path rows.npy --gammas 0",
        2,
        "--gammas must be a positive integer, or numbers with commas between them, got '0'.",
    ),
    ("path rows.npy --gammas 1,,2", 2, "--gammas must be numbers with commas between them, got '1,,2'."),
    ("path rows.npy --gammas 2,1", 2, "--gammas must be finite, not negative and ascending."),
    ("path rows.npy --gammas many", 2, "--gammas must be numbers with commas between them, got 'many'."),
    ("path rows.npy -k 0", 2, "-k must be a positive integer, got '0'."),
    ("path rows.npy --solver magic", 2, "--solver must be ama, plain-ama or admm, got 'magic'."),
    (
        "select-graph-weight rows.npy",
        2,
        "coterie select-graph-weight needs -k: coterie select-graph-weight --help shows how it is used.",
    ),
    (
        "select-graph-weight rows.npy -k 3 --graph-weights 1,1",
        2,
        "--graph-weights must be different numbers with commas between them, got '1,1'.",
    ),
    ("compare rows.npy", 2, "coterie compare needs -k: coterie compare --help shows how it is used."),
    (
        "compare rows.npy -k 3 --budget soon",
        2,
        "--budget must be a time above 0 such as 10, 90s, 5m or 1h, got 'soon'.",
    ),
    (
        "compare rows.npy -k 3 --methods magic",
        2,
        "--methods must be k-means, nested, mini-batch, bisecting, size-constrained, gmm, laplacian-kmodes, multilevel, total-variation, density or convex-clustering, got 'magic'.",
    ),
    ("compare rows.npy -k 3 --sample 0", 2, "--sample must be a positive integer, got '0'."),
    (
        "choose-k rows.npy -k 5",
        2,
        "-k must be two whole numbers with a colon between them, such as 2:50, got '5'.",
    ),
    ("choose-k rows.npy -k 1:5", 2, "-k must be a range from 2 or more upward, such as 2:50, got 1:5."),
    ("choose-k rows.npy -k 400:500", 2, "-k 400:500 begins above the 300 rows of rows.npy."),
    ("path rows.npy -k 500", 2, "-k 500 is more than the 300 rows of rows.npy."),
    ("fit rows.npy::X -k 3", 1, "::X has no meaning for rows.npy."),
    ("fit rows.npy -k 3 --init ''", 1, "There is no file ''"),
    ("fit rows.npy -k 3 --sep ab", 2, "--sep must be one character such as ';', or tab, got 'ab'."),
    (
        "fit rows.npy -k 3 --continue nothing",
        2,
        "--continue nothing: nothing is not the folder of a run of coterie fit: it has no summary.json.",
    ),
    ("fit https:///x.npy -k 3", 1, "Cannot read https:///x.npy: the address names no host."),
    ("report", 2, "coterie report needs FOLDER: coterie report --help shows how it is used."),
    ("report rows.npy", 1, "rows.npy is not the folder of a run of coterie fit: it has no summary.json."),
    ("report . --stability -1", 2, "--stability must be a non-negative integer, got '-1'."),
    ("report . --out page.pdf", 2, "--out must end in .html or .md, got 'page.pdf'."),
    (
        "report . --projection magic",
        2,
        "--projection must be one of auto, tsne, pca, got 'magic'.",
    ),
    ("verify", 2, "coterie verify needs FOLDER: coterie verify --help shows how it is used."),
    ("verify .", 1, ". is not the folder of a run of coterie fit: it has no summary.json."),
    ("info", 2, "coterie info needs FILE: coterie info --help shows how it is used."),
    ("info gone.npy", 1, "There is no file gone.npy"),
    (
        "demo rows.npy",
        2,
        "coterie demo does not take the argument 'rows.npy': coterie demo --help shows how it is used.",
    ),
    ("completion tcsh", 2, "SHELL must be one of bash, zsh, fish, got 'tcsh'."),
]


@pytest.mark.parametrize(("line", "code", "text"), WRONG, ids=[line for line, *_ in WRONG])
def test_wrong_commands(folder, rows, capsys, monkeypatch, line, code, text):
    if any(word in line for word in ("--image", "path", "compare", "choose-k", "report")):
        pytest.importorskip("matplotlib")
    monkeypatch.setattr(coterie.KMeans, "fit", lambda *_: pytest.fail("fitted first"))
    assert main(shlex.split(line)) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.replace(f"{folder}/", "") == f"coterie: error: {text}\n"
    assert everything(folder) == ["rows.npy"]


def test_table_of_wrong_commands_has_enough_rows():
    assert len({line for line, *_ in WRONG}) == len(WRONG) >= 120
