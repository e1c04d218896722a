#!/usr/bin/env python3
"""Draws curves as SVG: draw.py points directory. Points are lines `chart | curve | x | y | low | high`; each chart
becomes performance-<chart>.svg. Nothing but the standard library, and no fonts of its own."""
import math
import sys

WIDTH, HEIGHT = 760, 380
LEFT, RIGHT, TOP, BOTTOM = 70, 190, 44, 50
COLOURS = ["#0b6e4f", "#6a4c93", "#c8553d", "#33658a", "#f2a541"]
CHARTS = {
    "inserts": ("Durable inserts of 500 bytes", "connections", "inserts per second", "log2", "linear"),
    "reads": ("Point reads", "connections", "reads per second", "log2", "linear"),
    "expiry": ("Reads while a million documents die at 0: p99, from p50 to p99.9", "seconds", "milliseconds",
               "linear", "log"),
    "expiry-writes": ("Writes while a million documents die at 0: p99, from p50 to p99.9", "seconds", "milliseconds",
                      "linear", "log"),
    "disk": ("Disk while a million documents die at 0", "seconds", "MB", "linear", "linear"),
}


def read_points(path):
    charts = {}
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            chart, curve, *numbers = [part.strip() for part in line.split("|")]
            charts.setdefault(chart, {}).setdefault(curve, []).append([float(n) for n in numbers])
    return charts


def round_steps(top):
    """Steps of 1, 2 or 5 times a power of ten, five or so up to the top."""
    step = 10 ** math.floor(math.log10(top / 4))
    for factor in (1, 2, 5, 10):
        if top / (step * factor) <= 6:
            return [i * step * factor for i in range(int(top / (step * factor)) + 1)]
    return [0, top]


class Axis:
    def __init__(self, kind, values, low, high):
        self.kind, self.low, self.high = kind, low, high
        values = [v for v in values if kind == "linear" or v > 0] or [1]
        self.first, self.last = min(values), max(values)
        if kind == "log":
            self.first = 10 ** math.floor(math.log10(self.first))
            self.last = 10 ** math.ceil(math.log10(self.last * 1.0001))

    def at(self, value):
        change = (lambda v: v) if self.kind == "linear" else (lambda v: math.log2(max(v, self.first)))
        span = change(self.last) - change(self.first) or 1
        return self.low + (change(value) - change(self.first)) / span * (self.high - self.low)

    def steps(self):
        if self.kind == "log2":
            return [2**i for i in range(12) if self.first <= 2**i <= self.last]
        if self.kind == "log":
            count = round(math.log10(self.last / self.first))
            return [self.first * 10**i for i in range(count + 1)]
        step = round_steps(self.last)[1]
        return [i * step for i in range(math.ceil(self.first / step), int(self.last / step) + 1)]


def show(number):
    return f"{number:,.0f}" if abs(number) >= 1 or number == 0 else f"{number:g}"


def frame(title, x_name, y_name, x_axis, y_axis):
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM
    yield f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>'
    yield f'<text x="{LEFT}" y="24" font-size="16" font-weight="bold">{title}</text>'
    for step in y_axis.steps():
        y = y_axis.at(step)
        yield f'<line x1="{LEFT}" y1="{y:.1f}" x2="{right}" y2="{y:.1f}" stroke="#ddd"/>'
        yield f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{show(step)}</text>'
    for step in x_axis.steps():
        x = x_axis.at(step)
        yield f'<line x1="{x:.1f}" y1="{bottom}" x2="{x:.1f}" y2="{bottom + 5}" stroke="#888"/>'
        yield f'<text x="{x:.1f}" y="{bottom + 19}" text-anchor="middle">{show(step)}</text>'
    yield f'<line x1="{LEFT}" y1="{bottom}" x2="{right}" y2="{bottom}" stroke="#888"/>'
    yield f'<text x="{(LEFT + right) / 2}" y="{HEIGHT - 10}" text-anchor="middle">{x_name}</text>'
    middle = (TOP + bottom) / 2
    yield f'<text x="14" y="{middle}" text-anchor="middle" transform="rotate(-90 14 {middle})">{y_name}</text>'


def draw(chart, curves):
    title, x_name, y_name, x_kind, y_kind = CHARTS[chart]
    points = [p for curve in curves.values() for p in curve]
    x_axis = Axis(x_kind, [p[0] for p in points], LEFT, WIDTH - RIGHT)
    heights = [p[1] for p in points] + [p[3] for p in points]
    y_axis = Axis(y_kind, heights + ([0] if y_kind == "linear" else []), HEIGHT - BOTTOM, TOP)
    yield (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" '
           f'font-size="12" role="img" aria-label="{title}">')
    yield from frame(title, x_name, y_name, x_axis, y_axis)
    for number, (name, curve) in enumerate(curves.items()):
        colour = COLOURS[number % len(COLOURS)]
        line = " ".join(f"{x_axis.at(p[0]):.1f},{y_axis.at(p[1]):.1f}" for p in sorted(curve))
        yield f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>'
        for x, _, low, high in (p for p in curve if p[3] > 0):
            yield (f'<line x1="{x_axis.at(x):.1f}" y1="{y_axis.at(low):.1f}" x2="{x_axis.at(x):.1f}" '
                   f'y2="{y_axis.at(high):.1f}" stroke="{colour}" stroke-opacity="0.4"/>')
        y = TOP + 10 + 20 * number
        yield f'<rect x="{WIDTH - RIGHT + 14}" y="{y - 9}" width="12" height="12" fill="{colour}"/>'
        yield f'<text x="{WIDTH - RIGHT + 32}" y="{y + 2}">{name}</text>'
    yield "</svg>"


def main():
    points, directory = sys.argv[1:]
    for chart, curves in read_points(points).items():
        with open(f"{directory}/performance-{chart}.svg", "w", encoding="utf-8") as out:
            out.write("\n".join(draw(chart, curves)) + "\n")


if __name__ == "__main__":
    main()
