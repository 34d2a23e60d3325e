"""Markdown of a comparison, and its place in a document between two markers."""

import summary

BEGIN = "<!-- made by tests/bench/finders/table: begin -->"
END = "<!-- made by tests/bench/finders/table: end -->"
NOTHING = "Not measured yet: `tests/bench/finders/run` has to run on a GPU."


def markdown(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def number(value, form="{:.1f}"):
    return "–" if value is None else form.format(value)


def title_of(cell, cap_gib, truth):
    model, mode = cell.split(":")
    return f"{model}, {mode}, {cap_gib} GiB: largest batch that runs {'not known' if truth is None else truth}"


def blocks_of(lines):
    """A title and its rows for each cell."""
    return [(title_of(*cell, summary.truth_of(lines, *cell)), summary.rows_of(lines, *cell))
            for cell in summary.cells_of(lines)]


def finders_table(rows):
    head = ["finder", "batch", "% of the largest", "three fresh runs", "trials", "OOMs", "seconds",
            "process start s", "another card: batch", "seconds"]
    return markdown(head, [
        [row.finder, number(row.answer, "{}"), number(row.of_truth and 100 * row.of_truth, "{:.0f}"), row.runs,
         row.trials, row.ooms, number(row.seconds), number(row.start_seconds), number(row.again_answer, "{}"),
         number(row.again_seconds)] for row in rows])


def models_table(lines):
    """A row a cell; the last line of a cell counts, one with an answer before one without."""
    head = ["model", "mode", "cap GiB", "batch", "proof of N, N+1", "trials", "OOMs", "seconds"]
    rows = []
    for cell in summary.in_order(line["cell"] for line in lines):
        line = summary.last(lines, cell=cell)
        model, mode, cap, run_as = cell.split(":")
        if "failure" in line:
            rows.append([model, f"{mode} as {run_as}", cap, "–", "failed", "–", "–", "–"])
            continue
        batch = summary.batch_of(line)
        proof = ", ".join(line["proof"].get(str(n), "–").replace("_", " ") for n in (batch, batch + 1))
        rows.append([model, f"{mode} as {run_as}", cap, batch, proof, len(line["trials"]), line["ooms"],
                     number(line["seconds"])])
    return markdown(head, rows)


def import_note(lines):
    """What a process would pay that is not forked from one that has imported."""
    found = next((line["import_seconds"] for line in lines if line.get("import_seconds")), None)
    if not found:
        return ""
    return "Imports, not in the seconds: " + ", ".join(f"{name} {value:.1f} s" for name, value in found.items()) + "."


def document_part(finders, models, chart):
    """All that stands between the markers."""
    parts = []
    machine = summary.last(finders, kind="machine")
    if machine:
        parts.append(f"{machine['date']}, {machine['gpu']}, {machine['total_bytes']:,} bytes, "
                     f"torch {machine['torch']}.")
    if chart:
        parts.append(f"![Batch and seconds of each finder]({chart})")
    for title, rows in blocks_of(finders):
        parts += [f"### {title}", finders_table(rows)]
        parts += [f"{row.finder} gave no answer: {row.failure.strip().splitlines()[-1]}" for row in rows if row.failure]
    if finders:
        parts.append(import_note(finders))
    if models:
        parts += ["### memplan over ten models", models_table(models)]
    best = [summary.last(models, cell=cell) for cell in summary.in_order(line["cell"] for line in models)]
    goals = (summary.goals_of_finders(finders) if finders else []) + summary.goals_of_models(best)
    if goals:
        parts.append(markdown(["goal", "wanted", "seen"], [[goal.name, goal.wanted, goal.seen] for goal in goals]))
    return "\n\n".join(part for part in parts if part) or NOTHING


def between_markers(text, made):
    """`text` with what is between the markers replaced. Raises ValueError without them."""
    begin, end = text.index(BEGIN) + len(BEGIN), text.index(END)
    return f"{text[:begin]}\n{made}\n{text[end:]}"
