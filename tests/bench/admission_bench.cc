// How fast admission answers over gRPC, beside the floor: the same calls of a
// service whose methods are empty, in the same process and in turns, so that a
// noisy moment meets both. Each figure is the median of five runs, or of fifteen
// pairs where two are compared. Prints rows of a Markdown table;
// scripts/bench-admission puts all of them together.
//
//   admission_bench [SECTION…]        of check, batch, reserve, overload; all
//   admission_bench at ADDRESS fill   a thousand reservations of a daemon's
//   admission_bench at ADDRESS check  checks of 1 GiB there
//   admission_bench at ADDRESS many N PID   N such checks, and after each million
//                                     what process PID holds of the host's memory
#include <fcntl.h>
#include <grpcpp/grpcpp.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iostream>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/synchronization/mutex.h"
#include "tests/bench/bench_node.h"
#include "tests/bench/closed_loop.h"
#include "tests/bench/overload.h"

namespace memplan::testing {
namespace {

constexpr int kRuns = 5;
constexpr std::chrono::seconds kLength{2};  // of each run
// A shared machine changes its pace from second to second, so that what is to be
// compared is compared often.
constexpr int kPairs = 15;
constexpr std::chrono::seconds kLengthOfPairs{1};
constexpr int64_t kMillion = 1'000'000;

using Stub = v1::AdmissionService::Stub;

std::unique_ptr<Stub> StubAt(const std::string& address) {
  return v1::AdmissionService::NewStub(
      grpc::CreateChannel(address, grpc::InsecureChannelCredentials()));
}

void PrintRow(const std::string& what, const Figures& figures,
              const std::string& against) {
  std::cout << absl::StrFormat("| %s | %.0f | %.3f | %.3f | %s |\n", what,
                               figures.per_second, figures.p50_ms,
                               figures.p99_ms, against)
            << std::flush;
  if (figures.failed > 0) {
    std::cerr << what << ": " << figures.failed << " calls failed\n";
  }
}

Send<v1::CheckRequest, v1::CheckResponse> Checks(Stub& stub) {
  return [&stub](grpc::ClientContext* context, const v1::CheckRequest* request,
                 v1::CheckResponse* response,
                 std::function<void(grpc::Status)> done) {
    stub.async()->Check(context, request, response, std::move(done));
  };
}

void CompareChecks(const std::string& name, const std::string& floor_address,
                   const std::string& address, int in_flight) {
  const auto floor_stub = StubAt(floor_address);
  const auto stub = StubAt(address);
  std::vector<Figures> floors;
  std::vector<Figures> checks;
  std::vector<Figures> ratios;  // of two runs that followed each other
  for (int i = 0; i < kPairs; ++i) {
    floors.push_back(RunFor<v1::CheckRequest, v1::CheckResponse>(
        Checks(*floor_stub), CheckOfAPlan, in_flight, kLengthOfPairs));
    checks.push_back(RunFor<v1::CheckRequest, v1::CheckResponse>(
        Checks(*stub), CheckOfAPlan, in_flight, kLengthOfPairs));
    ratios.push_back(
        {.per_second = checks.back().per_second / floors.back().per_second,
         .p99_ms = checks.back().p99_ms / floors.back().p99_ms});
  }
  const Figures ratio = MedianOf(ratios);
  PrintRow("empty method, " + name, MedianOf(floors), "");
  PrintRow("Check, " + name, MedianOf(checks),
           absl::StrFormat("rate %.2f of the empty method's, p99 %.2f times",
                           ratio.per_second, ratio.p99_ms));
}

void BenchChecks(BenchNode& node) {
  CompareChecks("TCP, 4 in flight", node.floor().tcp(), node.real().tcp(), 4);
  CompareChecks("unix socket, 1 in flight", node.floor().socket(),
                node.real().socket(), 1);
}

void BenchBatches(BenchNode& node) {
  const auto stub = StubAt(node.real().tcp());
  const Send<v1::BatchCheckRequest, v1::BatchCheckResponse> send =
      [&stub](grpc::ClientContext* context,
              const v1::BatchCheckRequest* request,
              v1::BatchCheckResponse* response,
              std::function<void(grpc::Status)> done) {
        stub->async()->BatchCheck(context, request, response, std::move(done));
      };
  std::vector<Figures> runs;
  for (int i = 0; i < kRuns; ++i) {
    runs.push_back(RunFor<v1::BatchCheckRequest, v1::BatchCheckResponse>(
        send, [] { return BatchOfPlans(64); }, 1, kLength));
  }
  PrintRow("BatchCheck of 64 jobs, TCP, 1 in flight", MedianOf(runs),
           "p99 < 2 ms is wanted");
}

// A page that is written over and over, as a log of SQLite's is.
double MedianSyncMillis(const std::string& path) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  std::vector<double> millis;
  const std::string page(4096, 'x');
  for (int i = 0; i < 200; ++i) {
    const BenchClock::time_point begun = BenchClock::now();
    const auto place = static_cast<off_t>(i) * 4096;
    if (pwrite(file, page.data(), page.size(), place) < 0) break;
    fdatasync(file);
    millis.push_back(
        std::chrono::duration<double, std::milli>(BenchClock::now() - begun)
            .count());
  }
  close(file);
  if (millis.empty()) return 0;
  std::sort(millis.begin(), millis.end());
  return millis[millis.size() / 2];
}

Send<v1::ReserveRequest, v1::ReserveResponse> Reserves(Stub& stub) {
  return
      [&stub](grpc::ClientContext* context, const v1::ReserveRequest* request,
              v1::ReserveResponse* response,
              std::function<void(grpc::Status)> done) {
        stub.async()->Reserve(context, request, response, std::move(done));
      };
}

v1::ReserveRequest SmallReservation() {
  v1::ReserveRequest request;
  request.mutable_job()->set_bytes(1024);
  request.mutable_job()->set_placement(v1::PLACEMENT_SPREAD);
  request.mutable_lifetime()->set_seconds(3600);
  return request;
}

void BenchReserves(BenchNode& node) {
  constexpr int kInFlight = 32;
  const auto stub = StubAt(node.real().tcp());
  std::vector<Figures> checks;
  std::vector<Figures> reserves;
  const int64_t commits = node.store().commits();
  for (int i = 0; i < kRuns; ++i) {
    checks.push_back(RunFor<v1::CheckRequest, v1::CheckResponse>(
        Checks(*stub), CheckOfAPlan, kInFlight, kLength));
    reserves.push_back(RunFor<v1::ReserveRequest, v1::ReserveResponse>(
        Reserves(*stub), SmallReservation, kInFlight, kLength));
  }
  const double sync = MedianSyncMillis(node.Path("sync"));
  const double check = MedianOf(checks).per_second;
  const double wanted = std::min(0.7 * kInFlight / (sync / 1000), check / 2);
  PrintRow("Check, TCP, 32 in flight", MedianOf(checks), "");
  PrintRow("Reserve, durable, TCP, 32 in flight", MedianOf(reserves),
           absl::StrFormat("%.0f a second are wanted: one fdatasync takes "
                           "%.2f ms; %d commits",
                           wanted, sync, node.store().commits() - commits));
}

// From a call's arrival to its answer's departure, as the daemon's metrics count:
// all the daemon can do about it. Of all its calls so far.
std::string InTheDaemon(const MethodCalls& calls) {
  int64_t all = 0;
  for (const int64_t count : calls.by_bucket) all += count;
  int64_t seen = 0;
  for (size_t i = 0; i < kCallBucketSeconds.size(); ++i) {
    seen += calls.by_bucket[i];
    if (100 * seen >= 99 * all) {
      return absl::StrFormat("in the daemon p99 ≤ %g ms",
                             1000 * kCallBucketSeconds[i]);
    }
  }
  return "in the daemon p99 > 1 s";
}

// An eighth of what the machine answers is let in; then as much is offered, and
// three times as much. The clients share the machine, and more would measure how
// they wait for a processor.
void BenchOverload(BenchNode& node) {
  const auto stub = StubAt(node.real().tcp());
  const Figures all = RunFor<v1::CheckRequest, v1::CheckResponse>(
      Checks(*stub), CheckOfAPlan, 4, kLength);
  const double bound = std::floor(all.per_second / 8);
  const auto gated = node.Gated(static_cast<int64_t>(bound));
  OverloadClients clients(gated->tcp());
  std::vector<Figures> within;
  std::vector<Figures> accepted;
  std::vector<Figures> refused;
  std::vector<Figures> late;
  int64_t without_delay = 0;
  int64_t failed = 0;
  for (int i = 0; i < kRuns; ++i) {
    // A little less than the bound: none is to be refused.
    within.push_back(clients.Offer(0.95 * bound, kLength).accepted);
    const OfferedLoad load = clients.Offer(3 * bound, kLength);
    accepted.push_back(load.accepted);
    refused.push_back(load.refused);
    late.push_back(load.late);
    without_delay += load.without_delay;
    failed += load.failed;
  }
  const Figures before = MedianOf(within);
  const Figures after = MedianOf(accepted);
  PrintRow(absl::StrFormat("Check, a bound of %.0f a second, as many offered",
                           bound),
           before, "");
  PrintRow("accepted of three times as many", after,
           absl::StrFormat("p99 %.2f times", after.p99_ms / before.p99_ms));
  PrintRow(
      "refused of three times as many", MedianOf(refused),
      absl::StrFormat("p99 < 5 ms is wanted; %d without RetryInfo, %d "
                      "failed otherwise; %s",
                      without_delay, failed, InTheDaemon(gated->Checks())));
  PrintRow("how late these were sent", MedianOf(late),
           "of the machine, not of the daemon");
}

v1::CheckRequest CheckOfAGibibyte() {
  v1::CheckRequest request;
  request.mutable_job()->set_bytes(GiB(1).count());
  return request;
}

int64_t ResidentKib(const std::string& pid) {
  std::ifstream status("/proc/" + pid + "/status");
  for (std::string word; status >> word;) {
    int64_t kib = 0;
    if (word == "VmRSS:" && status >> kib) return kib;
  }
  return 0;
}

void CheckMany(Stub& stub, int64_t checks, const std::string& pid) {
  std::cout << "| checks | a second | p50, ms | p99, ms | resident, KiB |\n"
            << "| --- | --- | --- | --- | --- |\n";
  for (int64_t done = 0; done < checks;) {
    const int64_t now = std::min(kMillion, checks - done);
    std::atomic<int64_t> left = now - 4;  // of those that follow the first four
    const Figures figures = RunLoop<v1::CheckRequest, v1::CheckResponse>(
        Checks(stub), CheckOfAGibibyte, 4, [&left] { return left-- > 0; });
    done += now;
    PrintRow(absl::StrCat(done), figures, absl::StrCat(ResidentKib(pid)));
  }
}

int RunAt(const std::vector<std::string>& words) {
  const auto stub = StubAt(words[1]);
  if (words[2] == "fill") {
    std::atomic<int> left = 1000 - 32;
    const Figures figures = RunLoop<v1::ReserveRequest, v1::ReserveResponse>(
        Reserves(*stub), SmallReservation, 32, [&left] { return left-- > 0; });
    return figures.failed == 0 ? 0 : 1;
  }
  int64_t many = 0;
  if (words[2] == "many" && words.size() == 5 &&
      absl::SimpleAtoi(words[3], &many)) {
    CheckMany(*stub, many, words[4]);
    return 0;
  }
  std::vector<Figures> runs;
  for (int i = 0; i < kRuns; ++i) {
    runs.push_back(RunFor<v1::CheckRequest, v1::CheckResponse>(
        Checks(*stub), CheckOfAGibibyte, 4, kLength));
  }
  const Figures median = MedianOf(runs);
  std::cout << absl::StrFormat("%.0f %.3f %.3f\n", median.per_second,
                               median.p50_ms, median.p99_ms);
  return 0;
}

int Main(const std::vector<std::string>& words) {
  if (words.size() >= 3 && words[0] == "at") return RunAt(words);
  const std::set<std::string> chosen(words.begin(), words.end());
  const auto wants = [&chosen](const char* section) {
    return chosen.empty() || chosen.contains(section);
  };
  spdlog::set_level(spdlog::level::warn);
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  BenchNode node;
  std::cout << "| call | a second | p50, ms | p99, ms | against |\n"
            << "| --- | --- | --- | --- | --- |\n";
  if (wants("check")) BenchChecks(node);
  if (wants("batch")) BenchBatches(node);
  if (wants("reserve")) BenchReserves(node);
  if (wants("overload")) BenchOverload(node);
  return 0;
}

}  // namespace
}  // namespace memplan::testing

int main(int argc, char** argv) {
  return memplan::testing::Main({argv + 1, argv + argc});
}
