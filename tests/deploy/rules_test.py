"""The rules for Prometheus: promtool finds no fault, every alert fires and stays
silent in a test, and docs/runbook.md has a section for each and no other."""

import os
import pathlib
import re
import subprocess
import unittest

from metric_names import ALERTS, ROOT, alerts, recorded

FOLDER = ROOT / "deploy" / "prometheus"
TESTS = pathlib.Path(__file__).resolve().parent
PROMTOOL = os.environ.get("MEMPLAN_TEST_PROMTOOL", "")


def anchor(name):
    return f"docs/runbook.md#{name.lower()}"


class RulesTest(unittest.TestCase):
    def promtool(self, *arguments):
        if not PROMTOOL:
            self.skipTest("promtool is not installed")
        check = subprocess.run([PROMTOOL, *map(str, arguments)], capture_output=True, text=True)
        self.assertEqual(check.returncode, 0, check.stdout + check.stderr)

    def test_promtool_takes_the_configuration_and_its_rules(self):
        self.promtool("check", "config", FOLDER / "prometheus.yml")
        self.promtool("check", "rules", FOLDER / "memplan.rules.yml", FOLDER / "memplan.alerts.yml")

    def test_alerts_and_recording_rules_do_what_they_say(self):
        self.promtool("test", "rules", *sorted(TESTS.glob("*_test.yml")))

    def test_every_alert_is_tested_firing_and_not_firing(self):
        text = "".join(file.read_text() for file in TESTS.glob("*alerts_test.yml"))
        silent = set(re.findall(r"alertname: (\w+), eval_time: \w+, exp_alerts: \[\]", text))
        firing = set(re.findall(r"alertname: (\w+)\n +eval_time: \w+\n +exp_alerts:\n +- exp_labels", text))
        self.assertEqual(silent, set(alerts()))
        self.assertEqual(firing, set(alerts()))

    def test_every_alert_has_a_severity_and_leads_to_its_section(self):
        text = ALERTS.read_text()
        for rule in re.split(r"^ +- alert: ", text, flags=re.M)[1:]:
            name = rule.split("\n", 1)[0]
            with self.subTest(alert=name):
                self.assertRegex(rule, r"labels: \{severity: (critical|warning)\}")
                self.assertRegex(rule, r"summary: \"\{\{ \$labels\.instance \}\}: ")
                self.assertIn(f"runbook_url: {anchor(name)}\n", rule)

    def test_the_runbook_has_a_whole_section_for_each_alert_and_no_other(self):
        text = (ROOT / "docs" / "runbook.md").read_text()
        sections = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", text, re.M | re.S))
        self.assertEqual(list(sections), alerts())
        for name, section in sections.items():
            words = re.findall(r"^\*\*(.+?)\*\* ", section, re.M)
            self.assertEqual(words, ["Means", "Look at", "Do"], name)

    def test_every_recording_rule_is_documented(self):
        documented = re.findall(r"^\| `(\w+:\w+:\w+)` ", (ROOT / "docs" / "metrics.md").read_text(), re.M)
        self.assertEqual(documented, recorded())


if __name__ == "__main__":
    unittest.main()
