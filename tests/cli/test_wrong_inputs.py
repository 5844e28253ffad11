"""Whatever is wrong with a file is said in one line that names it and the way out, and nothing is written."""

import shlex

import pytest

pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
pytest.importorskip("h5py")

from tests.cli.running import everything, failed
from tests.cli.wrong_inputs import WRONG_INPUTS


@pytest.mark.parametrize("name", WRONG_INPUTS)
def test_one_line_and_a_way_out(name, folder, capsys):
    write, command, said, code = WRONG_INPUTS[name]
    write(folder)
    capsys.readouterr()
    before = everything(folder)
    message = failed(capsys, code, *shlex.split(command))
    for part in said:
        assert part in message
    assert len(message) < 800
    assert everything(folder) == before
