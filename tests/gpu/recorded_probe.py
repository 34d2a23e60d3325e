"""A fast probe kept as files, from which CI plays it again without a card.

A folder has the trace of each batch that was run, `<batch>.trace.xz`; `calls.json.xz` and
`reports.json.xz`, what the workers were asked and said, for
tests/support/scripted_worker/recorded_run.h; and `answer.json`:

  cell             model:mode:cap:executor, for people
  arguments        of `memplan probe`, behind the model
  batch, method, trials
                   the answer and the way to it: [batch, purpose, outcome] each
  peaks            of the answer's last run, as the real allocator counted them
  predicted        what was foretold of the answer; null if it was bisected
  failing          the smallest batch that was foretold to fail; 0 for none
  tolerance_bytes  how far what is foretold may lie from `predicted`
  proof            how N and N+1 ended, each alone in a fresh process
  machine          what it was recorded on
  files            the SHA-256 of each other file
"""

import hashlib
import json
import lzma
import shlex
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

TEE = Path(__file__).resolve().with_name("channel_tee.py")
ANSWER = "answer.json"


def tee_worker(folder, worker):
    """Makes a program in `folder` that is `worker` and keeps its rounds in folder/rounds."""
    rounds = folder / "rounds"
    rounds.mkdir(parents=True)
    program = folder / "worker-with-tee"
    words = [sys.executable, "-B", TEE, rounds, worker]
    program.write_text(f'#!/bin/sh\nexec {shlex.join(map(str, words))} "$@"\n')
    program.chmod(0o755)
    return program, rounds


def read_rounds(folder):
    """All rounds so far; those of one worker in their order."""
    return [json.loads(line) for file in sorted(folder.glob("*.jsonl"))
            for line in file.read_text().splitlines()]


def word_of(enum, prefix):
    return enum.removeprefix(prefix).lower()


def trials_of(probe):
    return [[int(trial["batch"]), word_of(trial["purpose"], "TRIAL_PURPOSE_"),
             word_of(trial["outcome"], "TRIAL_OUTCOME_")] for trial in probe["trials"]]


def peaks_of(trial):
    return {kind: int(trial["peaks"][f"{kind}_bytes"])
            for kind in ("requested", "allocated", "active", "reserved")}


def predicted_of(plan):
    safe = plan.get("prediction", {}).get("safe")
    if not safe:
        return None
    return {kind: int(safe[f"{kind}_bytes"]) for kind in ("allocated", "reserved")}


def failing_of(plan):
    return int(plan.get("prediction", {}).get("failing", {}).get("batch", 0))


def answer_of(probe):
    """Of a probe that found a batch, as answer.json has it."""
    plan = probe["plan"]
    batch = int(plan["safe_batch"])
    last = [trial for trial in probe["trials"] if int(trial["batch"]) == batch][-1]
    return {"batch": batch, "method": word_of(plan["method"], "PLAN_METHOD_"),
            "trials": trials_of(probe), "peaks": peaks_of(last),
            "predicted": predicted_of(plan), "failing": failing_of(plan)}


def pack(path, content):
    with lzma.open(path, "wb", preset=9 | lzma.PRESET_EXTREME) as file:
        file.write(content)


def pack_traces(folder, probe, traces):
    """`traces` is the store's folder of the probe's traces; the first of each batch stays."""
    sources = {}
    for trial in probe["trials"]:
        source = traces / f"{trial['number']}.trace"
        if source.exists():
            sources.setdefault(folder / f"{trial['batch']}.trace.xz", source)
    with ThreadPoolExecutor() as pool:  # packing takes longer than running
        list(pool.map(lambda path: pack(path, sources[path].read_bytes()), sources))


def without_folders(round_):
    """Less the paths of the machine it was recorded on; the model's stands for itself."""
    order = {**round_["order"], "model_path": "model.pt"}
    order.pop("sandbox", None)
    return {**round_, "order": order}


def pack_rounds(folder, rounds):
    calls = [item for item in rounds if item["order"]["type"] == "run_calls"]
    reports = [without_folders(item) for item in rounds if item["order"]["type"] == "run"]
    for name, items in (("calls", calls), ("reports", reports)):
        pack(folder / f"{name}.json.xz", json.dumps(items, separators=(",", ":")).encode())


def checksums(folder):
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest()
            for path in sorted(folder.iterdir()) if path.is_file() and path.name != ANSWER}


def write_answer(folder, answer):
    text = json.dumps({**answer, "files": checksums(folder)}, indent=1)
    (folder / ANSWER).write_text(text + "\n")


def read_answer(folder):
    """Raises ValueError if a file is damaged, missing or not named."""
    answer = json.loads((folder / ANSWER).read_text())
    found = checksums(folder)
    wrong = sorted(name for name in {*answer["files"], *found}
                   if answer["files"].get(name) != found.get(name))
    if wrong:
        raise ValueError(f"{folder.name}: {', '.join(wrong)} is not as {ANSWER} has it")
    return answer


def size_of(folder):
    return sum(path.stat().st_size for path in folder.iterdir() if path.is_file())
