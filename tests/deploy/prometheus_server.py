"""A real Prometheus that scrapes one daemon each second, and what is asked of it."""

import json
import re
import subprocess
import threading
import urllib.error
import urllib.parse
import urllib.request

from harness import PATIENCE

CONFIGURATION = """
global: {{scrape_interval: 1s, evaluation_interval: 1s}}
rule_files: [{rules}, {alerts}]
scrape_configs:
  - job_name: memplan
    static_configs: [{{targets: ["{target}"]}}]
"""


class Prometheus:
    """Lives in `folder`, listens on a port of its own choice; `start` returns then."""

    def __init__(self, program, folder, target, rules, alerts):
        self.folder = folder
        configuration = folder / "prometheus.yml"
        configuration.write_text(CONFIGURATION.format(target=target, rules=rules, alerts=alerts))
        self.command = [program, f"--config.file={configuration}",
                        f"--storage.tsdb.path={folder / 'series'}", "--web.listen-address=127.0.0.1:0"]
        self.words = []
        self.address = None
        self.serves = False

    def start(self):
        ready = threading.Event()
        self.process = subprocess.Popen(self.command, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL,
                                        text=True, cwd=self.folder)
        self.listener = threading.Thread(target=self._listen, args=(ready,))
        self.listener.start()
        if not ready.wait(PATIENCE) or not self.serves:
            self.stop()
            raise AssertionError("Prometheus did not start; it said:\n" + "".join(self.words))
        return self

    def _listen(self, ready):
        for line in self.process.stderr:
            self.words.append(line)
            if found := re.search(r'"Listening on" address=(\S+)', line):
                self.address = found.group(1)
            if "ready to receive web requests" in line:
                self.serves = True
                ready.set()
        ready.set()

    def stop(self):
        self.process.kill()  # it has nothing to keep
        self.process.wait()
        self.listener.join()
        self.process.stderr.close()

    def get(self, path, **parameters):
        """The answer's data; an AssertionError with the words of a refusal."""
        url = f"http://{self.address}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        try:
            with urllib.request.urlopen(url, timeout=PATIENCE) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{parameters}: {error.read().decode()}") from error

    def query(self, expression):
        """Series with a number now; those whose value is NaN do not count."""
        return [series for series in self.get("query", query=expression)["result"]
                if series["value"][1] != "NaN"]

    def label_values(self, series, label):
        return self.get(f"label/{label}/values", **{"match[]": series})

    def rules(self):
        return [rule for group in self.get("rules")["groups"] for rule in group["rules"]]
