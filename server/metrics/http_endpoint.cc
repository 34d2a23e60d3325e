#include "server/metrics/http_endpoint.h"

#include <httplib.h>
#include <prometheus/text_serializer.h>

#include <atomic>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"

namespace memplan {
namespace {

constexpr char kMetricsType[] = "text/plain; version=0.0.4; charset=utf-8";
constexpr char kWordsType[] = "text/plain; charset=utf-8";
constexpr size_t kThreads = 2;
constexpr time_t kTimeoutSeconds = 5;
constexpr size_t kMaxRequestBytes = 4096;

// httplib would let two daemons listen on one port and each get half the calls.
void RefuseToShareThePort(socket_t socket) {
  const int yes = 1;
  (void)setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
}

class HttpEndpointOnThread : public HttpEndpoint {
 public:
  explicit HttpEndpointOnThread(Pages pages) : pages_(std::move(pages)) {
    server_.new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
    server_.set_read_timeout(kTimeoutSeconds);
    server_.set_write_timeout(kTimeoutSeconds);
    // One request a connection: a scraper that keeps one open would hold a
    // thread, and the daemon's end, up.
    server_.set_keep_alive_max_count(1);
    server_.set_socket_options(RefuseToShareThePort);
    server_.set_payload_max_length(kMaxRequestBytes);
    server_.Get("/metrics", [this](const httplib::Request&,
                                   httplib::Response& response) {
      response.set_content(MetricsPage(pages_.metrics()), kMetricsType);
    });
    server_.Get("/healthz", [this](const httplib::Request&,
                                   httplib::Response& response) {
      const bool healthy = pages_.healthy();
      response.status = healthy ? 200 : 503;
      response.set_content(healthy ? "serving\n" : "not serving\n", kWordsType);
    });
  }

  ~HttpEndpointOnThread() override {
    server_.stop();
    if (thread_.joinable()) thread_.join();
  }

  bool Listen(const std::string& host, int port) {
    port_ = port;
    const bool bound = port == 0 ? (port_ = server_.bind_to_any_port(host)) > 0
                                 : server_.bind_to_port(host, port);
    if (!bound) return false;
    thread_ = std::thread([this] {
      server_.listen_after_bind();
      ended_ = true;
    });
    // stop() is lost on a server that does not accept yet.
    while (!server_.is_running() && !ended_) std::this_thread::yield();
    return !ended_;
  }

  int port() const override { return port_; }

 private:
  const Pages pages_;
  httplib::Server server_;
  std::thread thread_;
  std::atomic<bool> ended_ = false;
  int port_ = 0;
};

}  // namespace

std::string MetricsPage(const std::vector<prometheus::MetricFamily>& families) {
  return prometheus::TextSerializer().Serialize(families);
}

absl::StatusOr<std::unique_ptr<HttpEndpoint>> HttpEndpoint::Start(
    const std::string& host, int port, Pages pages) {
  auto endpoint = std::make_unique<HttpEndpointOnThread>(std::move(pages));
  if (!endpoint->Listen(host, port)) {
    return absl::UnavailableError(absl::StrCat(
        "cannot listen for metrics on ", host, ":", port,
        "; is the port in use? choose another with --metrics HOST:PORT, or "
        "switch the page off with --metrics none"));
  }
  return endpoint;
}

}  // namespace memplan
