"""Print the wheel in `dist/` that pip would take here: `python -m release.wheel_of_this_machine`."""

from __future__ import annotations

import sys
from pathlib import Path

__all__ = ["main"]

_DIST = Path(__file__).parents[1] / "dist"


def main() -> None:
    """Print its path, or say that there is none."""
    from pip._vendor.packaging.tags import sys_tags
    from pip._vendor.packaging.utils import parse_wheel_filename

    wheels = {path: parse_wheel_filename(path.name)[3] for path in sorted(_DIST.glob("*.whl"))}
    for tag in sys_tags():
        for path, tags in wheels.items():
            if tag in tags:
                print(path)
                return
    sys.exit(f"{_DIST} has no wheel for this machine: run `make wheels`.")


if __name__ == "__main__":
    main()
