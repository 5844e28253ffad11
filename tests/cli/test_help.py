"""What `coterie fit --help` says is what the records of the methods say."""

import inspect

import pytest

from coterie.cli import main
from coterie.cli.help import choices_of, option_help
from coterie.cli.models import offered_methods
from coterie.estimators import Option, methods
from coterie.estimators.method import RESERVED_FLAGS


@pytest.fixture
def helped(capsys, monkeypatch):
    """The help of a command, as one line."""
    monkeypatch.setenv("COLUMNS", "200")

    def help_of(command):
        assert main([command, "--help"]) == 0
        return " ".join(capsys.readouterr().out.replace("│", " ").split())

    return help_of


def test_every_method_and_option_is_there(helped):
    text = helped("fit")
    for method in offered_methods():
        assert f"{method.name}: {method.summary}" in text
        for option in method.options:
            assert f" {option.flag} " in text
            assert option.help[1:] in text
            for word, meaning in option.choices.items():
                assert word in text
                assert meaning in text


def test_which_method_is_taken(helped):
    text = helped("fit")
    assert "By default nested for more than 100,000 rows and k-means for fewer." in text
    assert "--bisecting-strategy asks for bisecting." in text
    assert "gmm may drop some." in text
    assert "For total-variation: a file" in text


def test_path(helped):
    text = helped("path")
    assert "Of the differences of centroids: l2, l1 or linf. [default: l2]" in text
    assert "--phi FLOAT" in text
    assert "[choices: auto] [default: auto]" in text
    assert "--connect --no-connect" in text


def test_methods_that_share_a_text():
    one, other = Option("a", "--a", "how many", type=int), Option("a", "--a", "how much", type=int)
    options = {"first": one, "second": one, "third": other}
    assert option_help({"first": one, "second": one}, is_for_all=True) == "How many."
    told = "For first and second: how many; for third: how much."
    assert option_help(options, is_for_all=True) == told
    assert option_help(options, is_for_all=False) == told


def test_choices_of_several_methods_are_told_together():
    one = Option("a", "--a", "how", choices={"x": "", "y": "why"})
    other = Option("a", "--a", "how", choices={"z": ""})
    assert option_help({"1": one, "2": other}, is_for_all=True) == "How: x, y (why) or z."
    assert list(choices_of([one, other])) == ["x", "y", "z"]


def test_reserved_flags_are_those_of_the_commands(helped):
    """The register refuses them before they could clash here."""
    from coterie.cli.commands import fit, path
    from coterie.cli.table_options import table_options

    named = {"--memory", "--config"}  # see `with_memory` and `with_run_file`
    for command in (fit.fit, path.path, table_options):
        for name, parameter in inspect.signature(command, eval_str=True).parameters.items():
            flags = [data.name for data in getattr(parameter.annotation, "__metadata__", ()) if data.name]
            listed = [names if isinstance(names, tuple) else (names,) for names in flags]
            named |= {flag for names in listed for flag in names} or {f"--{name.replace('_', '-')}"}
    assert named - {"--file", "--parameters", "--tables"} == set(RESERVED_FLAGS) - {
        "--help",
        "-h",
        "--version",
    }
    assert not {option.flag for method in methods() for option in method.options} & set(RESERVED_FLAGS)
