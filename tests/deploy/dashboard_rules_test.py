"""The dashboards keep to the rules, each rule finds its fault, and the files are
what deploy/grafana/make-dashboards writes."""

import copy
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

from dashboard_rules import expressions, faults
from metric_names import ALERTS, ROOT, RULES, documented, used_in

GRAFANA = ROOT / "deploy" / "grafana"
NAMES = ("memplan-fleet", "memplan-models", "memplan-node")


def load(name):
    return json.loads((GRAFANA / "dashboards" / f"{name}.json").read_text())


def first_graph(dashboard):
    return next(panel for panel in dashboard["panels"] if panel["type"] == "timeseries")


def change_expression(old, new):
    def change(dashboard):
        target = first_graph(dashboard)["targets"][0]
        assert old in target["expr"], target["expr"]
        target["expr"] = target["expr"].replace(old, new)
    return change


def change_variable(name, **values):
    return lambda dashboard: next(
        v for v in dashboard["templating"]["list"] if v["name"] == name).update(values)


# What is done to the node's dashboard, and what is to be found then. Its first
# graph asks for memplan_device_snapshot_age_seconds.
BROKEN = (
    (lambda d: d.update(editable=True), "it can be edited"),
    (lambda d: d.update(description=""), "no description"),
    (lambda d: d["templating"]["list"].pop(0), "no variable `datasource`"),
    (lambda d: d["templating"]["list"].pop(1), "no variable `job`"),
    (change_variable("instance", refresh=1), "not read again"),
    (change_variable("instance", query={"query": "instances"}), "is not label_values"),
    (change_variable("instance", datasource={"type": "prometheus", "uid": "abc"}), "fixed one"),
    (lambda d: first_graph(d).update(title=""), "no title"),
    (lambda d: first_graph(d).update(description=""), "no description"),
    (lambda d: first_graph(d).update(targets=[]), "no target"),
    (lambda d: first_graph(d)["fieldConfig"]["defaults"].pop("unit"), "no unit"),
    (lambda d: first_graph(d).update(datasource=None), "fixed one"),
    (lambda d: first_graph(d).update(id=1), "two panels have the id 1"),
    (lambda d: first_graph(d)["gridPos"].update(w=25), "leaves the grid"),
    (lambda d: first_graph(d)["gridPos"].update(y=0), "lies on"),
    (change_expression('job=~"$job", ', ""), "not matched by job and instance"),
    (change_expression("age_seconds", "age_minutes"), "is not in docs/metrics.md"),
    (change_expression("$instance", "$node"), "there is no variable $node"),
    (change_expression("memplan_", "rate(memplan_"), "which is a gauge"),
    (change_expression("}", "}[5m]"), "in place of [$__rate_interval]"),
)


class DashboardRulesTest(unittest.TestCase):
    def test_the_dashboards_keep_to_the_rules(self):
        self.assertEqual(sorted(p.stem for p in (GRAFANA / "dashboards").iterdir()), list(NAMES))
        for name in NAMES:
            self.assertEqual(faults(load(name)), [], name)

    def test_every_metric_is_shown_somewhere(self):
        shown = set().union(*(used_in(target["expr"]) for name in NAMES
                              for _, target in expressions(load(name))))
        indirectly = used_in(RULES.read_text()) | used_in(ALERTS.read_text())
        self.assertEqual(set(documented()) - shown - indirectly, set())

    def test_each_rule_finds_its_fault(self):
        whole = load("memplan-node")
        for number, (spoil, words) in enumerate(BROKEN):
            with self.subTest(number=number, words=words):
                broken = copy.deepcopy(whole)
                spoil(broken)
                self.assertIn(words, "\n".join(faults(broken)))

    def test_the_files_are_what_the_program_writes(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([sys.executable, "-B", GRAFANA / "make-dashboards", folder], check=True)
            for name in NAMES:
                written = (pathlib.Path(folder) / f"{name}.json").read_text()
                self.assertEqual((GRAFANA / "dashboards" / f"{name}.json").read_text(), written,
                                 "run deploy/grafana/make-dashboards")


if __name__ == "__main__":
    unittest.main()
