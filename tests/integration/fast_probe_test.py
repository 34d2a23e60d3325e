"""Searches that predict their answer, end to end on a made-up GPU: memplan, memplan-server, and
the scripted worker, which plays a program with a convolution.

A step holds 64 MiB and 16 MiB a sample; the convolution takes 1 MiB of scratch a sample besides,
up to 24 samples. Under 1 GiB, 1024 - 64 - 24 = 936 MiB are left for samples: 58 fit.
"""

import json
import pathlib
import unittest

from harness import DONE, ERROR, IntegrationTest, INPUT, processes_about, wait_until

ANSWER = "58"
TRACES = pathlib.Path(__file__).resolve().parents[1] / "traces"


def mebibytes(count):
    return count << 20


class FastProbeTest(IntegrationTest):
    def setUp(self):
        super().setUp()
        self.devices = self.folder / "devices.json"
        self.devices.write_text(json.dumps({"devices": [{"id": "GPU-1", "total": "80GiB"}]}))
        self.log = self.folder / "log"
        self.start()

    def start(self):
        self.start_server("--devices", f"script:{self.devices}")

    def program(self, name="model.pt", **script):
        return self.scripted_model(
            name, base_bytes=mebibytes(64), bytes_per_sample=mebibytes(16),
            scratch_per_sample=mebibytes(1), scratch_until=24, log=str(self.log), **script)

    def arguments(self, model, *more):
        return ["probe", model, "--input", INPUT, "--device", "GPU-1", *more]

    def probe(self, model, *more, cap="1GiB", code=DONE):
        return self.memplan_json(*self.arguments(model, "--cap", cap, *more), code=code)

    def runs(self):
        """What workers were ordered, in order: batches, `prepare`, `calls`."""
        return [line.split()[1] for line in self.log.read_text().splitlines()]

    def assert_answer(self, probe, trials=3):
        plan = probe["plan"]
        self.assertEqual(plan["safe_batch"], ANSWER)
        self.assertTrue(plan["verified"])
        self.assertEqual(plan["method"], "PLAN_METHOD_PREDICTED", plan["fall_back_reason"])
        self.assertEqual(plan["trial_count"], trials)

    def test_finds_the_answer_in_three_trials(self):
        probe = self.probe(self.program())
        self.assert_answer(probe)
        self.assertEqual([(t["batch"], t["purpose"]) for t in probe["trials"]],
                         [("8", "TRIAL_PURPOSE_RECORD"), ("32", "TRIAL_PURPOSE_RECORD"),
                          (ANSWER, "TRIAL_PURPOSE_VERIFY")])
        plan = probe["plan"]
        self.assertEqual(plan["recording_trials"], 2)
        self.assertEqual([(n["batch"], n["outcome"][14:], n["provenance"][11:])
                          for n in plan["neighbours"]],
                         [("56", "FITS", "ESTIMATE"), ("57", "FITS", "ESTIMATE"),
                          ("59", "OUT_OF_MEMORY", "ESTIMATE"),
                          ("60", "OUT_OF_MEMORY", "ESTIMATE")])
        self.assertEqual(plan["prediction"]["safe"]["batch"], ANSWER)
        self.assertEqual(plan["prediction"]["failing"]["batch"], "59")
        self.assertEqual(plan["prediction"]["recorded_batches"], ["8", "32", ANSWER])

    def test_prints_a_report_for_people(self):
        out, _ = self.memplan(*self.arguments(self.program(), "--cap", "1GiB"))
        self.assertRegex(out, r"(?m)^largest safe batch  58$")
        self.assertRegex(out, r"(?m)^comfortable         ")
        self.assertRegex(out, r"(?m)^found               predicted from 3 recordings")
        self.assertRegex(out, r"59 out of memory \(predicted\)")

    def test_a_second_probe_takes_one_trial_at_another_cap_too(self):
        model = self.program()
        self.assert_answer(self.probe(model))
        self.assert_answer(self.probe(model), trials=1)
        plan = self.probe(model, cap="2GiB")["plan"]
        self.assertEqual(plan["safe_batch"], "122")  # 2048 - 64 - 24 = 1960 MiB
        self.assertEqual(plan["trial_count"], 1)

    def test_a_second_probe_runs_no_operator_again(self):
        model = self.program()
        self.probe(model)
        calls = self.runs().count("calls")
        self.assertGreater(calls, 0)
        self.server.stop()
        self.start()
        self.assert_answer(self.probe(model), trials=1)
        self.assertEqual(self.runs().count("calls"), calls)

    def test_plays_what_a_real_worker_recorded(self):
        # ResNet-50 with Adam on an H200. Its reserved peak at batch 96 is this cap, so that 96
        # fit; blocks in use alone grow by 86.6 MB a sample from 8.73 GB there, so that 116 do
        # not. Its operators were not run alone, so that no more is certain.
        folder = self.folder / "recorded"
        folder.mkdir()
        for batch in (16, 32):
            (folder / f"{batch}.trace.xz").symlink_to(
                TRACES / f"signed/resnet50-adam-torchscript-{batch}.trace.xz")
        model = self.scripted_model(recorded=str(folder), log=str(self.log))
        probe = self.probe(model, "--first-batch", "16", cap="10382999552")
        first = probe["trials"][0]["peaks"]  # of a later step: the first has no optimizer state
        self.assertEqual((first["requested_bytes"], first["reserved_bytes"]),
                         ("1809461048", "2011168768"))
        plan = probe["plan"]
        self.assertEqual(plan["method"], "PLAN_METHOD_PREDICTED", plan["fall_back_reason"])
        self.assertTrue(96 <= int(plan["safe_batch"]) < 116, plan["safe_batch"])
        self.assertGreater(int(plan["prediction"]["distinct_calls"]), 0)

    def test_bisects_and_refuses_as_asked(self):
        plan = self.probe(self.program(), "--method", "bisect")["plan"]
        self.assertEqual((plan["safe_batch"], plan["method"]), (ANSWER, "PLAN_METHOD_BISECTED"))
        self.assertNotIn("prediction", plan)
        _, err = self.memplan("probe", self.program(), "--input", INPUT, "--device", "cpu",
                              "--cap", "1GiB", "--method", "predict", code=ERROR)
        self.assertIn("spec.search.method", err)

    def test_learns_the_context_under_a_budget(self):
        probe = self.memplan_json(*self.arguments(self.program(), "--budget", "1GiB"))
        self.assertEqual(probe["plan"]["safe_batch"], ANSWER)

    def test_bisects_where_the_answer_does_not_run(self):
        plan = self.probe(self.program(limit_batch=37))["plan"]
        self.assertEqual((plan["safe_batch"], plan["method"]), ("37", "PLAN_METHOD_BISECTED"))
        self.assertNotEqual(plan["fall_back_reason"], "")

    def test_whatever_a_worker_dies_at_the_answer_is_found(self):
        # Calls first, while no result of them is kept.
        for moment in ("calls", "8", "32", "prepare", "prepared", ANSWER):
            with self.subTest(moment=moment):
                model = self.program(f"{moment}.pt", once=str(self.folder / f"died-{moment}"),
                                     on_batch={moment: "dies by signal 9"})
                self.assertEqual(self.probe(model)["plan"]["safe_batch"], ANSWER)
                self.assertTrue((self.folder / f"died-{moment}").exists())

    def test_whatever_a_worker_says_of_operators_the_answer_is_found(self):
        for lie in ("too many results", "wild plans", "hello again"):
            with self.subTest(lie=lie):
                model = self.program(f"{lie}.pt", on_batch={"calls": lie})
                self.assertEqual(self.probe(model)["plan"]["safe_batch"], ANSWER)

    def test_a_cancelled_or_ended_daemon_leaves_no_worker(self):
        for moment in ("8", "prepare", "prepared", "calls", ANSWER):
            for signalled in (False, True):
                with self.subTest(moment=moment, signalled=signalled):
                    self.log.unlink(missing_ok=True)
                    model = self.program(f"{moment}-{signalled}.pt",
                                         on_batch={moment: "hangs on"})
                    probe = self.memplan(*self.arguments(model, "--cap", "1GiB", "--detach"))[0]
                    self.wait_for_order("prepare" if moment == "prepared" else moment)
                    if signalled:
                        self.assertEqual(self.server.stop(), 0)
                    else:
                        self.memplan("cancel", probe.strip())
                    wait_until(lambda: not self.workers(), "the workers to end")
                    if signalled:
                        self.start()
                    self.memplan("cancel", probe.strip())
                    wait_until(lambda: not self.workers(), "the workers to end")

    def wait_for_order(self, order):
        wait_until(lambda: self.log.exists() and order in self.runs(), f"{order} to be ordered")

    def workers(self):
        """The living workers, whether or not there is a daemon."""
        return [pid for pid, command in processes_about(str(self.worker_link)).items()
                if command.startswith(str(self.worker_link))
                and "--sandbox-check" not in command]

    def test_goes_on_from_its_recordings_after_a_restart(self):
        model = self.program(once=str(self.folder / "hung"), on_batch={ANSWER: "hangs"})
        probe = self.memplan(*self.arguments(model, "--cap", "1GiB", "--detach"))[0].strip()
        self.wait_for_order(ANSWER)
        self.server.kill()
        self.start()
        self.memplan("watch", probe)
        ended = self.memplan_json("watch", probe)
        self.assert_answer(ended)
        self.assertEqual(ended["restart_count"], 1)
        self.assertEqual(self.runs().count("8"), 1)


if __name__ == "__main__":
    unittest.main()
