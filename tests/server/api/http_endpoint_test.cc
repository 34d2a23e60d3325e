#include "server/metrics/http_endpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <thread>

#include "tests/server/api/sample_metrics.h"
#include "tests/support/loopback_client.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace memplan::testing {
namespace {

using ::testing::HasSubstr;

class HttpEndpointTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto started = HttpEndpoint::Start(
        "127.0.0.1", 0,
        {.metrics = [] { return BuildFamilies(SampleMetrics()); },
         .healthy = [this] { return healthy_.load(); }});
    ASSERT_THAT(started, IsOk());
    endpoint_ = *std::move(started);
  }
  httplib::Result Get(const std::string& path) {
    return httplib::Client("127.0.0.1", endpoint_->port()).Get(path.c_str());
  }
  std::string Page() {
    const httplib::Result result = Get("/metrics");
    return result ? result->body : std::string();
  }

  std::atomic<bool> healthy_ = true;
  std::unique_ptr<HttpEndpoint> endpoint_;
};

// The names after `# TYPE ` in a page.
std::set<std::string> FamiliesOf(const std::string& page) {
  std::set<std::string> names;
  std::istringstream lines(page);
  std::string line;
  while (std::getline(lines, line)) {
    std::istringstream words(line);
    std::string hash;
    std::string keyword;
    std::string name;
    if (words >> hash >> keyword >> name && hash == "#" && keyword == "TYPE") {
      names.insert(name);
    }
  }
  return names;
}

// The names that begin a row of a table in docs/metrics.md.
std::set<std::string> FamiliesOfTheDocument() {
  std::set<std::string> names;
  std::ifstream document(MEMPLAN_SOURCE_DIR "/docs/metrics.md");
  std::string line;
  const std::string begin = "| `memplan_";
  while (std::getline(document, line)) {
    if (line.rfind(begin, 0) != 0) continue;
    const size_t first = line.find('`') + 1;
    names.insert(line.substr(first, line.find('`', first) - first));
  }
  return names;
}

TEST_F(HttpEndpointTest, ServesThePageWithItsVersion) {
  const httplib::Result result = Get("/metrics");
  ASSERT_TRUE(result);
  EXPECT_EQ(result->status, 200);
  EXPECT_EQ(result->get_header_value("Content-Type"),
            "text/plain; version=0.0.4; charset=utf-8");
  EXPECT_THAT(result->body, HasSubstr("memplan_build_info"));
}

TEST_F(HttpEndpointTest, SaysWhetherTheDaemonServes) {
  EXPECT_EQ(Get("/healthz")->status, 200);
  healthy_ = false;
  EXPECT_EQ(Get("/healthz")->status, 503);
}

TEST_F(HttpEndpointTest, HasNoOtherPage) { EXPECT_EQ(Get("/")->status, 404); }

TEST_F(HttpEndpointTest, RefusesAPortInUse) {
  const auto second = HttpEndpoint::Start("127.0.0.1", endpoint_->port(), {});
  EXPECT_THAT(second,
              StatusIs(absl::StatusCode::kUnavailable, HasSubstr("--metrics")));
}

TEST_F(HttpEndpointTest, PromtoolFindsNoFault) {
  if (std::string(MEMPLAN_PROMTOOL).empty()) {
    GTEST_SKIP() << "promtool is not installed";
  }
  const TempDir dir;
  std::ofstream(dir.Path("page")) << Page();
  const std::string command =
      std::string(MEMPLAN_PROMTOOL) + " check metrics < " + dir.Path("page");
  EXPECT_EQ(std::system(command.c_str()), 0);
}

TEST_F(HttpEndpointTest, TheDocumentListsExactlyThePagesFamilies) {
  EXPECT_EQ(FamiliesOfTheDocument(), FamiliesOf(Page()));
}

// A request that never ends, a byte now and then.
TEST_F(HttpEndpointTest, EndsWhateverItsClientsDo) {
  const Descriptor client = ConnectToLoopback(endpoint_->port());
  std::atomic<bool> ended = false;
  std::thread drip([&] {
    const std::string begin = "GET /metrics HTTP/1.1\r\nX: ";
    (void)send(client.get(), begin.data(), begin.size(), MSG_NOSIGNAL);
    while (!ended) {
      (void)send(client.get(), "a", 1, MSG_NOSIGNAL);
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  });
  const auto start = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - start <
         std::chrono::milliseconds(200)) {
    EXPECT_TRUE(Get("/healthz"));  // the others are served meanwhile
  }
  endpoint_ = nullptr;  // would hang for as long as the client lives
  ended = true;
  drip.join();
}

}  // namespace
}  // namespace memplan::testing
