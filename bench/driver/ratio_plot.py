# SPDX-License-Identifier: Apache-2.0
"""Draws ratios: a dot for the median, a line from the lowest to the highest round, a tick at the goal."""
import html
import math

AXIS, LEFT, RIGHT, TOP, LINE = 510, 380, 70, 64, 26
LETTER = 7.4  # pixels, approximately


def svg(title, rows):
    """Returns the plot of the rows whose unit contains "times"."""
    rows = [row for row in rows if row.unit.startswith("times")]
    low = math.floor(5 * min(0.8, *(row.values[1] for row in rows))) / 5
    high = math.ceil(5 * max(1.2, *(max(row.values[2], row.goal or 0) for row in rows))) / 5
    left = max(LEFT, round(LETTER * max(len(row.what) for row in rows)) + 34)  # the longest name must fit
    width, height = left + AXIS + RIGHT, TOP + LINE * len(rows) + 40

    def x(ratio):
        return left + AXIS * (ratio - low) / (high - low)

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="DejaVu Sans, Verdana, sans-serif" font-size="13">',
             f'<rect width="{width}" height="{height}" fill="white"/>',
             f'<text x="20" y="28" font-size="16">{html.escape(title)}</text>',
             f'<text x="20" y="48" fill="#555">dot: median; line: lowest to highest round; tick: goal</text>']
    step = 0.2 if high - low <= 2 else 0.5 if high - low <= 5 else 1
    for i in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1):
        ratio = step * i  # whole steps, so that 1 is a tick
        parts.append(f'<line x1="{x(ratio):.1f}" x2="{x(ratio):.1f}" y1="{TOP}" y2="{height - 30}" '
                     f'stroke="{"#888" if abs(ratio - 1) < 1e-9 else "#e4e4e4"}"/>'
                     f'<text x="{x(ratio):.1f}" y="{height - 12}" text-anchor="middle" fill="#555">{ratio:.1f}</text>')
    for i, row in enumerate(rows):
        y, (median, lowest, highest) = TOP + LINE * (i + 0.5), row.values
        color = "#b03a2e" if row.judgement() == "MISSED" else "#1f6f43"
        parts.append(f'<text x="{left - 14}" y="{y + 4}" text-anchor="end">{html.escape(row.what)}</text>'
                     f'<line x1="{x(lowest):.1f}" x2="{x(highest):.1f}" y1="{y}" y2="{y}" stroke="{color}" stroke-width="2"/>'
                     f'<circle cx="{x(median):.1f}" cy="{y}" r="5" fill="{color}"/>'
                     f'<text x="{width - RIGHT + 14}" y="{y + 4}" fill="{color}">{median:.2f}</text>')
        if row.goal is not None:
            parts.append(f'<line x1="{x(row.goal):.1f}" x2="{x(row.goal):.1f}" y1="{y - 8}" y2="{y + 8}" stroke="black"/>')
    return "\n".join([*parts, "</svg>"]) + "\n"
