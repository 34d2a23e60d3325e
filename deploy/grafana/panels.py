"""What Grafana's JSON wants, in few words: panels, variables, a dashboard. Panels
flow from left to right in a grid 24 wide; a row begins a new line."""

DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
WIDTH = 24


def target(expr, legend="", *, table=False, heatmap=False):
    form = "table" if table else "heatmap" if heatmap else "time_series"
    return {"datasource": DATASOURCE, "expr": expr, "legendFormat": legend, "format": form,
            "instant": table, "range": not table, "editorMode": "code"}


class Panels:
    """The panels of a dashboard, each with its place and its id."""

    def __init__(self):
        self.panels = []
        self.x = self.y = self.line = 0

    def row(self, title):
        self._end_line()
        self._place({"type": "row", "title": title, "collapsed": False, "panels": []}, WIDTH, 1)

    def stat(self, title, description, targets, *, unit="short", words=None, name=False, width=6):
        """The last values as numbers; `words` are what 0 and 1 stand for."""
        mappings = [{"type": "value", "options": {
            "0": {"text": words[0], "color": "red"}, "1": {"text": words[1], "color": "green"}}}] if words else []
        self._add("stat", title, description, targets, width, 4, unit, {"mappings": mappings},
                  {"textMode": "name" if name else "auto", "colorMode": "background" if words else "value",
                   "graphMode": "none", "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False}})

    def graph(self, title, description, targets, *, unit="short", stacked=False, width=12, repeat=None, top=None):
        custom = {"fillOpacity": 40 if stacked else 0, "showPoints": "never",
                  "stacking": {"mode": "normal" if stacked else "none", "group": "A"}}
        defaults = {"custom": custom, "min": 0}
        if top is not None:
            defaults["max"] = top
        more = {"repeat": repeat, "repeatDirection": "h", "maxPerRow": 2} if repeat else {}
        self._add("timeseries", title, description, targets, width, 8, unit, defaults,
                  {"legend": {"displayMode": "table", "placement": "bottom", "calcs": ["lastNotNull", "max"]},
                   "tooltip": {"mode": "multi", "sort": "desc"}}, more)

    def bars(self, title, description, targets, *, unit="short", width=12, top=None):
        defaults = {"min": 0} if top is None else {"min": 0, "max": top}
        self._add("bargauge", title, description, targets, width, 8, unit, defaults,
                  {"orientation": "horizontal", "displayMode": "basic", "valueMode": "text",
                   "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False}})

    def heatmap(self, title, description, expr, *, unit, width=12):
        self._add("heatmap", title, description, [target(expr, "{{le}}", heatmap=True)], width, 8, unit, {},
                  {"calculate": False, "yAxis": {"unit": unit}, "color": {"mode": "scheme", "scheme": "Oranges"}})

    def table(self, title, description, targets, *, unit="short", hide=(), rename=None, width=12):
        """One row for each set of labels, one column for each target."""
        hidden = {name: True for name in ("Time", "__name__", "job", *hide)}
        transformations = [{"id": "merge", "options": {}},
                           {"id": "organize", "options": {"excludeByName": hidden, "renameByName": rename or {}}}]
        self._add("table", title, description, targets, width, 8, unit, {}, {"showHeader": True},
                  {"transformations": transformations})

    def _add(self, kind, title, description, targets, width, height, unit, defaults, options, more=None):
        named = [dict(t, refId=chr(ord("A") + i)) for i, t in enumerate(targets)]
        self._place({"type": kind, "title": title, "description": description, "datasource": DATASOURCE,
                     "targets": named, "fieldConfig": {"defaults": {"unit": unit, **defaults}, "overrides": []},
                     "options": options, **(more or {})}, width, height)

    def _place(self, panel, width, height):
        if self.x + width > WIDTH:
            self._end_line()
        panel["id"] = len(self.panels) + 1
        panel["gridPos"] = {"x": self.x, "y": self.y, "w": width, "h": height}
        self.panels.append(panel)
        self.x += width
        self.line = max(self.line, height)
        if panel["type"] == "row":
            self._end_line()

    def _end_line(self):
        self.x, self.y, self.line = 0, self.y + self.line, 0


def datasource_variable():
    return {"name": "datasource", "label": "Prometheus", "type": "datasource", "query": "prometheus",
            "refresh": 1, "hide": 0, "current": {}, "options": [], "includeAll": False, "multi": False}


def variable(name, label, series, of_label, *, many=True):
    """The values of a label, asked for again whenever the time range changes."""
    query = f"label_values({series}, {of_label})"
    everything = {"selected": True, "text": ["All"], "value": ["$__all"]}
    return {"name": name, "label": label, "type": "query", "datasource": DATASOURCE,
            "definition": query, "query": {"query": query, "refId": "Variable"},
            "refresh": 2, "sort": 1, "hide": 0, "regex": "", "multi": many, "includeAll": many,
            "allValue": ".+" if many else None, "current": everything if many else {}, "options": []}


def dashboard(uid, title, description, variables, panels, others):
    links = [{"type": "link", "title": other_title, "url": f"/d/{other}", "keepTime": True, "icon": "dashboard"}
             for other, other_title in others if other != uid]
    return {"uid": uid, "title": title, "description": description, "tags": ["memplan"],
            "editable": False, "graphTooltip": 1, "schemaVersion": 38, "version": 1, "id": None,
            "time": {"from": "now-1h", "to": "now"}, "refresh": "30s", "timezone": "browser",
            "annotations": {"list": []}, "links": links,
            "templating": {"list": [datasource_variable(), *variables]}, "panels": panels.panels}
