// Clients of the metrics page that never come to an end.
#include "server/metrics/bounded_http_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <httplib.h>
#include <sys/socket.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "server/metrics/http_endpoint.h"
#include "tests/support/loopback_client.h"
#include "tests/support/status_matchers.h"

namespace memplan::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr size_t kMiB = size_t{1} << 20;

class BoundedHttpServerTest : public ::testing::Test {
 protected:
  void Start(const HttpLimits& limits = {}) {
    auto started = HttpEndpoint::Start(
        "127.0.0.1", 0,
        {.metrics = [] { return std::vector<prometheus::MetricFamily>(); },
         .healthy = [] { return true; }},
        limits);
    ASSERT_THAT(started, IsOk());
    endpoint_ = *std::move(started);
  }
  // With a small buffer for what is sent, so that little is taken from it that
  // the daemon has not read.
  Descriptor Connect() const {
    Descriptor client = ConnectToLoopback(endpoint_->port());
    const int buffer_bytes = 64 << 10;
    EXPECT_EQ(setsockopt(client.get(), SOL_SOCKET, SO_SNDBUF, &buffer_bytes,
                         sizeof(buffer_bytes)),
              0);
    return client;
  }
  void ExpectServes() const {
    const httplib::Result page =
        httplib::Client("127.0.0.1", endpoint_->port()).Get("/healthz");
    ASSERT_TRUE(page);
    EXPECT_EQ(page->status, 200);
  }

  std::unique_ptr<HttpEndpoint> endpoint_;
};

bool SendText(const Descriptor& client, const std::string& text) {
  return send(client.get(), text.data(), text.size(), MSG_NOSIGNAL) ==
         static_cast<ssize_t>(text.size());
}

// Sends `piece` until the other side has closed or `most` bytes are sent; returns
// how many were.
size_t SendOver(const Descriptor& client, const std::string& piece,
                size_t most) {
  size_t sent = 0;
  while (sent < most && SendText(client, piece)) sent += piece.size();
  return sent;
}

// What comes until the other side closes.
std::string Answer(const Descriptor& client) {
  std::string answer;
  char buffer[4096];
  for (;;) {
    const ssize_t came = recv(client.get(), buffer, sizeof(buffer), 0);
    if (came <= 0) return answer;
    answer.append(buffer, static_cast<size_t>(came));
  }
}

TEST_F(BoundedHttpServerTest, ReadsNoEndlessHead) {
  Start();
  const Descriptor client = Connect();
  ASSERT_TRUE(SendText(client, "GET /metrics HTTP/1.1\r\n"));
  EXPECT_LT(SendOver(client, "X-Header: of thirty-two bytes..\r\n", 8 * kMiB),
            2 * kMiB);
  ExpectServes();
}

TEST_F(BoundedHttpServerTest, ReadsNoBody) {
  Start();
  const Descriptor client = Connect();
  ASSERT_TRUE(SendText(
      client, "POST /metrics HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"));
  EXPECT_LT(SendOver(client, "1000\r\n" + std::string(0x1000, 'x') + "\r\n",
                     8 * kMiB),
            2 * kMiB);
  ExpectServes();
}

TEST_F(BoundedHttpServerTest, SaysHowLongAHeadMayBe) {
  Start({.head_bytes = 1000});
  const std::string begin = "GET /healthz HTTP/1.1\r\nX-Filler: ";
  const std::string end = "\r\n\r\n";
  const auto answer_to = [&](size_t bytes) {
    const Descriptor client = Connect();
    EXPECT_TRUE(SendText(
        client,
        begin + std::string(bytes - begin.size() - end.size(), 'x') + end));
    return Answer(client);
  };
  EXPECT_THAT(answer_to(1000), StartsWith("HTTP/1.1 200 "));
  const std::string refused = answer_to(1001);
  EXPECT_THAT(refused, StartsWith("HTTP/1.1 431 "));
  EXPECT_THAT(refused, HasSubstr("above 1000 bytes"));
}

TEST_F(BoundedHttpServerTest, TakesAHeadByteByByte) {
  Start({.head_patience = std::chrono::seconds(60)});
  const Descriptor client = Connect();
  for (const char byte : std::string("GET /healthz HTTP/1.1\r\n\r\n")) {
    ASSERT_TRUE(SendText(client, std::string(1, byte)));
  }
  EXPECT_THAT(Answer(client), HasSubstr("serving"));
}

// However regularly its bytes come.
TEST_F(BoundedHttpServerTest, WaitsForNoSlowHead) {
  Start({.head_patience = std::chrono::milliseconds(300)});
  const Descriptor client = Connect();
  ASSERT_TRUE(SendText(client, "GET /healthz HTTP/1.1\r\nX-Filler: "));
  constexpr int kMostBytes = 1500;  // far below the bound on bytes
  int sent = 0;
  while (sent < kMostBytes && SendText(client, "x")) {
    ++sent;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  EXPECT_LT(sent, kMostBytes);
}

}  // namespace
}  // namespace memplan::testing
