#include "server/services/call_observer.h"

#include <google/protobuf/descriptor.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <string_view>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "server/base/log.h"
#include "server/base/rate_limit.h"

namespace memplan {
namespace {

using grpc::experimental::InterceptionHookPoints;
using grpc::experimental::InterceptorBatchMethods;
using Clock = std::chrono::steady_clock;

constexpr size_t kMostIdBytes = 64;
constexpr double kLoggedCallsPerSecond = 100;

// Different for each process, so that two daemons' ids do not meet.
std::string NewRequestId() {
  static const std::string process =
      absl::StrFormat("%08x", std::random_device()());
  static std::atomic<uint64_t> last = 0;
  return absl::StrFormat("%s-%x", process, ++last);
}

bool IsRequestId(std::string_view text) {
  if (text.empty() || text.size() > kMostIdBytes) return false;
  for (const char c : text) {
    if (c <= ' ' || c > '~') return false;
  }
  return true;
}

// Calls that only look are told of at the lowest level.
bool OnlyReads(std::string_view method) {
  for (const char* verb :
       {"Get", "List", "Watch", "Wait", "Check", "BatchCheck"}) {
    if (absl::StartsWith(absl::string_view(method.data(), method.size()),
                         verb)) {
      return true;
    }
  }
  return false;
}

spdlog::level::level_enum LevelOf(const CallMethod& method,
                                  grpc::StatusCode code) {
  if (code == grpc::StatusCode::INTERNAL) return spdlog::level::err;
  return OnlyReads(method.method) ? spdlog::level::debug : spdlog::level::info;
}

// One call. gRPC may call it on several threads, one at a time, which the tools
// that look for races cannot see; hence the mutex.
class ObservedCall : public grpc::experimental::Interceptor {
 public:
  ObservedCall(CallCounts& counts, RateLimit& lines,
               grpc::experimental::ServerRpcInfo& call)
      : counts_(counts),
        lines_(lines),
        place_(counts.Find(call.method())),
        context_(call.server_context()),
        id_(NewRequestId()) {}

  ~ObservedCall() override {
    const std::lock_guard lock(mutex_);
    // A call that nobody answered any more.
    if (begun_) End(grpc::Status(grpc::StatusCode::CANCELLED, "dropped"));
  }

  void Intercept(InterceptorBatchMethods* methods) override {
    const auto at = [methods](InterceptionHookPoints point) {
      return methods->QueryInterceptionHookPoint(point);
    };
    {
      const std::lock_guard lock(mutex_);
      if (at(InterceptionHookPoints::POST_RECV_INITIAL_METADATA)) {
        Begin(*methods->GetRecvInitialMetadata());
      }
      if (at(InterceptionHookPoints::PRE_SEND_INITIAL_METADATA)) {
        methods->GetSendInitialMetadata()->emplace(kRequestIdName, id_);
      }
      if (at(InterceptionHookPoints::PRE_SEND_STATUS) && begun_) {
        End(methods->GetSendStatus());
      }
    }
    methods->Proceed();
  }

 private:
  void Begin(std::multimap<grpc::string_ref, grpc::string_ref>& metadata) {
    begun_ = Clock::now();
    counts_.Begin(place_);
    const auto given = metadata.find(kRequestIdName);
    if (given != metadata.end()) {
      const std::string_view text(given->second.data(), given->second.size());
      if (IsRequestId(text)) {
        id_ = std::string(text);
        return;
      }
      metadata.erase(kRequestIdName);
    }
    // The interceptor, and so its text, lives as long as the call.
    metadata.emplace(kRequestIdName, id_);
  }

  void End(const grpc::Status& status) {
    const Clock::time_point now = Clock::now();
    const Clock::duration took = now - begun_.value_or(now);
    begun_.reset();
    counts_.End(place_, status.error_code(), took);
    const CallMethod& method = counts_.method(place_);
    const auto level = LevelOf(method, status.error_code());
    if (!spdlog::should_log(level)) return;
    if (!lines_.Take(now)) return;
    const LogContext context(
        {{"request_id", id_},
         {"method", absl::StrCat(method.service, "/", method.method)},
         {"peer", context_->peer()},
         {"code", std::string(kCallCodeWords.at(
                      static_cast<size_t>(status.error_code())))},
         {"seconds",
          absl::StrFormat("%.6f",
                          std::chrono::duration<double>(took).count())}});
    if (const int64_t refused = lines_.TakeRefused(); refused > 0) {
      spdlog::warn("{} calls ended without a line here: too many a second",
                   refused);
    }
    spdlog::log(level, "call ended{}{}", status.ok() ? "" : ": ",
                status.error_message());
  }

  CallCounts& counts_;
  RateLimit& lines_;
  const size_t place_;
  grpc::ServerContextBase* const context_;
  std::mutex mutex_;
  std::string id_;                          // under mutex_
  std::optional<Clock::time_point> begun_;  // under mutex_; unset once ended
};

class CallObserver
    : public grpc::experimental::ServerInterceptorFactoryInterface {
 public:
  explicit CallObserver(CallCounts& counts) : counts_(counts) {}

  grpc::experimental::Interceptor* CreateServerInterceptor(
      grpc::experimental::ServerRpcInfo* call) override {
    return new ObservedCall(counts_, lines_, *call);  // gRPC owns it
  }

 private:
  CallCounts& counts_;
  RateLimit lines_{kLoggedCallsPerSecond};
};

}  // namespace

std::vector<CallMethod> MethodsOf(const std::vector<std::string>& services) {
  std::vector<CallMethod> methods;
  for (const std::string& name : services) {
    const auto* service =
        google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(
            name);
    for (int i = 0; service != nullptr && i < service->method_count(); ++i) {
      const auto* method = service->method(i);
      methods.push_back(
          {name, method->name(),
           !method->client_streaming() && !method->server_streaming()});
    }
  }
  return methods;
}

std::unique_ptr<grpc::experimental::ServerInterceptorFactoryInterface>
MakeCallObserver(CallCounts& counts) {
  return std::make_unique<CallObserver>(counts);
}

std::string RequestIdOf(const grpc::CallbackServerContext& context) {
  const auto& metadata = context.client_metadata();
  const auto found = metadata.find(kRequestIdName);
  if (found == metadata.end()) return "";
  return {found->second.data(), found->second.size()};
}

}  // namespace memplan
