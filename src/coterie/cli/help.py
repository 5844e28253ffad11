"""Help texts, made from the records of methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from coterie.cli.parameters import ParameterOption, options_of
from coterie.estimators import Method, Option

__all__ = [
    "choices_of",
    "clusters_help",
    "format_help",
    "labels_help",
    "method_help",
    "option_help",
    "options_by_flag",
]


def options_by_flag(methods: Sequence[Method]) -> dict[str, dict[str, ParameterOption]]:
    """Return the options of each flag, by the names of the methods that have it."""
    by_flag: dict[str, dict[str, ParameterOption]] = {}
    for method in methods:
        for option in options_of(method):
            by_flag.setdefault(option.flag, {})[method.name] = option
    return by_flag


def option_help(options: Mapping[str, Option], *, is_for_all: bool) -> str:
    """Return what a flag does for each of the methods that have it; methods for which it does the same share a text."""
    names_of: dict[str, list[str]] = {}
    for name, option in options.items():
        names_of.setdefault(option.help, []).append(name)
    texts = []
    for text, names in names_of.items():
        prefix = "" if is_for_all and len(names_of) == 1 else f"for {_listed(names, 'and')}: "
        alike = [options[name] for name in names]
        words = [f"{word} ({meaning})" if meaning else word for word, meaning in choices_of(alike).items()]
        # cyclopts lists the words that stand beside numbers, but not what they mean.
        is_word = all(option.type is str for option in alike)
        suffix = f": {_listed(words, 'or')}" if words and is_word else _meanings(alike)
        texts.append(f"{prefix}{text}{suffix}")
    return _sentence("; ".join(texts))


def _meanings(options: Sequence[Option]) -> str:
    return "".join(f"; {word}: {meaning}" for word, meaning in choices_of(options).items() if meaning)


def choices_of(options: Sequence[Option]) -> dict[str, str]:
    """Return the words that one of several options may be, and their meanings."""
    return {word: meaning for option in options for word, meaning in option.choices.items()}


def clusters_help(methods: Sequence[Method]) -> str:
    """Return what the number of clusters is."""
    droppers = [method.name for method in methods if method.drops_clusters]
    finders = [method.name for method in methods if method.clusters is None]
    told = ["Number of clusters."]
    told += [f"{_listed(droppers, 'and')} may drop some."] if droppers else []
    told += [f"{_listed(finders, 'and')} takes none, for it finds the number."] if finders else []
    return " ".join(told)


def method_help(methods: Sequence[Method]) -> str:
    """Return which methods there are, and which one is taken where none is asked for."""
    listed = "\n".join(f"- {method.name}: {method.summary}" for method in methods)
    usual = {method.name: method.usual_above for method in methods if method.usual_above is not None}
    largest_first = sorted(usual, key=lambda name: -usual[name])
    sizes = [f"{name} for more than {usual[name]:,} rows" for name in largest_first[:-1]]
    defaults = _listed([*sizes, f"{largest_first[-1]}{' for fewer' if sizes else ''}"], "and")
    users = options_by_flag(methods)
    special = next(
        f": {option.flag} asks for {method.name}"
        for method in methods
        for option in method.options
        if len(users[option.flag]) == 1 and method.name not in usual
    )
    return (
        f"How to find them:\n\n{listed}\n\nBy default {defaults}. Where an option is given that these do not all "
        f"have, one that has it; where none of these has it, the one other method that does{special}."
    )


def format_help(names: Sequence[str]) -> str:
    """Return what can be piped into a command."""
    return (
        f"What comes through the standard input (-): {_listed(names, 'or')}. It is copied to a temporary file in "
        "TMPDIR or /var/tmp, which is removed in the end, for rows are read more than once."
    )


def labels_help(methods: Sequence[Method]) -> str:
    """Return what known classes are, and which methods learn from them."""
    learners = [method.name for method in methods if method.takes_labels]
    return (
        f"For {_listed(learners, 'and')}: a file (.npy, or text with a line for each row) of known classes from 0 to "
        "k - 1, and -1 where they are not known."
    )


def _listed(words: Sequence[str], last: str) -> str:
    """Return the words with commas between them, and `last` before the last one."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} {last} {words[-1]}"


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."
