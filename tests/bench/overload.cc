#include "tests/bench/overload.h"

#include <thread>
#include <vector>

#include "google/rpc/error_details.pb.h"
#include "google/rpc/status.pb.h"
#include "tests/bench/bench_node.h"

namespace memplan::testing {
namespace {

bool HasRetryInfo(const grpc::Status& status) {
  google::rpc::Status details;
  if (!details.ParseFromString(status.error_details())) return false;
  for (const auto& detail : details.details()) {
    if (detail.Is<google::rpc::RetryInfo>()) return true;
  }
  return false;
}

constexpr int kClients = 4;

// Channels of different arguments share no connection, as processes do not.
std::unique_ptr<v1::AdmissionService::Stub> ClientOf(const std::string& address,
                                                     int number) {
  grpc::ChannelArguments arguments;
  arguments.SetInt("memplan.bench_client", number);
  auto channel = grpc::CreateCustomChannel(
      address, grpc::InsecureChannelCredentials(), arguments);
  channel->WaitForConnected(std::chrono::system_clock::now() +
                            std::chrono::seconds(10));
  return v1::AdmissionService::NewStub(channel);
}

// The calls that are under way, and what became of those that ended.
class Offered {
 public:
  // Starts a call that is `due`, maybe late.
  void Start(v1::AdmissionService::Stub& stub, BenchClock::time_point due) {
    auto* call = new Call{.request = CheckOfAPlan()};
    {
      const std::lock_guard lock(mutex_);
      ++under_way_;
      late_.Add(BenchClock::now() - due);
    }
    call->begun = BenchClock::now();
    stub.async()->Check(&call->context, &call->request, &call->response,
                        [this, call](const grpc::Status& status) {
                          End(status, BenchClock::now() - call->begun);
                          delete call;
                        });
  }

  OfferedLoad Wait(BenchClock::duration length) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return under_way_ == 0; });
    load_.accepted = FiguresOf(accepted_, 0, length);
    load_.refused = FiguresOf(refused_, 0, length);
    load_.late = FiguresOf(late_, 0, length);
    return load_;
  }

 private:
  struct Call {
    grpc::ClientContext context = {};
    v1::CheckRequest request;
    v1::CheckResponse response = {};
    BenchClock::time_point begun = {};
  };

  void End(const grpc::Status& status, BenchClock::duration took) {
    const std::lock_guard lock(mutex_);
    if (status.ok()) {
      accepted_.Add(took);
    } else if (status.error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED) {
      refused_.Add(took);
      if (!HasRetryInfo(status)) ++load_.without_delay;
    } else {
      ++load_.failed;
    }
    if (--under_way_ == 0) changed_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  int64_t under_way_ = 0;
  Latencies accepted_;
  Latencies refused_;
  Latencies late_;
  OfferedLoad load_;
};

}  // namespace

OverloadClients::OverloadClients(const std::string& address) {
  for (int i = 0; i < kClients; ++i) stubs_.push_back(ClientOf(address, i));
}

OfferedLoad OverloadClients::Offer(double per_second,
                                   BenchClock::duration length) {
  Offered offered;
  const BenchClock::time_point begun = BenchClock::now();
  const auto calls = static_cast<int64_t>(
      per_second * std::chrono::duration<double>(length).count());
  const auto send = [&](int client) {
    for (int64_t i = client; i < calls; i += kClients) {
      const BenchClock::time_point due =
          begun + std::chrono::duration_cast<BenchClock::duration>(
                      std::chrono::duration<double>(static_cast<double>(i) /
                                                    per_second));
      std::this_thread::sleep_until(due);
      offered.Start(*stubs_[client], due);
    }
  };
  std::vector<std::thread> senders;
  for (int i = 0; i < kClients; ++i) senders.emplace_back(send, i);
  for (std::thread& sender : senders) sender.join();
  return offered.Wait(BenchClock::now() - begun);
}

}  // namespace memplan::testing
