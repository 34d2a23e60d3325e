"""A Python client made from reflection alone, and uploads that break the rules."""

import hashlib
import subprocess
import sys
import unittest
import zlib

import grpc

from harness import DONE, INPUT, IntegrationTest
from reflection_client import ReflectionClient, start_probe


class ReflectionTest(IntegrationTest):
    def setUp(self):
        super().setUp()
        self.start_server()
        self.client = ReflectionClient(self.server.address)
        self.addCleanup(self.client.close)

    def test_lists_devices_and_starts_a_probe(self):
        self.assertIn("memplan.v1.ProbeService", self.client.services())
        devices = self.client.call("DeviceService/ListDevices",
                                   self.client.message("memplan.v1.ListDevicesRequest")).devices
        self.assertEqual(devices[-1].id, "cpu")
        sha256 = self.memplan("models", "upload", self.scripted_model(limit_batch=5))[0].strip()
        probe = start_probe(self.client, sha256, "cpu", INPUT)
        self.memplan("watch", probe.id, code=DONE)
        answer = self.client.call(
            "ProbeService/GetProbe",
            self.client.message("memplan.v1.GetProbeRequest", id=probe.id)).probe
        self.assertEqual(answer.plan.safe_batch, 5)

    def test_works_as_a_program_over_tcp(self):
        sha256 = self.memplan("models", "upload", self.scripted_model())[0].strip()
        result = subprocess.run(
            [sys.executable, "reflection_client.py", self.server.tcp, sha256, INPUT],
            capture_output=True, text=True, timeout=60)
        self.assertEqual(result.returncode, 0, result.stderr)
        probe_id = result.stdout.split()[-1]
        self.memplan("cancel", probe_id)


class BrokenUploadTest(IntegrationTest):
    """Each ends in an error that says why, and leaves nothing in the store."""

    def setUp(self):
        super().setUp()
        self.start_server()
        self.client = ReflectionClient(self.server.address)
        self.addCleanup(self.client.close)
        self.content = self.scripted_model().read_bytes()

    def header(self, **fields):
        fields = {"sha256": hashlib.sha256(self.content).hexdigest(),
                  "total_bytes": len(self.content), "display_name": "m", **fields}
        return self.part(header=self.client.message("memplan.v1.UploadHeader", **fields))

    def chunk(self, data, offset=0, crc32=None):
        checksum = zlib.crc32(data) if crc32 is None else crc32
        return self.part(chunk=self.client.message("memplan.v1.UploadChunk", offset_bytes=offset,
                                                   data=data, crc32=checksum))

    def commit(self):
        return self.part(commit=self.client.message("memplan.v1.UploadCommit"))

    def part(self, **fields):
        return self.client.message("memplan.v1.UploadModelRequest", **fields)

    def refused(self, *parts, kept=()):
        """Sends the parts; the code's name, the reason, and all that the error says."""
        with self.assertRaises(grpc.RpcError) as raised:
            self.client.call("ModelService/UploadModel", iter(parts))
        details = self.client.details(raised.exception)
        models = self.memplan_json("models", "list")["models"]
        self.assertEqual([model["state"] for model in models],
                         ["MODEL_STATE_UPLOADING"] * len(kept))
        sizes = [part.stat().st_size for part in (self.server.store / "parts").iterdir()]
        self.assertEqual(sizes, list(kept))
        return (raised.exception.code().name, details["ErrorInfo"].reason,
                raised.exception.details() + str(details.get("BadRequest", "")))

    def test_a_chunk_above_1_mib(self):
        big = b"x" * ((1 << 20) + 1)
        code, _, words = self.refused(self.header(total_bytes=2 << 20), self.chunk(big),
                                      self.commit())
        self.assertEqual(code, "INVALID_ARGUMENT")
        self.assertIn("data", words)
        self.assertIn("1048577", words)

    def test_a_truncated_upload(self):
        code, reason, _ = self.refused(self.header(), self.chunk(self.content[:-1]), self.commit(),
                                       kept=[len(self.content) - 1])
        self.assertEqual((code, reason), ("DATA_LOSS", "UPLOAD_TRUNCATED"))

    def test_a_wrong_hash(self):
        code, reason, _ = self.refused(self.header(sha256="0" * 64), self.chunk(self.content),
                                       self.commit())
        self.assertEqual((code, reason), ("DATA_LOSS", "MODEL_HASH_MISMATCH"))

    def test_a_wrong_checksum(self):
        code, reason, _ = self.refused(self.header(), self.chunk(self.content, crc32=1),
                                       self.commit())
        self.assertEqual((code, reason), ("DATA_LOSS", "CHUNK_CHECKSUM_MISMATCH"))

    def test_a_chunk_out_of_order(self):
        code, _, words = self.refused(self.header(), self.chunk(self.content, offset=5),
                                      self.commit())
        self.assertEqual(code, "INVALID_ARGUMENT")
        self.assertIn("offset", words)

    def test_a_chunk_before_the_header(self):
        code, _, _ = self.refused(self.chunk(self.content))
        self.assertEqual(code, "INVALID_ARGUMENT")


if __name__ == "__main__":
    unittest.main()
