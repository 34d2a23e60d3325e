#include "server/metrics/http_endpoint.h"

#include <httplib.h>
#include <prometheus/text_serializer.h>

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/metrics/bounded_http_server.h"

namespace memplan {
namespace {

constexpr char kMetricsType[] = "text/plain; version=0.0.4; charset=utf-8";
constexpr char kWordsType[] = "text/plain; charset=utf-8";
// Each has one connection at a time, for as long as the limits let it.
constexpr size_t kThreads = 8;
constexpr std::chrono::seconds kEndPatience{1};
constexpr int kUnavailable = 503;

// httplib would let two daemons listen on one port and each get half the calls.
void RefuseToShareThePort(socket_t socket) {
  const int yes = 1;
  (void)setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
}

// What the serving threads use. One of them may outlive the endpoint, by what the
// limits let a slow client have.
struct Served {
  explicit Served(const HttpLimits& limits) : server(limits) {}

  BoundedHttpServer server;
  std::shared_mutex mutex;
  std::optional<HttpEndpoint::Pages> pages;  // under mutex; unset at the end
  std::promise<void> ended;
};

class HttpEndpointOnThread : public HttpEndpoint {
 public:
  HttpEndpointOnThread(Pages pages, const HttpLimits& limits)
      : served_(std::make_shared<Served>(limits)) {
    served_->pages = std::move(pages);
    httplib::Server& server = served_->server;
    server.new_task_queue = [] { return new httplib::ThreadPool(kThreads); };
    server.set_socket_options(RefuseToShareThePort);
    Serve("/metrics", [](const Pages& shown, httplib::Response& response) {
      response.set_content(MetricsPage(shown.metrics()), kMetricsType);
    });
    Serve("/healthz", [](const Pages& shown, httplib::Response& response) {
      const bool healthy = shown.healthy();
      response.status = healthy ? 200 : kUnavailable;
      response.set_content(healthy ? "serving\n" : "not serving\n", kWordsType);
    });
  }

  ~HttpEndpointOnThread() override {
    served_->server.stop();
    {
      const std::unique_lock lock(served_->mutex);
      served_->pages.reset();
    }
    if (!thread_.joinable()) return;
    if (ended_.wait_for(kEndPatience) == std::future_status::ready) {
      thread_.join();
    } else {
      thread_.detach();
    }
  }

  bool Listen(const std::string& host, int port) {
    httplib::Server& server = served_->server;
    port_ = port;
    const bool bound = port == 0 ? (port_ = server.bind_to_any_port(host)) > 0
                                 : server.bind_to_port(host, port);
    if (!bound) return false;
    ended_ = served_->ended.get_future();
    thread_ = std::thread([served = served_] {
      served->server.listen_after_bind();
      served->ended.set_value();
    });
    // stop() is lost on a server that does not accept yet.
    while (!server.is_running() && !HasEnded()) std::this_thread::yield();
    return !HasEnded();
  }

  int port() const override { return port_; }

 private:
  bool HasEnded() const {
    return ended_.wait_for(std::chrono::seconds(0)) ==
           std::future_status::ready;
  }

  void Serve(const char* path,
             std::function<void(const Pages&, httplib::Response&)> show) {
    Served* served = served_.get();  // has this handler
    served->server.Get(
        path, [served, show = std::move(show)](const httplib::Request&,
                                               httplib::Response& response) {
          const std::shared_lock lock(served->mutex);
          if (served->pages) {
            show(*served->pages, response);
          } else {
            response.status = kUnavailable;
          }
        });
  }

  const std::shared_ptr<Served> served_;
  std::thread thread_;
  std::future<void> ended_;
  int port_ = 0;
};

}  // namespace

std::string MetricsPage(const std::vector<prometheus::MetricFamily>& families) {
  return prometheus::TextSerializer().Serialize(families);
}

absl::StatusOr<std::unique_ptr<HttpEndpoint>> HttpEndpoint::Start(
    const std::string& host, int port, Pages pages, const HttpLimits& limits) {
  auto endpoint =
      std::make_unique<HttpEndpointOnThread>(std::move(pages), limits);
  if (!endpoint->Listen(host, port)) {
    return absl::UnavailableError(absl::StrCat(
        "cannot listen for metrics on ", host, ":", port,
        "; is the port in use? choose another with --metrics HOST:PORT, or "
        "switch the page off with --metrics none"));
  }
  return endpoint;
}

}  // namespace memplan
