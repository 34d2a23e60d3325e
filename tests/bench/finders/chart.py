"""A bar chart of a comparison as SVG: for each finder the part of the true batch that it
found, and the seconds it took. What fails is red, as text says too."""

from xml.sax.saxutils import escape

ROW, TOP, LEFT, WIDTH, GAP = 24, 58, 180, 250, 110
COLOURS = {"runs": "#2b7a4b", "other": "#b3362c", "seconds": "#46688f"}
FONT = "font-family='sans-serif' font-size='12'"


def text(x, y, words, anchor="start", weight="normal"):
    return f"<text x='{x:.0f}' y='{y:.0f}' text-anchor='{anchor}' font-weight='{weight}'>{escape(words)}</text>"


def bar(x, y, width, colour):
    return f"<rect x='{x}' y='{y}' width='{max(width, 1):.1f}' height='{ROW - 8}' fill='{colour}'/>"


def bars_of(row, y, slowest):
    """The row's two bars with what they say."""
    second = LEFT + WIDTH + GAP
    base = y + ROW - 11
    parts = [text(LEFT - 8, base, row.finder, "end")]
    if row.answer is None:
        return parts + [text(LEFT, base, "no answer")]
    share = min(row.of_truth or 0, 1.2) / 1.2
    colour = COLOURS["runs" if row.runs == "runs" else "other"]
    parts.append(bar(LEFT, y, WIDTH * share, colour))
    parts.append(text(LEFT + WIDTH * share + 5, base,
                      f"{row.answer}" + ("" if row.runs == "runs" else f", {row.runs}")))
    length = WIDTH * row.seconds / slowest
    parts.append(bar(second, y, length, COLOURS["seconds"]))
    return parts + [text(second + length + 5, base, f"{row.seconds:.1f} s")]


def block(title, rows, top):
    second = LEFT + WIDTH + GAP
    truth = LEFT + WIDTH / 1.2
    slowest = max([row.seconds for row in rows] + [0.1])
    parts = [text(8, top + 16, title, weight="bold"), text(LEFT, top + 36, "batch; the line is the largest that runs"),
             text(second, top + 36, "seconds to the answer")]
    for number, row in enumerate(rows):
        parts += bars_of(row, top + TOP - 12 + number * ROW, slowest)
    end = top + TOP - 12 + len(rows) * ROW
    parts.append(f"<line x1='{truth:.0f}' x2='{truth:.0f}' y1='{top + TOP - 14}' y2='{end}' "
                 "stroke='#333' stroke-dasharray='3 3'/>")
    return parts, end + 14


def svg(blocks):
    """`blocks`: pairs of a title and its rows."""
    parts, top = [], 8
    for title, rows in blocks:
        more, top = block(title, rows, top)
        parts += more
    width = LEFT + 2 * WIDTH + GAP + 80
    body = "\n".join(parts)
    return (f"<svg xmlns='http://www.w3.org/2000/svg' width='{width}' height='{top}' "
            f"viewBox='0 0 {width} {top}' {FONT} fill='#222'>\n"
            f"<rect width='{width}' height='{top}' fill='white'/>\n{body}\n</svg>\n")
