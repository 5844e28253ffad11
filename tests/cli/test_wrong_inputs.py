"""Whatever is wrong with a file is told in one line that names the file and the fix, and nothing is written."""

import shlex
import time

import pytest

pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
pytest.importorskip("h5py")
pytest.importorskip("zarr")

from tests.cli.running import everything, failed
from tests.cli.wrong_inputs import WRONG_INPUTS
from tests.support.limited import peak as peak_bytes

MOST_BYTES = 2**30
MOST_SECONDS = 10  # of a processor: others may have it meanwhile


@pytest.mark.parametrize("name", WRONG_INPUTS)
def test_wrong_input_is_one_line_with_advice(name, folder, capsys, recwarn):
    write, command, said, code = WRONG_INPUTS[name]
    write(folder)
    capsys.readouterr()
    before = everything(folder)
    seconds, peak = time.process_time(), peak_bytes()
    message = failed(capsys, code, *shlex.split(command))
    assert time.process_time() - seconds < MOST_SECONDS
    assert peak_bytes() - peak < MOST_BYTES
    assert not recwarn.list  # which would be further lines
    for part in said:
        assert part in message
    assert len(message) < 800
    assert everything(folder) == before
