"""Every option that is a number, with numbers that it may not be: exit code 2 and one line before anything is read."""

import functools

import numpy as np
import pytest

import coterie.cli.app
from coterie.cli import main
from coterie.cli.models import offered_methods, path_method
from coterie.cli.parameters import options_of

FIT, PATH, PREDICT = "fit rows.npy -k 2 -q", "path rows.npy -q", "predict m.coterie rows.npy -q"

# Never a number, or none that an option may be.
NO_NUMBER = ["x", "nan", "inf", "1e400"]
NEVER = ["", "x", "nan", "inf", "-inf", "1e400", "-1", "--", "1,5", "½"]
NO_COUNT = ["1.5", "0", str(2**63), str(2**64), "1e30"]
SEED = ["1.5", str(2**32), str(2**63), str(2**64)]


def options():
    """Yield the command, the option, and what it may not be."""
    counts = [*NEVER, *NO_COUNT]
    for command in (FIT, PATH):
        yield command, "--max-iter", counts
        yield command, "--max-time", [*NEVER, "0"]
        yield command, "--threads", [*counts, str(2**31)]
        yield f"{command} --one-hot auto", "--category-limit", [*NEVER, "1.5", "0"]
    yield "fit rows.npy -q", "-k", counts
    yield FIT, "--seed", [*NEVER, *SEED]
    yield FIT, "--outliers", [word for word in NEVER if word != "--"]
    yield PATH, "--clusters", [*NEVER, "1.5", "0"]
    yield PREDICT, "--threads", [*NEVER, "1.5", "0", str(2**31), str(2**64)]
    yield PREDICT, "--outliers", [word for word in NEVER if word != "--"]
    yield "verify coterie-out -q", "--threads", [*NEVER, "1.5", "0", str(2**31), str(2**64)]
    for command, methods in ((FIT, offered_methods()), (PATH, [path_method()])):
        for method in methods:
            begin = command if method.clusters or command == PATH else "fit rows.npy -q"
            asked = f"{begin} --method {method.name}" if command == FIT else command
            for option in method.options:
                if option.type is int:
                    yield asked, option.flag, counts
                elif option.type is float:
                    yield asked, option.flag, NEVER
            for option in options_of(method)[len(method.options) :]:
                # Some may be 0 or negative; the estimator knows.
                if option.type is int:
                    yield asked, option.flag, [*NO_NUMBER, "1.5"]
                elif option.type is float:
                    yield asked, option.flag, NO_NUMBER


@pytest.fixture
def reached(folder, monkeypatch):
    """Have a file and a model, and end a command where it would begin to work."""
    rows = np.random.default_rng(0).normal(size=(30, 3))
    np.save("rows.npy", rows)
    coterie.KMeans(2, random_state=0).fit(rows).save("m.coterie")

    def reach(*_, **__):
        raise ValueError("it has been taken")

    app = coterie.cli.app
    monkeypatch.setattr(app, "build_app", functools.cache(app.build_app))
    monkeypatch.setattr(app, "register_installed_methods", lambda: None)
    for place in (
        "cli.fit._fit_file",
        "cli.path.open_prepared",
        "cli.predict._predict_file",
        "cli.verify._summary",
    ):
        monkeypatch.setattr(f"coterie.{place}", reach)


def line_of(command, option, word):
    separate = not option.startswith("--")
    return [*command.split(), *([option, word] if separate else [f"{option}={word}"])]


def test_numbers_that_options_may_not_be(reached, capsys):
    wrong = []
    for command, option, words in options():
        for word in words:
            code = main(line_of(command, option, word))
            said = capsys.readouterr()
            if code != 2 or said.out or said.err.count("\n") != 1 or len(said.err) > 400:
                wrong.append((command, option, word, code, said.err[:200]))
    assert not wrong, "\n".join(map(str, wrong))


def test_numbers_that_they_may_be(reached, capsys):
    """So it is the number that was refused above."""
    for command, option, _ in options():
        word = "0.25" if option in ("--outliers", "--eps", "--reassignment-ratio", "--least-gain") else "2"
        code = main(line_of(command, option, word))
        said = capsys.readouterr().err
        assert code == 1, (command, option, word, said)
        assert "it has been taken" in said
