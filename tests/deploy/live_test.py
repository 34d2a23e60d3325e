"""A real Prometheus scrapes a real daemon that has made-up GPUs and has run a
probe. Every expression of every dashboard, rule and alert is asked of it: each
parses, and what a dashboard asks for is there."""

import json
import os
import re
import unittest
import urllib.request

from dashboard_rules import LABEL_VALUES, expressions
from harness import ERROR, INPUT, IntegrationTest, wait_until
from metric_names import ALERTS, ROOT, RULES, alerts, documented, family, recorded, types, used_in
from prometheus_server import Prometheus

PROGRAM = os.environ.get("MEMPLAN_TEST_PROMETHEUS", "")
DASHBOARDS = sorted((ROOT / "deploy" / "grafana" / "dashboards").glob("*.json"))
SPAN = "1m"  # in place of $__rate_interval and $__range
STRANGER = {"pid": 4711, "name": "python3", "used": "30GiB"}
# Without data here, where no adopted job ends and nothing is served with TLS: they
# have to parse.
EMPTY_HERE = {"node:memplan_observed_to_estimate:mean1d", "memplan_tls_certificate_not_after_seconds",
              "memplan_tls_reload_failures_total"}


def gpu(number, name, total, **more):
    return {"id": f"GPU-{number}", "name": name, "total": f"{total}GiB", "driver_reserve": "1GiB",
            "driver_version": "580.1", **more}


