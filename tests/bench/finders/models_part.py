#!/usr/bin/env python3
"""memplan alone over ten models, four modes and two caps; N and N+1 of each answer proven.

    models_part.py PROGRAMS MODELS OUT [--seconds N] [--known FILE...] [--cells CELL...]
                   [--device ID]

A cell is model:mode:cap, the cap in GiB, such as unet:adam:8. Cheap ones come first: small
caps, then modes and models by what they cost. OUT/models.jsonl gets a line as each ends;
cells that stand there or in a known file are not done again. Exits with 1 if an answer
failed when it ran again, or a cell could not be asked.
"""

import sys

import export_models
from largest import largest_that_runs
from memplan_command import Memplan, foretold, outcome_of
from part_options import parsed, part_parser
from results import Deadline, Results
from ten_models import RECIPES, TEN

MODES = {
    "sgd": ["--train", "sgd-momentum", "--run-as", "eager"],
    "adam": ["--train", "adam", "--run-as", "eager"],
    "adamw-bf16": ["--train", "adamw", "--autocast", "bf16", "--run-as", "eager"],
    "infer": ["--infer", "--run-as", "torchscript"],
}
CAPS_GIB = (8, 16)
CHEAPEST_FIRST = ("resnet50", "efficientnet", "bert", "gpt2", "vit", "swin", "convnext", "deeplab", "unet",
                  "densenet")
assert sorted(CHEAPEST_FIRST) == sorted(TEN)
CELLS = [f"{model}:{mode}:{cap}" for cap in CAPS_GIB for mode in MODES for model in CHEAPEST_FIRST]


def full_name(cell):
    """As docs/measurements has it: with how it is run."""
    return f"{cell}:{MODES[cell.split(':')[1]][-1]}"


class ModelsPart:
    def __init__(self, options):
        self.options = options
        self.results = Results(options.out / "models.jsonl", options.known)
        self.deadline = Deadline(options.seconds)
        self.failed = False

    def todo(self, cells):
        known = {line.get("cell") for line in self.results.having()}
        return [cell for cell in cells if full_name(cell) not in known]

    def measure(self, memplan, cell):
        model, mode, cap = cell.split(":")
        path = export_models.path_of(self.options.models, model, mode != "infer")
        what = [path, "--input", RECIPES[model].spec(), *MODES[mode]]
        line = memplan.probe(what, f"{cap}GiB")
        batch = line["answer"]
        trials = memplan.profile(what, f"{cap}GiB", [batch, batch + 1] if batch else [1])
        proof = {number: outcome_of(trial) for number, trial in trials.items()}
        peaks = trials[batch]["peaks"] if batch else {}

        def runs(number):
            if number not in proof:
                proof.update(memplan.outcomes(what, f"{cap}GiB", [number]))
            return proof[number] == "fits"

        # Of a right answer this asks nothing more.
        true_batch = largest_that_runs(batch, runs)
        return {**line, "proof": proof, "true_batch": true_batch,
                **{kind: int(peaks[f"{kind}_bytes"]) for kind in foretold.KINDS if peaks}}

    def check(self, memplan, cell):
        try:
            line = self.measure(memplan, cell)
            self.failed |= line["proof"].get(line["answer"], "fits") != "fits"
        except Exception as error:  # the other cells go on
            line = {"failure": str(error)[-1500:]}
            self.failed = True
        self.results.add({"cell": full_name(cell), **line})
        print(full_name(cell), {name: line[name] for name in line if name != "trials"}, flush=True)

    def go(self, cells):
        """Caps apart: a daemon that knows a model answers at another cap from what it knows."""
        cells = self.todo(cells)
        models = {(model, mode != "infer") for model, mode, _ in (cell.split(":") for cell in cells)}
        export_models.export_side_by_side(self.options.models, models)
        for cap in sorted({cell.split(":")[2] for cell in cells}, key=int):
            with Memplan(self.options.programs, self.options.device) as memplan:
                for cell in cells:
                    if cell.split(":")[2] != cap:
                        continue
                    if self.deadline.passed():
                        print(f"no time left for {len(self.todo(cells))} cells; the next call goes on from here")
                        return 1 if self.failed else 0
                    self.check(memplan, cell)
        return 1 if self.failed else 0


def main():
    parser = part_parser(__doc__, CELLS)
    parser.add_argument("--device", default="gpu")
    options = parsed(parser)
    return ModelsPart(options).go(options.cells)


if __name__ == "__main__":
    sys.exit(main())
