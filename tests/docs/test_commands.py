"""Commands on the pages have the options that they use."""

import re

from coterie.cli.reference import page
from tests.docs.pages import name_of, pages


def options_of_commands():
    """Return the words of the reference that look like options, of each command and its methods."""
    options = {}
    for section in re.split(r"^## ", page(), flags=re.MULTILINE)[1:]:
        command = re.search(r"coterie ([\w-]+)", section)[1]
        options.setdefault(command, set()).update(re.findall(r"(?<![\w-])--?[a-zA-Z][\w-]*", section))
    return options


def test_commands_have_the_options_that_pages_use():
    known = options_of_commands()
    wrong, n_commands = [], 0
    for path in pages():
        if path.name == "commands.md":
            continue
        for command, rest in re.findall(
            r"^\$ coterie ([a-z][\w-]*)([^#|\n]*)", path.read_text("utf-8"), re.MULTILINE
        ):
            n_commands += 1
            used = set(re.findall(r"(?<=\s)--?[a-zA-Z][\w-]*", rest))
            wrong += [f"{name_of(path)}: coterie {command} {option}" for option in used - known[command]]
    assert wrong == []
    assert n_commands > 20
