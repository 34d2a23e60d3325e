"""Whole fast probes that were recorded on a card, played again without one: memplan,
memplan-server, and the scripted worker in memplan-worker's place, which says again what that
one said. The planner must find the same answer by the same trials.

Each folder of tests/traces/fast is one (tests/gpu/recorded_probe.py has its files). What the
recording program keeps is tried on a program that the scripted worker makes up.
"""

import json
import pathlib
import shutil
import sys
import unittest

from harness import DONE, IntegrationTest, INPUT

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "gpu"))
import foretold  # noqa: E402
import recorded_probe  # noqa: E402

FAST = TESTS / "traces/fast"
LARGEST_FOLDER = 400_000  # bytes
PATIENCE = 500  # seconds: a planner built without optimisation replays thousands of streams


class FastReplayTest(IntegrationTest):
    def setUp(self):
        super().setUp()
        self.devices = self.folder / "devices.json"
        self.devices.write_text(json.dumps({"devices": [{"id": "GPU-1", "total": "139GiB"}]}))

    def start(self):
        self.start_server("--devices", f"script:{self.devices}")

    def probe(self, model, *arguments):
        process = self.start_memplan("probe", model, *arguments, "--device", "GPU-1",
                                     "--output", "json")
        out, err = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, DONE, out + err)
        return json.loads(out)

    def play(self, folder):
        """Fails unless the daemon finds what answer.json says in the way it says."""
        answer = recorded_probe.read_answer(folder)
        self.start()
        model = self.scripted_model(f"{folder.name}.pt", recorded=str(folder),
                                    limit_batch=answer["batch"])
        probe = self.probe(model, *answer["arguments"])
        found = recorded_probe.answer_of(probe)
        self.assertEqual(self.server.stop(), 0)
        shutil.rmtree(self.server.store)  # the next knows nothing of this one
        for key in ("batch", "method", "trials", "peaks", "failing"):
            self.assertEqual(found[key], answer[key], f"{folder.name}: {key}")
        self.check_prediction(found["predicted"], answer, folder.name)
        if answer["method"] == "predicted":
            self.check_intervals(probe["plan"]["prediction"], answer, folder.name)
        missed = [line for line in self.server.words if "it was not recorded" in line]
        self.assertEqual(missed, [], f"{folder.name} lacks operators; record it again with "
                                     "tests/gpu/run --only record")

    def check_prediction(self, found, answer, name):
        self.assertEqual(found is None, answer["predicted"] is None, name)
        for kind, wanted in (answer["predicted"] or {}).items():
            self.assertLessEqual(abs(found[kind] - wanted), answer["tolerance_bytes"],
                                 f"{name}: {kind} is foretold as {found[kind]} bytes, "
                                 f"the recording has {wanted}")

    def check_intervals(self, prediction, answer, name):
        """Before its run the answer is foretold within an interval, and after it to the byte."""
        told = [foretold.read(line) for line in self.server.words]
        named = [interval for batch, _, interval in filter(None, told)
                 if batch == answer["batch"]]
        self.assertGreater(len(named), 0, name)
        for interval in named:
            self.assertTrue(foretold.holds(interval, answer["peaks"]),
                            f"{name}: {interval} is to hold {answer['peaks']}")
        for kind in foretold.KINDS:
            least, most = (int(prediction["safe_interval"][kind][f"{end}_bytes"])
                           for end in ("least", "most"))
            self.assertEqual((least, most), 2 * (answer["peaks"][kind],), f"{name}: {kind}")

    def record(self, name, **script):
        """What tests/gpu/record_fast.py keeps, of a program that the scripted worker makes up."""
        program, rounds = recorded_probe.tee_worker(self.folder / name, self.worker)
        self.worker_link.unlink()
        self.worker_link.symlink_to(program)
        self.start()
        arguments = ["--input", INPUT, "--cap", "1GiB"]
        model = self.scripted_model(f"{name}-made.pt", base_bytes=64 << 20,
                                    bytes_per_sample=16 << 20, scratch_per_sample=1 << 20,
                                    scratch_until=24, **script)
        probe = self.probe(model, *arguments)
        self.assertEqual(self.server.stop(), 0)
        kept = self.folder / f"{name}-kept"
        kept.mkdir()
        recorded_probe.pack_traces(kept, probe, self.server.store / "traces" / probe["id"])
        recorded_probe.pack_rounds(kept, recorded_probe.read_rounds(rounds))
        recorded_probe.write_answer(kept, {
            "cell": name, "arguments": arguments, "tolerance_bytes": 0,
            **recorded_probe.answer_of(probe)})
        shutil.rmtree(self.server.store)
        self.worker_link.unlink()
        self.worker_link.symlink_to(self.worker)
        return kept

    def test_recorded_probes_are_found_again(self):
        folders = sorted(path for path in FAST.glob("*") if path.is_dir())
        self.assertGreater(len(folders), 0)
        for folder in folders:
            with self.subTest(folder.name):
                self.assertLess(recorded_probe.size_of(folder), LARGEST_FOLDER)
                self.play(folder)

    def test_plays_what_was_kept_of_a_probe(self):
        kept = self.record("made-up")
        answer = recorded_probe.read_answer(kept)
        # 1024 - 64 - 24 = 936 MiB are left for samples of 16 MiB.
        self.assertEqual(answer["batch"], 58)
        self.assertEqual(answer["trials"], [[8, "record", "fits"], [32, "record", "fits"],
                                            [58, "verify", "fits"]])
        self.assertEqual(answer["peaks"]["requested"], (64 + 58 * 16 + 24) << 20)
        self.assertEqual(sorted(answer["files"]), [
            "32.trace.xz", "58.trace.xz", "8.trace.xz", "calls.json.xz", "reports.json.xz"])
        self.play(kept)

    def test_plays_a_probe_whose_prediction_was_wrong(self):
        kept = self.record("misjudged", limit_batch=37)
        answer = recorded_probe.read_answer(kept)
        self.assertEqual((answer["batch"], answer["method"]), (37, "bisected"))
        self.play(kept)

    def test_a_damaged_folder_is_noticed(self):
        kept = self.record("damaged")
        for name, damage, is_sealed, words in (
                ("a trace cut off", cut_a_trace, False, "32.trace.xz is not as"),
                ("no calls", remove_calls, False, "calls.json.xz is not as"),
                ("another answer", change_the_answer, False, "58 != 57"),
                ("another prediction", change_the_prediction, False, "is foretold as"),
                ("no calls, checksums agree", remove_calls, True, "batch|lacks operators"),
                ("no trace, checksums agree", remove_a_trace, True, "method|trials"),
                ("the wrong trace, checksums agree", mistake_a_trace, True, "method|trials")):
            with self.subTest(name):
                folder = self.folder / "copy"
                shutil.copytree(kept, folder)
                damage(folder)
                if is_sealed:
                    answer = json.loads((folder / recorded_probe.ANSWER).read_text())
                    recorded_probe.write_answer(folder, answer)
                with self.assertRaisesRegex((AssertionError, ValueError), words):
                    self.play(folder)
                self._end_server_if_any()
                shutil.rmtree(folder)

    def _end_server_if_any(self):
        if getattr(self, "server", None) and self.server.process.poll() is None:
            self.server.stop()
            shutil.rmtree(self.server.store)


def change(folder, **values):
    path = folder / recorded_probe.ANSWER
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


def cut_a_trace(folder):
    path = folder / "32.trace.xz"
    path.write_bytes(path.read_bytes()[:-16])


def remove_calls(folder):
    (folder / "calls.json.xz").unlink()


def remove_a_trace(folder):
    (folder / "32.trace.xz").unlink()


def mistake_a_trace(folder):
    (folder / "8.trace.xz").replace(folder / "32.trace.xz")


def change_the_answer(folder):
    change(folder, batch=57)


def change_the_prediction(folder):
    predicted = json.loads((folder / recorded_probe.ANSWER).read_text())["predicted"]
    change(folder, predicted={**predicted, "allocated": predicted["allocated"] + 512})


if __name__ == "__main__":
    unittest.main()
