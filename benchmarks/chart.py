"""Draws how far a replica was behind over time, as one SVG file that needs nothing else and follows the reader's choice of light or dark.

A grid of panels with the same axes, a row for each statement and a column for each server. Lags are on a logarithmic axis, so that 2 s can
be read beside 400 s. Python's standard library only.
"""

import math
from xml.sax.saxutils import escape

# Colours are those of drover's pages.
STYLE = """
svg { --paper: #ffffff; --ink: #1c2126; --soft: #59636e; --grid: #e3e7eb; --base: #aab2bb; --c0: #b0840d; --c1: #365fbe; --bar: #a8323e; }
@media (prefers-color-scheme: dark) {
  svg { --paper: #15181c; --ink: #e4e8ec; --soft: #9aa5b0; --grid: #2b3138; --base: #56606b; --c0: #f8b631; --c1: #56a8ff; --bar: #f2777f; }
}
text { font: 12px system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; fill: var(--soft); font-variant-numeric: tabular-nums; }
.title { font-size: 14px; font-weight: 600; }
.title, .told { fill: var(--ink); }
.paper { fill: var(--paper); }
.grid { stroke: var(--grid); }
.base { stroke: var(--base); }
.bar { stroke: var(--bar); stroke-dasharray: 5 4; }
text.bar { fill: var(--bar); stroke: none; font-weight: 600; }
.end { text-anchor: end; }
.middle { text-anchor: middle; }
.curve { fill: none; stroke-width: 1.75; stroke-linejoin: round; stroke-linecap: round; }
.c0 { stroke: var(--c0); } .c1 { stroke: var(--c1); }
circle.c0 { fill: var(--c0); } circle.c1 { fill: var(--c1); }
"""
PLOT_WIDTH, PLOT_HEIGHT = 400, 200
LEFT, RIGHT, HEAD, FOOT = 62, 22, 76, 52  # around a plot
NOTE = 26  # below all panels
LEAST = 0.05  # seconds; what is less is drawn as that
STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1200, 1800, 3600]
MOST_MARKS = 8


def draw(rows, bar):
    """Rows of panels (title, {name of a curve: lags by second or None}), and the lag that is allowed, in seconds."""
    curves = [lags for row in rows for _, panel in row for lags in panel.values()]
    axes = Axes(max(len(lags) for lags in curves), max([bar, *(lag for lags in curves for lag in lags if lag is not None)]))
    columns = max(len(row) for row in rows)
    width, height = columns * (LEFT + PLOT_WIDTH + RIGHT), len(rows) * (HEAD + PLOT_HEIGHT + FOOT) + NOTE
    drawn = [of_panel(title, panel, bar, axes, column * (LEFT + PLOT_WIDTH + RIGHT) + LEFT, line * (HEAD + PLOT_HEIGHT + FOOT) + HEAD)
             for line, row in enumerate(rows) for column, (title, panel) in enumerate(row)]
    told = " ".join(f"{title}: {name} {said(lags)}." for row in rows for title, panel in row for name, lags in panel.items())
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" aria-labelledby="title told">',
        '<title id="title">How far the replica was behind</title>', f'<desc id="told">{escape(told)}</desc>', f"<style>{STYLE}</style>",
        f'<rect class="paper" width="{width}" height="{height}"/>', *drawn,
        f'<text x="{LEFT}" y="{height - 14}">Dashed: {shown(bar)}, the most that the replica may be behind while drover chunk works.</text>', "</svg>", ""])


class Axes:
    """Where times and lags stand in a plot, in pixels."""

    def __init__(self, seconds, greatest):
        self.seconds = max(seconds, 1)
        self.low, self.high = math.log10(LEAST), math.log10(greatest * 1.3)

    def x(self, second):
        return second / self.seconds * PLOT_WIDTH

    def y(self, lag):
        return PLOT_HEIGHT * (1 - (math.log10(max(lag, LEAST)) - self.low) / (self.high - self.low))

    def times(self):
        step = next((step for step in STEPS if self.seconds / step <= MOST_MARKS), STEPS[-1])
        return range(0, self.seconds + 1, step)

    def lags(self):
        return [10.0 ** power for power in range(math.ceil(self.low), math.floor(self.high) + 1)]


