#include "client/cli/status_report.h"

#include <gtest/gtest.h>

namespace memplan {
namespace {

v1::ServerStatus ExampleStatus() {
  v1::ServerStatus status;
  status.set_version("0.1.0");
  status.set_state(v1::SERVER_STATE_SERVING);
  status.mutable_start_time()->set_seconds(1'700'000'000);
  status.set_pid(42);
  v1::PartStatus& part = *status.add_parts();
  part.set_name("store");
  part.set_healthy(true);
  part.set_detail("5 GiB left");
  v1::LimitStatus& bytes = *status.add_limits();
  bytes.set_name("store_bytes");
  bytes.set_used(1 << 30);
  bytes.set_most(int64_t{10} << 30);
  status.add_limits()->set_name("uploads");
  v1::SandboxLayer& layer = *status.add_sandbox();
  layer.set_name("landlock");
  layer.set_state(v1::SANDBOX_LAYER_STATE_MISSING);
  layer.set_detail("the kernel has none");
  status.set_store_path("/var/lib/memplan");
  status.set_worker_path("/usr/bin/memplan-worker");
  return status;
}

TEST(StatusReportTest, ShowsPartsLimitsAndSandbox) {
  EXPECT_EQ(StatusReport(ExampleStatus()),
            "memplan-server 0.1.0, process 42, serving; started 2023-11-14 "
            "22:13:20Z\n"
            "store   /var/lib/memplan\n"
            "worker  /usr/bin/memplan-worker\n"
            "\n"
            "PART   STATE    DETAIL\n"
            "store  healthy  5 GiB left\n"
            "\n"
            "LIMIT            USED      MOST\n"
            "store_bytes  1.00 GiB  10.0 GiB\n"
            "uploads             0         -\n"
            "\n"
            "SANDBOX   STATE    DETAIL\n"
            "landlock  missing  the kernel has none\n");
}

TEST(IsHealthyTest, NeedsAServingDaemonWithoutAFailingPart) {
  v1::ServerStatus status = ExampleStatus();
  EXPECT_TRUE(IsHealthy(status));
  status.set_state(v1::SERVER_STATE_DRAINING);
  EXPECT_FALSE(IsHealthy(status));
  status.set_state(v1::SERVER_STATE_SERVING);
  status.mutable_parts(0)->set_healthy(false);
  EXPECT_FALSE(IsHealthy(status));
}

}  // namespace
}  // namespace memplan
