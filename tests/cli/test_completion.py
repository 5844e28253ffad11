"""Completion in shells: `coterie completion` and `--install-completion`."""

import shutil
import subprocess

import pytest

from coterie.cli import main


@pytest.fixture
def script(capsys):
    def script_of(shell):
        assert main(["completion", shell]) == 0
        return capsys.readouterr().out

    return script_of


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_commands_and_options_are_in_the_script(script, shell):
    text = script(shell)
    for word in ("fit", "predict", "select-graph-weight", "chain-length", "covariance"):
        assert word in text
    # Once sourced, zsh must know what completes the command.
    assert text.endswith("compdef _cyclopts_coterie coterie\nfi\n") == (shell == "zsh")


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash to complete in")
def test_bash_completes(script):
    """What bash itself would offer after these words."""
    text = script("bash")
    name = text.rpartition("complete ")[2].partition("-F ")[2].split()[0]
    asked = {
        ("coterie", "sel"): "select-graph-weight",
        ("coterie", "fit", "--chain"): "--chain-length",
        ("coterie", "fit", "rows.npy", "--inner"): "--inner-tol",
    }
    lines = [text]
    for words in asked:
        line = " ".join(words)
        lines += [
            f"COMPREPLY=(); COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}",
            f'COMP_LINE="{line}"; COMP_POINT={len(line)}; {name}; echo "${{COMPREPLY[*]}}"',
        ]
    done = subprocess.run(
        ["bash", "-c", "\n".join(lines)], capture_output=True, text=True, timeout=60, check=False
    )
    for offered, expected in zip(done.stdout.splitlines(), asked.values(), strict=True):
        assert expected in offered.split()


@pytest.mark.skipif(shutil.which("zsh") is None, reason="there is no zsh here to read the script")
def test_zsh_reads_the_script(script, tmp_path):
    (tmp_path / "_coterie").write_text(script("zsh"))
    done = subprocess.run(
        ["zsh", "-n", str(tmp_path / "_coterie")], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(shutil.which("zsh") is None, reason="there is no zsh here to complete in")
def test_zsh_completes_once_the_script_is_sourced(script, tmp_path):
    (tmp_path / "sourced").write_text(script("zsh"))
    lines = f"autoload -Uz compinit; compinit -u -D; source {tmp_path}/sourced; print $_comps[coterie]"
    done = subprocess.run(["zsh", "-f", "-c", lines], capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout.strip(), done.stderr) == ("_cyclopts_coterie", "")