def of_panel(title, panel, bar, axes, left, top):
    legend = [of_legend(number, name, lags) for number, (name, lags) in enumerate(panel.items())]
    curves = [of_curve(number, lags, axes) for number, lags in enumerate(panel.values())]
    return "\n".join([f'<g transform="translate({left} {top})">', f'<text class="title" y="{22 - HEAD}">{escape(title)}</text>', *legend,
                      *across(bar, axes), *along(axes), *curves, "</g>"])


def of_legend(number, name, lags):
    y = 44 - HEAD + number * 17
    return (f'<path class="curve c{number}" d="M0 {y - 4}h18"/><text class="told" x="26" y="{y}">{escape(name)}: {said(lags)}</text>')


def across(bar, axes):
    """The lines at the lags, their labels, and the bar."""
    for lag in axes.lags():
        yield f'<line class="grid" x2="{PLOT_WIDTH}" y1="{axes.y(lag):.1f}" y2="{axes.y(lag):.1f}"/>'
        yield f'<text class="end" x="-8" y="{axes.y(lag) + 4:.1f}">{shown(lag)}</text>'
    yield f'<line class="bar" x2="{PLOT_WIDTH}" y1="{axes.y(bar):.1f}" y2="{axes.y(bar):.1f}"/>'
    yield f'<text class="bar end" x="-8" y="{axes.y(bar) + 4:.1f}">{shown(bar)}</text>'
    yield f'<text class="middle" transform="translate(-48 {PLOT_HEIGHT / 2}) rotate(-90)">lag of the replica</text>'


def along(axes):
    """The axis of time."""
    yield f'<line class="base" x2="{PLOT_WIDTH}" y1="{PLOT_HEIGHT}" y2="{PLOT_HEIGHT}"/>'
    is_minutes = axes.times().step % 60 == 0
    for second in axes.times():
        yield f'<line class="base" x1="{axes.x(second):.1f}" x2="{axes.x(second):.1f}" y1="{PLOT_HEIGHT}" y2="{PLOT_HEIGHT + 4}"/>'
        yield f'<text class="middle" x="{axes.x(second):.1f}" y="{PLOT_HEIGHT + 18}">{second // 60 if is_minutes else second}</text>'
    unit = "minutes" if is_minutes else "seconds"
    yield f'<text class="middle" x="{PLOT_WIDTH / 2}" y="{PLOT_HEIGHT + 36}">{unit} since the start</text>'


def of_curve(number, lags, axes):
    """A line through the lags with gaps where none is known, and a dot at its end."""
    path, is_drawing, places = [], False, [(axes.x(second), lag) for second, lag in enumerate(lags)]
    for x, lag in places:
        if lag is not None:
            path.append(f"{'L' if is_drawing else 'M'}{x:.1f} {axes.y(lag):.1f}")
        is_drawing = lag is not None
    dot = [f'<circle class="c{number}" cx="{x:.1f}" cy="{axes.y(lag):.1f}" r="3"/>' for x, lag in places if lag is not None][-1:]
    return "\n".join([f'<path class="curve c{number}" d="{"".join(path)}"/>', *dot])


def said(lags):
    """What a curve comes to, in words."""
    known = [lag for lag in lags if lag is not None]
    return f"up to {shown(max(known, default=0))} behind, all applied after {span(len(lags))}"


def shown(seconds):
    return f"{seconds:,.0f} s" if seconds >= 100 or seconds == int(seconds) else f"{seconds:.1f} s"


def span(seconds):
    return f"{seconds // 60} min {seconds % 60} s" if seconds >= 60 else f"{seconds} s"
