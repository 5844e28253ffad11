"""Commands on the pages have the options that they use."""

import re

from coterie_command.app import app
from tests.docs.pages import name_of, pages


def test_commands_have_the_options_that_pages_use():
    known = {
        command: {name for argument in app[command].assemble_argument_collection() for name in argument.names}
        for command in app
        if not command.startswith("-")
    }
    wrong, n_commands = [], 0
    for path in pages():
        if path.name == "walk.md":  # which has wrong commands on purpose
            continue
        for command, rest in re.findall(
            r"^\$ coterie ([a-z][\w-]*)([^#|\n]*)", path.read_text("utf-8"), re.MULTILINE
        ):
            n_commands += 1
            used = set(re.findall(r"(?<=\s)--?[a-zA-Z][\w-]*", rest))
            wrong += [f"{name_of(path)}: coterie {command} {option}" for option in used - known[command]]
    assert wrong == []
    assert n_commands > 20
