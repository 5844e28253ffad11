"""Recordings of the time left that a terminal shows."""

import sys

import pytest

from benchmarks.time_left import Recording, record, seconds_left


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("iteration 3/300  about 0:07 left  inertia 5", 7),
        ("at most 2:05 left", 125),
        ("at most 1:02:05 left", 3725),
        ("seeding  25%  about 0:06 left of it", None),
        ("iteration 3/300", None),
    ],
)
def test_the_time_left_is_read(text, seconds):
    assert seconds_left(text) == seconds


def test_what_was_told_is_held_against_the_truth():
    lines = [
        (1.0, "at most 9:59 left"),
        (4.0, "about 0:12 left"),
        (10.0, "about 0:05 left"),
        (19.5, "labels"),
    ]
    recording = Recording(80, 20.0, lines)
    assert [(at, factor) for at, factor, _ in recording.errors()] == [(4.0, 16 / 12), (10.0, 2.0)]
    assert "by a factor of 2.0 at worst, at 10.0 s" in recording.verdict()
    assert recording.text("coterie fit").splitlines()[2] == "  1.0 s | at most 9:59 left"


@pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are Unix's")
def test_a_command_is_recorded_on_a_terminal_of_that_width():
    says = (
        "import os, sys; print(os.get_terminal_size(2).columns, end='\\r'); sys.stdout.flush(); print('end')"
    )
    recording = record([sys.executable, "-c", says], 40)
    assert recording.lines[-1][1] == "end"
    assert recording.seconds < 60
