"""Rows that are images, small: each by itself, and all of a sample on one sheet."""

from __future__ import annotations

import io
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from coterie.arrays import Array, FloatArray
from coterie.reports.page import data_address
from coterie.reports.subject import Subject

__all__ = ["Sprite", "image_png", "sprite"]

# What the sheet of all rows may take of the page, and the side of an image on it.
_MOST_BYTES = 1_200_000
_SIDES = (28, 20, 14, 10, 8)


@dataclass(frozen=True, slots=True)
class Sprite:
    """One picture with all rows of a sample, line by line.

    Attributes
    ----------
    address : str
        The picture, as an address that holds it.
    width, height : int
        Of one row, in pixels.
    columns : int
        Rows on a line.
    """

    address: str
    width: int
    height: int
    columns: int


def image_png(values: Array, shape: tuple[int, ...], *, is_dark_on_light: bool = True) -> bytes:
    """Return a row as a PNG of its own range of gray, or of its colors."""
    from PIL import Image

    buffer = io.BytesIO()
    Image.fromarray(_as_bytes(_dense(values).reshape(shape), is_dark_on_light)).save(buffer, "PNG")
    return buffer.getvalue()


def sprite(subject: Subject) -> Sprite | None:
    """Return all rows of the sample on one sheet, as small as they must be; None where rows are no images."""
    if subject.image_shape is None:
        return None
    from PIL import Image

    height, width, *colors = subject.image_shape
    n_rows = len(subject.sample.rows)
    columns = int(np.ceil(np.sqrt(n_rows)))
    block = _dense(subject.sample.block).reshape(n_rows, height, width, *colors)
    content = b""
    for side in _SIDES:
        factor = max(1, -(-max(height, width) // side))
        small = _shrunk(block, factor)
        sheet = _sheet(_as_bytes(small, True), columns)
        buffer = io.BytesIO()
        Image.fromarray(sheet).save(buffer, "WEBP", quality=40, method=2)
        content = buffer.getvalue()
        if len(content) <= _MOST_BYTES:
            break
    if len(content) > _MOST_BYTES:
        return None
    return Sprite(data_address(content, "image/webp"), small.shape[2], small.shape[1], columns)


def _shrunk(images: FloatArray, factor: int) -> FloatArray:
    """Means of squares of pixels; what is left over at the edges goes."""
    if factor == 1:
        return images
    n, height, width, *colors = images.shape
    high, wide = height // factor, width // factor
    cut = images[:, : high * factor, : wide * factor]
    return cut.reshape(n, high, factor, wide, factor, *colors).mean(axis=(2, 4))


def _sheet(images: Array, columns: int) -> Array:
    n, height, width, *colors = images.shape
    lines = -(-n // columns)
    padded = np.zeros((lines * columns, height, width, *colors), dtype=np.uint8)
    padded[:n] = images
    cells = padded.reshape(lines, columns, height, width, *colors)
    return np.ascontiguousarray(np.moveaxis(cells, 2, 1).reshape(lines * height, columns * width, *colors))


def _as_bytes(images: FloatArray, is_dark_on_light: bool) -> Array:
    """Numbers as gray from white to black, or as colors."""
    low, high = images.min(), images.max()
    scaled = (images - low) / ((high - low) or 1.0)
    is_grey = images.shape[-1] not in (3, 4) or images.ndim == 2
    return (255 * (1 - scaled if is_grey and is_dark_on_light else scaled)).astype(np.uint8)


def _dense(block: Any) -> FloatArray:
    return block.toarray() if sp.issparse(block) else np.asarray(block)
