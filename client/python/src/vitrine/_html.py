# SPDX-License-Identifier: Apache-2.0
"""Notebook display of results: self-contained HTML without scripts, light or dark."""

from __future__ import annotations

import base64
import io
from html import escape
from typing import TYPE_CHECKING, List, Tuple

import numpy as np
from PIL import Image

from vitrine._names import escaped
from vitrine.errors import VitrineError

if TYPE_CHECKING:
    from vitrine._result import AttentionMap, Prediction, Refused, Result

_SIDE = 224  # longer side of an image in pixels
_MOST_MAPS = 24
_BAR = "background:#3b7dd8;opacity:.75;height:.7em;border-radius:2px"
_CAPTION = "font-size:85%;opacity:.75"


def of_result(result: Result) -> str:
    by, grid = result.served_by, result.grid
    foot = "%s%s, version %d, %d x %d tokens, %.1f ms" % (
        "unsure; " if result.unsure else "",
        by.model,
        by.version,
        grid.rows,
        grid.columns,
        1000 * result.timings.total,
    )
    figures = _pictures(result)
    figures.insert(
        1,
        '<div style="min-width:17em">%s<div style="%s;margin-top:.6em">%s</div></div>'
        % (_bars(result.predictions), _CAPTION, escape(foot)),
    )
    return '<div style="display:flex;flex-wrap:wrap;gap:1em;align-items:flex-start">%s</div>' % "".join(figures)


def of_refused(refused: Refused) -> str:
    return '<div><b>%s</b> <span style="color:#c0392b">%s</span>: %s</div>' % (
        escape(escaped(refused.source)),
        escape(refused.code),
        escape(str(refused.error)),
    )


def _pictures(result: Result) -> List[str]:
    try:
        figures = [_figure(result.picture(2 * _SIDE), escaped(result.source))]
        figures += [_figure(_draw(shown), _caption(shown)) for shown in result.attention[:_MOST_MAPS]]
    except (OSError, VitrineError) as error:
        return ['<div style="%s">the picture cannot be shown: %s</div>' % (_CAPTION, escape(str(error)))]
    left_out = len(result.attention) - _MOST_MAPS
    if left_out > 0:
        figures.append('<div style="%s">and %d more maps</div>' % (_CAPTION, left_out))
    return figures


def _caption(shown: AttentionMap) -> str:
    unit = " pixels, a row per layer, a column per head" if shown.kind == "distance" else ""
    return "%s: %.3g to %.3g%s" % (shown.title, np.nanmin(shown.values), np.nanmax(shown.values), unit)


def _draw(shown: AttentionMap) -> Image.Image:
    return shown.draw() if shown.covers is None else shown.overlay(min_side=_SIDE, max_side=2 * _SIDE)


def _figure(image: Image.Image, caption: str) -> str:
    """Returns the HTML of an image. Embeds up to twice as many pixels per side as are displayed, for high-density
    screens."""
    image.thumbnail((2 * _SIDE, 2 * _SIDE))
    file = io.BytesIO()
    image.save(file, "PNG")
    scale = _SIDE / max(image.size)
    return (
        '<figure style="margin:0;max-width:%dpx"><img src="data:image/png;base64,%s" width="%d" height="%d" '
        'style="display:block;border-radius:3px" alt="%s"><figcaption style="%s;overflow-wrap:anywhere">%s</figcaption>'
        "</figure>"
    ) % (
        _SIDE,
        base64.b64encode(file.getvalue()).decode("ascii"),
        max(1, round(image.width * scale)),
        max(1, round(image.height * scale)),
        escape(caption, quote=True),
        _CAPTION,
        escape(caption),
    )


def _bars(predictions: Tuple[Prediction, ...]) -> str:
    rows = [
        '<div style="text-align:right">%s</div><div><div style="width:%.2f%%;min-width:1px;%s"></div></div>'
        '<div style="text-align:right">%.1f %%</div>'
        % (escape(p.label), 100 * min(1.0, max(0.0, p.probability)), _BAR, 100 * p.probability)
        for p in predictions
    ]
    grid = "display:grid;grid-template-columns:auto 8em auto;gap:.25em .6em;align-items:center"
    return '<div style="%s">%s</div>' % (grid, "".join(rows))
