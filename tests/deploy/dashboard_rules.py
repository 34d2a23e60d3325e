"""What a dashboard has to keep to, so that it can be imported anywhere and shows
something: the rules of grafana/dashboard-linter, over the JSON, and a few more."""

import re

import metric_names

DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
COLUMNS = 24
ON_TIME_CHANGE = 2  # of a variable's `refresh`
LABEL_VALUES = re.compile(r"label_values\((?P<series>\w[\w:]*(?:\{[^{}]*\})?), (?P<label>\w+)\)")
BUILT_IN = {"__rate_interval", "__range", "__interval"}
RANGE = re.compile(r"\[([^\]]*)\]")
OF_COUNTERS = re.compile(r"\b(?:rate|irate|increase)\(\s*([\w:]+)")


def faults(dashboard):
    """What is wrong, in words; nothing if all is right."""
    found = list(_of_the_whole(dashboard))
    for variable in _variables(dashboard).values():
        found += [f"variable {variable['name']}: {fault}" for fault in _of_variable(variable)]
    panels = dashboard["panels"]
    found += _of_places(panels)
    for panel in panels:
        if panel["type"] != "row":
            found += [f"panel {panel.get('title')!r}: {fault}" for fault in _of_panel(panel, dashboard)]
    return found


def expressions(dashboard):
    """Every (panel, target) of a dashboard."""
    return [(panel, target) for panel in dashboard["panels"] for target in panel.get("targets", [])]


def _variables(dashboard):
    return {variable["name"]: variable for variable in dashboard["templating"]["list"]}


def _of_the_whole(dashboard):
    for key in ("uid", "title", "description", "schemaVersion"):
        if not dashboard.get(key):
            yield f"no {key}"
    if dashboard.get("editable") is not False:
        yield "it can be edited"
    if dashboard.get("id") is not None:
        yield "it has the id of one Grafana's own database"
    variables = _variables(dashboard)
    if (variables.get("datasource", {}).get("type"), variables.get("datasource", {}).get("query")) \
            != ("datasource", "prometheus"):
        yield "no variable `datasource` of Prometheus' kind"
    yield from (f"no variable `{name}`" for name in ("job", "instance") if name not in variables)


def _of_variable(variable):
    if variable["type"] != "query":
        return
    query = LABEL_VALUES.fullmatch(variable["query"]["query"])
    if query is None or variable["query"]["query"] != variable["definition"]:
        yield f"{variable['query']['query']!r} is not label_values(SERIES, LABEL)"
    elif query["label"] != variable["name"]:
        yield f"it has the values of {query['label']}"
    elif not metric_names.used_in(query["series"]) <= set(metric_names.types()):
        yield f"{query['series']} is no series that is documented"
    if variable["refresh"] != ON_TIME_CHANGE:
        yield "its values are not read again when the time range changes"
    if variable["datasource"] != DATASOURCE:
        yield "its data source is a fixed one"


def _of_places(panels):
    for key in ("id", "title"):
        seen = [panel.get(key) for panel in panels]
        yield from (f"two panels have the {key} {value!r}" for value in set(seen) if seen.count(value) > 1)
    taken = {}
    for panel in panels:
        place = panel["gridPos"]
        if place["w"] < 1 or place["h"] < 1 or place["x"] + place["w"] > COLUMNS:
            yield f"panel {panel.get('title')!r} leaves the grid"
        for x in range(place["x"], place["x"] + place["w"]):
            for y in range(place["y"], place["y"] + place["h"]):
                other = taken.setdefault((x, y), panel)
                if other is not panel:
                    yield f"panel {panel.get('title')!r} lies on {other.get('title')!r}"
                    return


def _of_panel(panel, dashboard):
    for key in ("title", "description"):
        if not panel.get(key):
            yield f"no {key}"
    if not panel["fieldConfig"]["defaults"].get("unit"):
        yield "no unit"
    if panel.get("datasource") != DATASOURCE:
        yield "its data source is a fixed one"
    if not panel.get("targets"):
        yield "no target"
    for target in panel.get("targets", []):
        yield from _of_target(target, dashboard)


def _of_target(target, dashboard):
    expression = target["expr"]
    if target.get("datasource") != DATASOURCE:
        yield "a target's data source is a fixed one"
    types = metric_names.types()
    for match in metric_names.NAME.finditer(metric_names.TEXT.sub(lambda text: "_" * len(text[0]), expression)):
        name = match[0]
        if metric_names.family(name) not in types:
            yield f"{name} is not in docs/metrics.md"
        if not expression[match.end():].startswith('{job=~"$job", instance=~"$instance"'):
            yield f"{name} is not matched by job and instance"
    for span in RANGE.findall(expression):
        if span not in ("$__rate_interval", "$__range"):
            yield f"[{span}] in place of [$__rate_interval]"
    for name in OF_COUNTERS.findall(expression):
        if types.get(metric_names.family(name)) == "gauge":
            yield f"a rate of {name}, which is a gauge"
    known = BUILT_IN | set(_variables(dashboard))
    yield from (f"there is no variable ${name}" for name in re.findall(r"\$(\w+)", expression) if name not in known)
