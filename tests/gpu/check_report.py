"""What a check of the daemon found: checks, one row a search, and all answers."""

import datetime
import json
import subprocess


def mib(text):
    return f"{int(text) / (1 << 20):,.0f}"


class Report:
    def __init__(self, folder):
        self.folder = folder
        self.checks = []
        self.rows = []
        self.notes = []
        self.answers = []

    def machine(self):
        smi = subprocess.run(
            ["nvidia-smi", "--query-gpu=name,driver_version,memory.total",
             "--format=csv,noheader"],
            stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
        import torch
        self.note(f"{datetime.date.today()}, {smi}, torch {torch.__version__}")

    def check(self, name, holds, seen):
        self.checks.append((name, bool(holds), seen))
        print(f"{'ok  ' if holds else 'FAIL'} {name}: {seen}", flush=True)

    def note(self, text):
        self.notes.append(text)
        print(text, flush=True)

    def row(self, name, probe, seconds):
        plan = probe["plan"]
        quantity = lambda key: mib(plan[key]["bytes"]) if plan.get(key) else "–"
        beside = " ".join(
            f"{n['batch']}:{'runs' if n['outcome'] == 'TRIAL_OUTCOME_FITS' else 'fails'}"
            for n in plan["neighbours"])
        self.rows.append([name, plan["safe_batch"], str(plan["verified"]),
                          str(plan["trial_count"]), str(plan["out_of_memory_count"]),
                          plan["duration"], quantity("peak_allocated"),
                          quantity("peak_reserved"), quantity("context"), beside])
        self.answers.append({"name": name, "seconds": seconds, "probe": probe})
        print(" | ".join(self.rows[-1]), flush=True)

    def trials(self, name, probe):
        for trial in probe["trials"]:
            peaks = trial["peaks"]
            self.note(f"{name} batch {trial['batch']}: requested "
                      f"{peaks['requested_bytes']}, allocated {peaks['allocated_bytes']}, "
                      f"reserved {peaks.get('reserved_bytes')}, context "
                      f"{trial.get('context_bytes')} ({trial['context_source']})")
        self.answers.append({"name": name, "probe": probe})

    def finish(self):
        head = ["search", "batch", "verified", "trials", "OOMs", "time",
                "allocated MiB", "reserved MiB", "context MiB", "beside"]
        lines = ["| " + " | ".join(head) + " |", "| " + " | ".join(["---"] * len(head)) + " |"]
        lines += ["| " + " | ".join(row) + " |" for row in self.rows]
        lines += [""] + self.notes + [""]
        lines += [f"{'ok' if holds else 'FAIL'}: {name}: {seen}"
                  for name, holds, seen in self.checks]
        text = "\n".join(lines) + "\n"
        (self.folder / "table.md").write_text(text)
        (self.folder / "answers.json").write_text(json.dumps(self.answers, indent=1))
        print(text)
        failed = [name for name, holds, _ in self.checks if not holds]
        print(f"{len(self.checks) - len(failed)} passed, {len(failed)} failed")
        return 1 if failed else 0
