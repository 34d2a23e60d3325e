"""Which metrics there are, by docs/metrics.md, and which an expression uses."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
RULES = ROOT / "deploy" / "prometheus" / "memplan.rules.yml"
ALERTS = ROOT / "deploy" / "prometheus" / "memplan.alerts.yml"

# A metric of ours, a recording rule's, or Prometheus' own `up`.
NAME = re.compile(r"(?<![\w:$])(?:\w+:)?memplan_\w+(?::\w+)?|(?<![\w:$])up(?![\w:])")
TEXT = re.compile(r'"[^"]*"')


def documented():
    """Families of the daemon's page with their types."""
    page = (ROOT / "docs" / "metrics.md").read_text()
    return dict(re.findall(r"^\| `(memplan_\w+)` \| (\w+) \|", page, re.M))


def recorded():
    return re.findall(r"^ +- record: (\S+)$", RULES.read_text(), re.M)


def alerts():
    return re.findall(r"^ +- alert: (\w+)$", ALERTS.read_text(), re.M)


def types():
    """Every metric that an expression may use, with its type."""
    return {"up": "gauge", **documented(), **{name: "gauge" for name in recorded()}}


def family(name):
    """The family of a series: a histogram's three kinds belong to one."""
    return name if name in types() else re.sub(r"_(bucket|sum|count)$", "", name)


def used_in(expression):
    """Families and recording rules that it asks for."""
    return {family(name) for name in NAME.findall(TEXT.sub('""', expression))}
