"""What a service manager hears: a socket of ours stands in for systemd's."""

import socket
import unittest

from harness import ERROR, PATIENCE, IntegrationTest

WATCHDOG_MICROSECONDS = 400_000


class ServiceManagerTest(IntegrationTest):
    def setUp(self):
        super().setUp()
        self.manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(self.manager.close)
        self.manager.settimeout(PATIENCE)
        self.manager.bind(str(self.folder / "notify.sock"))
        self.environment["NOTIFY_SOCKET"] = str(self.folder / "notify.sock")

    def hear(self):
        """What one message says, as a dictionary."""
        text = self.manager.recv(65536).decode()
        return dict(line.split("=", 1) for line in text.splitlines())

    def hear_until(self, name):
        while True:
            said = self.hear()
            if name in said:
                return said
            self.assertEqual(said, {"WATCHDOG": "1"})

    def test_it_hears_of_the_beginning_and_the_end(self):
        server = self.start_server()
        ready = self.hear()
        self.assertEqual(ready["READY"], "1")
        self.assertIn(f"ready socket={server.socket}", ready["STATUS"])
        self.assertEqual(server.stop(), 0)
        self.assertEqual(self.hear()["STOPPING"], "1")

    def test_the_watchdog_is_fed_while_the_daemon_serves(self):
        self.environment["WATCHDOG_USEC"] = str(WATCHDOG_MICROSECONDS)
        server = self.start_server()
        self.assertIn("READY", self.hear())
        for _ in range(3):
            self.assertEqual(self.hear(), {"WATCHDOG": "1"})
        self.assertEqual(server.stop(), 0)
        self.hear_until("STOPPING")
        # Fed no more: its end has a time limit of its own.
        self.manager.setblocking(False)
        self.assertRaises(BlockingIOError, self.manager.recv, 1)

    def test_a_daemon_goes_on_if_nobody_listens(self):
        self.manager.close()
        server = self.start_server()
        self.memplan("devices")
        self.assertEqual(server.stop(), 0)
        self.assertIn("cannot be told READY=1", "".join(server.words))

    def test_a_daemon_without_workers_is_healthy_and_refuses_probes(self):
        server = self.start_server("--worker", "none")
        self.memplan("status")
        _, err = self.memplan(*self.probe_arguments(self.scripted_model()), code=ERROR)
        self.assertIn("--worker none", err)
        self.assertEqual(server.stop(), 0)


if __name__ == "__main__":
    unittest.main()
