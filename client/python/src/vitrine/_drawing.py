# SPDX-License-Identifier: Apache-2.0
"""Draws attention in colour, in the same way as the server (docs/how-to/attention.md)."""

from __future__ import annotations

from typing import Any, Tuple

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw

Values = npt.NDArray[np.float32]
Colours = npt.NDArray[np.uint8]

MAP_WEIGHT = 0.55  # weight of the map; the grey image has 1 - MAP_WEIGHT
UNCOVERED = 0.35  # brightness outside the grid
_STEPS = 255  # odd, so that 0 has its own colour

# Ten evenly spaced colours of matplotlib's colour map inferno, which is perceptually uniform: from dark to bright
# yellow.
_INFERNO = (
    (0, 0, 4),
    (27, 12, 66),
    (75, 12, 107),
    (120, 28, 109),
    (165, 44, 96),
    (207, 68, 70),
    (237, 105, 37),
    (251, 154, 6),
    (247, 208, 60),
    (252, 255, 164),
)
# CIELAB (D65) of the colours for 0 and for both ends of the range. The ends are equally dark.
_NEUTRAL, _BLUE, _RED = (97.0, 0.0, 0.0), (39.0, 12.0, -51.0), (39.0, 60.0, 38.0)


def _sequential() -> Colours:
    steps = np.linspace(0, 1, _STEPS)
    anchors = np.linspace(0, 1, len(_INFERNO))
    channels = [np.interp(steps, anchors, channel) for channel in np.transpose(_INFERNO)]
    return np.asarray(np.rint(np.stack(channels, axis=1)), dtype=np.uint8)


def _diverging() -> Colours:
    position = np.linspace(-1, 1, _STEPS)[:, np.newaxis]
    ends = np.where(position < 0, _BLUE, _RED)
    lab = np.array(_NEUTRAL) + np.abs(position) * (ends - _NEUTRAL)
    return _srgb(lab)


def _srgb(lab: npt.NDArray[np.float64]) -> Colours:
    """Converts CIELAB to XYZ (CIE 15, D65), and XYZ to sRGB (IEC 61966-2-1). Both arrays are [n, 3]."""
    f_y = (lab[:, 0] + 16) / 116
    f = np.stack([f_y + lab[:, 1] / 500, f_y, f_y - lab[:, 2] / 200], axis=1)
    xyz = np.where(f > 6 / 29, f**3, 3 * (6 / 29) ** 2 * (f - 4 / 29)) * (0.95047, 1.0, 1.08883)
    matrix = ((3.2406, -1.5372, -0.4986), (-0.9689, 1.8758, 0.0415), (0.0557, -0.2040, 1.0570))
    linear = np.clip(xyz @ np.transpose(matrix), 0, 1)
    rgb = np.where(linear <= 0.0031308, 12.92 * linear, 1.055 * linear ** (1 / 2.4) - 0.055)
    return np.asarray(np.rint(rgb * 255), dtype=np.uint8)


_SEQUENTIAL, _DIVERGING = _sequential(), _diverging()


def value_range(values: Values, diverging: bool, keys: int = 0) -> Tuple[float, float]:
    """Returns the values at the two ends of the colour scale. If a value is negative or `diverging` is set, the range
    is symmetric around 0; otherwise it starts at 0.

    For attention weights over `keys` keys, the range extends at least to 2 / keys, so that uniform attention (1 / keys)
    gets the middle colour of the scale.
    """
    high = float(np.abs(values).max(initial=0))
    if diverging or bool((values < 0).any()):
        return -high, high
    return 0.0, max(high, 2 / keys if keys > 0 else 0.0)


def paint(values: Values, limits: Tuple[float, float], diverging: bool) -> Colours:
    """Converts [rows, columns] to RGB of [rows, columns, 3]. If the range is empty, every value gets the middle
    colour."""
    low, high = limits
    position = (values - low) / (high - low) if high > low else np.full(values.shape, 0.5)
    steps = np.clip(np.rint(position * (_STEPS - 1)), 0, _STEPS - 1).astype(np.intp)
    colours: Colours = (_DIVERGING if diverging else _SEQUENTIAL)[steps]
    return colours


def overlay(
    picture: Image.Image,
    values: Values,
    covers: Tuple[float, float, float, float],
    diverging: bool,
    min_side: int = 256,
    max_side: int = 1024,
) -> Image.Image:
    """Draws an attention map over the image.

    The image under the map is grey, so that only attention is coloured. The part of the image outside the map keeps its
    colours, dimmed. A white line marks the border of the map. `covers` gives this border: left, top, right and bottom,
    as shares (0 to 1) of the image's size. The map's values, [rows, columns], are interpolated between the centres of
    the cells.
    """
    longer = max(picture.size)
    scale = min(max(longer, min_side), max_side) / longer
    size = max(1, round(picture.width * scale)), max(1, round(picture.height * scale))
    shown = picture.convert("RGB").resize(size, Image.Resampling.LANCZOS if scale < 1 else Image.Resampling.BICUBIC)
    left, right = (int(np.clip(round(part * size[0]), 0, size[0])) for part in (covers[0], covers[2]))
    top, bottom = (int(np.clip(round(part * size[1]), 0, size[1])) for part in (covers[1], covers[3]))
    canvas: Any = np.asarray(shown).astype(np.float32) * UNCOVERED
    if right > left and bottom > top:
        smooth = Image.fromarray(np.ascontiguousarray(values, dtype=np.float32)).resize(
            (right - left, bottom - top), Image.Resampling.BICUBIC
        )
        low, high = value_range(values, diverging, values.size)
        colours = paint(np.asarray(smooth), (low, high), diverging or low < 0)
        grey = np.asarray(shown.convert("L"))[top:bottom, left:right, np.newaxis]
        canvas[top:bottom, left:right] = MAP_WEIGHT * colours + (1 - MAP_WEIGHT) * grey
    drawn = Image.fromarray(np.asarray(np.rint(canvas), dtype=np.uint8))
    if right > left and bottom > top:
        ImageDraw.Draw(drawn).rectangle((left, top, right - 1, bottom - 1), outline="white")
    return drawn


def squares(values: Values, diverging: bool, longest: int = 320, keys: int = 0) -> Image.Image:
    """Draws a matrix: one square per value, rows from the top. For `keys`, see `value_range`."""
    side = max(1, longest // max(values.shape))
    low, high = value_range(values, diverging, keys)
    colours = paint(values, (low, high), diverging or low < 0)
    return Image.fromarray(np.repeat(np.repeat(colours, side, axis=0), side, axis=1))
