"""The platforms that wheels are made for, and how Zig's Clang and CMake are told of each."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["TARGETS", "Target"]


@dataclass(frozen=True)
class Target:
    """One platform.

    Parameters
    ----------
    zig : str
        The target of ``zig c++``, with the oldest C library that it may ask for.
    platform : str
        The platform in the wheel's name.
    processor : str
        CMake's name of the processor, which says which instruction sets are compiled.
    suffix : str
        The ending of an extension module of CPython 3.11.
    system : str
        CMake's name of the system, where it or the processor are not those that build; without, CMake takes these.
    """

    zig: str
    platform: str
    processor: str
    suffix: str
    system: str = ""

    @property
    def is_linux(self) -> bool:
        """Whether `auditwheel` knows it, and tests run with it here."""
        return "linux" in self.platform

    @property
    def musl(self) -> str:
        """What a module asks for where musl is the C library; empty elsewhere."""
        return f"libc.musl-{self.processor}.so.1" if "musl" in self.zig else ""

    @property
    def built_as(self) -> str:
        """The platform as Python says it while the wheel is built; of Linux, a build knows no version."""
        return f"linux-{self.processor}" if self.is_linux else self.platform.replace("_", "-")


TARGETS = {
    "linux-x86_64": Target(
        "x86_64-linux-gnu.2.28", "manylinux_2_28_x86_64", "x86_64", ".cpython-311-x86_64-linux-gnu.so"
    ),
    "linux-aarch64": Target(
        "aarch64-linux-gnu.2.28",
        "manylinux_2_28_aarch64",
        "aarch64",
        ".cpython-311-aarch64-linux-gnu.so",
        "Linux",
    ),
    "musl-x86_64": Target(
        "x86_64-linux-musl", "musllinux_1_2_x86_64", "x86_64", ".cpython-311-x86_64-linux-musl.so"
    ),
    "musl-aarch64": Target(
        "aarch64-linux-musl",
        "musllinux_1_2_aarch64",
        "aarch64",
        ".cpython-311-aarch64-linux-musl.so",
        "Linux",
    ),
    "macos-arm64": Target(
        "aarch64-macos.11.0", "macosx_11_0_arm64", "arm64", ".cpython-311-darwin.so", "Darwin"
    ),
    "macos-x86_64": Target(
        "x86_64-macos.10.15", "macosx_10_15_x86_64", "x86_64", ".cpython-311-darwin.so", "Darwin"
    ),
    "windows-x86_64": Target("x86_64-windows-gnu", "win_amd64", "AMD64", ".cp311-win_amd64.pyd", "Windows"),
}
