# SPDX-License-Identifier: Apache-2.0
"""Draws an SVG figure with a row for every setting and a dot for every run."""
import html

LEFT, WIDTH, ROW, TOP = 190, 700, 24, 46
INK, PALE, DOT = "#37474f", "#cfd8dc", "#00796b"


def ticks(low, high):
    """Returns about five round values within [low, high]."""
    step, wanted = 1.0, (high - low) / 5
    while step > wanted:
        step /= 10
    for factor in (1, 2, 5, 10):
        if step * factor >= wanted:
            step *= factor
            break
    first = int(low / step) + (low / step > int(low / step))
    return [round(i * step, 10) for i in range(first, int(high / step + 1e-9) + 1)]


def dots(title, unit, groups):
    """Returns the figure. `groups` are pairs of a label and the values of its runs."""
    values = [value for _, row in groups for value in row]
    low, high = min(values), max(values)
    margin = (high - low) * 0.05 or 1.0
    low, high = low - margin, high + margin
    height = TOP + ROW * len(groups) + 40

    def x(value):
        return LEFT + (value - low) / (high - low) * (WIDTH - LEFT - 20)

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="12" '
             f'fill="{INK}" role="img" aria-label="{html.escape(title)}">', f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
             f'<text x="10" y="20" font-size="14">{html.escape(title)}</text>']
    bottom = TOP + ROW * len(groups)
    for tick in ticks(low, high):
        parts.append(f'<path d="M{x(tick):.1f} {TOP - 10}V{bottom}" stroke="{PALE}"/>'
                     f'<text x="{x(tick):.1f}" y="{bottom + 16}" text-anchor="middle">{tick:g}</text>')
    parts.append(f'<text x="{(LEFT + WIDTH) / 2:.0f}" y="{bottom + 33}" text-anchor="middle">{html.escape(unit)}</text>')
    for index, (label, row) in enumerate(groups):
        y = TOP + ROW * index + 6
        parts.append(f'<text x="{LEFT - 12}" y="{y + 4}" text-anchor="end">{html.escape(label)}</text>')
        mean = sum(row) / len(row)
        parts.append(f'<path d="M{x(mean):.1f} {y - 8}v16" stroke="{INK}" stroke-width="2"/>')
        parts += [f'<circle cx="{x(value):.1f}" cy="{y}" r="4" fill="{DOT}" fill-opacity="0.55"/>' for value in row]
    return "\n".join(parts + ["</svg>"]) + "\n"