@unittest.skipUnless(PROGRAM, "prometheus is not installed")
class LiveTest(IntegrationTest):
    def setUp(self):
        super().setUp()
        self.write_devices([STRANGER])
        self.start_server("--devices", f"script:{self.folder / 'devices.json'}", "--process-series", "5")
        self.prometheus = Prometheus(PROGRAM, self.folder, self.server.metrics, RULES, ALERTS)
        self.addCleanup(self.prometheus.stop)
        self.prometheus.start()

    def write_devices(self, processes, read_error=""):
        devices = [gpu(1, "NVIDIA H200", 140, used="40GiB", processes=processes, read_error=read_error),
                   gpu(2, "NVIDIA H200", 140, used="0B"), gpu(3, "NVIDIA L4", 24, used="2GiB")]
        new = self.folder / "devices.json.new"
        new.write_text(json.dumps({"devices": devices}))
        new.rename(self.folder / "devices.json")

    def make_the_counters_move(self):
        """A series that begins above 0 has a rate only once it has gone on."""
        wait_until(lambda: self.prometheus.query("up == 1"), "the first scrape")
        self.memplan("probe", self.scripted_model(limit_batch=3), "--input", INPUT,
                     "--device", "GPU-2", "--cap", "1GiB")
        self.memplan("watch", "no-such-probe", code=ERROR)
        wait_until(lambda: self.prometheus.query('memplan_rpcs_total{code="NOT_FOUND"}'), "the error")
        self.memplan("watch", "no-such-probe", code=ERROR)

    def resolve(self, dashboard):
        """The dashboard's variables with values that Prometheus has for them."""
        chosen = {"__rate_interval": SPAN, "__range": SPAN}
        for variable in dashboard["templating"]["list"]:
            if variable["type"] != "query":
                continue
            query = LABEL_VALUES.fullmatch(self.expand(variable["definition"], chosen))
            values = wait_until(lambda: self.prometheus.label_values(query["series"], query["label"]),
                                f"values of {variable['name']}")
            chosen[variable["name"]] = variable["allValue"] or values[0]
        return chosen

    @staticmethod
    def expand(expression, chosen):
        return re.sub(r"\$(\w+)", lambda name: chosen[name[1]], expression)

    def wait_for_data(self, asked):
        """Waits until each expression has data that can have some here."""
        left = list(asked)

        def nothing_is_left():
            left[:] = [one for one in left if not self.prometheus.query(one) and not used_in(one) & EMPTY_HERE]
            if left:  # a rate of calls wants calls between two scrapes
                self.memplan("watch", "no-such-probe", code=ERROR)
            return not left
        try:
            wait_until(nothing_is_left, "data")
        except AssertionError as error:
            raise AssertionError("no data for\n" + "\n".join(left)) from error

    def check_dashboard(self, path):
        dashboard = json.loads(path.read_text())
        chosen = self.resolve(dashboard)
        asked = [(self.expand(target["expr"], chosen), target) for _, target in expressions(dashboard)]
        self.wait_for_data(expression for expression, _ in asked)
        for expression, target in asked:
            labels = re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]) if target["format"] != "heatmap" else []
            for series in self.prometheus.query(expression):
                self.assertLessEqual(set(labels), set(series["metric"]), f"the legend of {expression}")

    def check_rules(self):
        wait_until(lambda: all(rule["health"] != "unknown" for rule in self.prometheus.rules()), "every rule")
        rules = {rule["name"]: rule for rule in self.prometheus.rules()}
        self.assertEqual(set(rules), {*recorded(), *alerts()})
        for rule in rules.values():
            with self.subTest(rule=rule["name"]):
                self.assertEqual((rule["health"], rule.get("lastError")), ("ok", None))
                series = self.prometheus.query(rule["query"])
                if rule["type"] == "recording":
                    self.assertEqual(bool(series), rule["name"] not in EMPTY_HERE)

    def check_that_names_are_real(self):
        with urllib.request.urlopen(f"http://{self.server.metrics}/metrics", timeout=20) as page:
            live = set(re.findall(r"^# TYPE (\S+)", page.read().decode(), re.M))
        self.assertEqual(live, set(documented()))
        asked = [rule["query"] for rule in self.prometheus.rules()]
        asked += [target["expr"] for path in DASHBOARDS for _, target in expressions(json.loads(path.read_text()))]
        used = set().union(*map(used_in, asked))
        self.assertEqual(used - set(types()), set())

    def check_that_the_probe_was_counted(self):
        for series in ('memplan_probes_ended_total{outcome="succeeded"}',
                       'memplan_trials_total{purpose="verify", outcome="fits"}'):
            self.assertEqual([one["value"][1] for one in self.prometheus.query(series)], ["1"], series)

    # NVIDIA/dcgm-exporter#271, #136
    def check_that_memory_adds_up(self):
        parts = " - ".join(f'memplan_device_memory_{part}_bytes{{device!="cpu"}}'
                           for part in ("total", "driver_reserve", "used", "free"))
        self.assertEqual([series["value"][1] for series in self.prometheus.query(parts)], ["0"] * 3)

    # NVIDIA/dcgm-exporter#140
    def check_that_an_ended_process_is_gone(self):
        series = f'memplan_process_memory_used_bytes{{pid="{STRANGER["pid"]}"}}'
        self.assertEqual(len(self.prometheus.query(series)), 1)
        self.write_devices([])
        wait_until(lambda: not self.prometheus.query(series), "the process to be gone")

    # NVIDIA/dcgm-exporter#348
    def check_that_a_lost_device_alerts(self):
        self.write_devices([], read_error="GPU is lost")
        wait_until(lambda: self.prometheus.query('ALERTS{alertname="MemplanDeviceLost", device="GPU-1"}'), "the alert")
        self.assertEqual(self.prometheus.query('memplan_device_memory_used_bytes{device="GPU-1"}'), [])

    def test_everything_that_is_asked_for_is_there(self):
        self.make_the_counters_move()
        for path in DASHBOARDS:
            with self.subTest(dashboard=path.stem):
                self.check_dashboard(path)
        self.check_rules()
        self.check_that_names_are_real()
        self.check_that_the_probe_was_counted()
        self.check_that_memory_adds_up()
        self.check_that_an_ended_process_is_gone()
        self.check_that_a_lost_device_alerts()


if __name__ == "__main__":
    unittest.main()
