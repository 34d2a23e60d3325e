"""The include rules, on trees made for the purpose and on ours."""

import pathlib
import tempfile
import unittest

import arrows

ROOT = pathlib.Path(__file__).resolve().parents[2]


class ArrowsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)

    def write(self, file: str, *headers: str) -> None:
        """A file that includes `headers`, each with its brackets or quotes."""
        path = self.root / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"#include {header}\n" for header in headers))

    def faults(self) -> str:
        return "\n".join(arrows.faults(self.root))

    def test_our_tree_has_no_fault(self):
        self.assertEqual("\n".join(arrows.faults(ROOT)), "")

    def test_our_tree_is_seen(self):
        self.assertGreater(len(arrows.includes(ROOT)), 100)

    def test_allows_what_the_arrows_say(self):
        self.write("planner/plan/plan.h", '"planner/base/bytes.h"', "<vector>",
                   '"absl/status/status.h"')
        self.write("cuda/worker/trial.cc", '"planner/plan/plan.h"', "<torch/script.h>",
                   '"cuda/worker/messages/frame.h"')
        self.write("server/services/probes.cc", '"memplan/v1/probe_service.pb.h"',
                   "<grpcpp/grpcpp.h>", '"cuda/nvml/nvml_devices.h"')
        self.write("client/client.cc", '"memplan/v1/probe_service.grpc.pb.h"',
                   '"planner/base/format.h"')
        self.assertEqual(self.faults(), "")

    def test_refuses_torch_in_the_server(self):
        self.write("server/main.cc", "<torch/torch.h>")
        self.assertIn("server/main.cc includes torch/torch.h, of the family torch", self.faults())

    def test_refuses_protobuf_in_the_planner_and_the_worker(self):
        self.write("planner/plan/plan.cc", '"memplan/v1/plan.pb.h"')
        self.write("cuda/worker/main.cc", "<google/protobuf/message.h>")
        self.assertIn("planner/plan/plan.cc includes memplan/v1/plan.pb.h", self.faults())
        self.assertIn("cuda/worker/main.cc includes google/protobuf/message.h", self.faults())

    def test_refuses_threads_and_files_in_the_planner(self):
        self.write("planner/plan/plan.cc", "<thread>", "<fstream>", "<unistd.h>")
        self.assertEqual(len(self.faults().splitlines()), 3)

    def test_refuses_the_worker_in_the_server_but_for_its_messages(self):
        self.write("server/a.cc", '"cuda/worker/messages/frame.h"')
        self.assertEqual(self.faults(), "")
        self.write("server/b.cc", '"cuda/worker/recorder.h"')
        self.assertIn("server/b.cc includes cuda/worker/recorder.h", self.faults())

    def test_refuses_the_server_in_the_client(self):
        self.write("client/client.cc", '"server/jobs/probe.h"')
        self.assertIn("client/client.cc includes server/jobs/probe.h", self.faults())

    def test_refuses_the_plan_in_the_base(self):
        self.write("planner/base/format.cc", '"planner/plan/plan.h"')
        self.assertIn("planner/base may include only planner/base", self.faults())

    def test_refuses_a_path_that_does_not_begin_at_the_root(self):
        self.write("server/jobs/probe.cc", '"probe.h"', '"../probe.h"')
        self.assertEqual(self.faults().count("not written from the root"), 2)

    def test_refuses_a_header_of_an_unknown_family(self):
        self.write("server/jobs/probe.cc", "<boost/asio.hpp>")
        self.assertIn("of the family unknown", self.faults())

    def test_refuses_a_file_in_an_unknown_folder(self):
        self.write("cuda/novelty/file.cc", "<vector>")
        self.assertIn("is in no folder that the rules know", self.faults())

    def test_refuses_folders_that_include_each_other(self):
        self.write("server/jobs/a.h", '"server/store/b.h"')
        self.write("server/store/b.h", '"server/workers/c.h"')
        self.write("server/workers/c.h", '"server/jobs/a.h"')
        self.assertEqual(
            self.faults(),
            "folders include each other: "
            "server/jobs -> server/store -> server/workers -> server/jobs")


if __name__ == "__main__":
    unittest.main()
