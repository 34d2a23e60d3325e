// Calls in a closed loop: so many are in flight, each followed by the next, until
// the time is over. What each took goes into a histogram of fixed size, so that a
// run of millions of calls holds no more memory than one of ten.
#ifndef MEMPLAN_TESTS_BENCH_CLOSED_LOOP_H_
#define MEMPLAN_TESTS_BENCH_CLOSED_LOOP_H_

#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace memplan::testing {

using BenchClock = std::chrono::steady_clock;

// Times from 1 µs to 100 s in steps of 2 %. Not thread-safe.
class Latencies {
 public:
  void Add(BenchClock::duration took) {
    const double micros =
        std::chrono::duration<double, std::micro>(took).count();
    ++counts_[PlaceOf(micros)];
    ++total_;
  }
  void Add(const Latencies& other) {
    for (size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
    total_ += other.total_;
  }
  int64_t total() const { return total_; }

  // The time that `part` of them, 0 to 1, did not exceed; 0 if there are none.
  double MillisAt(double part) const;

 private:
  static constexpr size_t kPlaces = 1000;
  static size_t PlaceOf(double micros);

  std::array<int64_t, kPlaces> counts_{};
  int64_t total_ = 0;
};

struct Figures {
  double per_second = 0;
  double p50_ms = 0;
  double p99_ms = 0;
  int64_t failed = 0;
};

// Of each figure by itself.
Figures MedianOf(const std::vector<Figures>& runs);

Figures FiguresOf(const Latencies& latencies, int64_t failed,
                  BenchClock::duration length);

// How a call is started; it calls its last argument when it has ended.
template <typename Request, typename Response>
using Send = std::function<void(grpc::ClientContext*, const Request*, Response*,
                                std::function<void(grpc::Status)>)>;

// One of the calls in flight, and those that follow it.
template <typename Request, typename Response>
class Slot {
 public:
  Slot(Send<Request, Response> send, std::function<Request()> make,
       std::function<bool()> goes_on)
      : send_(std::move(send)),
        make_(std::move(make)),
        goes_on_(std::move(goes_on)) {}

  void Next(const std::function<void()>& done) {
    context_ = std::make_unique<grpc::ClientContext>();
    request_ = make_();
    const BenchClock::time_point begun = BenchClock::now();
    send_(context_.get(), &request_, &response_,
          [this, begun, done](const grpc::Status& status) {
            latencies_.Add(BenchClock::now() - begun);
            if (!status.ok()) ++failed_;
            if (goes_on_()) {
              Next(done);
            } else {
              done();
            }
          });
  }

  const Latencies& latencies() const { return latencies_; }
  int64_t failed() const { return failed_; }

 private:
  const Send<Request, Response> send_;
  const std::function<Request()> make_;
  const std::function<bool()> goes_on_;
  std::unique_ptr<grpc::ClientContext> context_;
  Request request_;
  Response response_;
  Latencies latencies_;
  int64_t failed_ = 0;
};

// Runs until `goes_on` says no; it is asked after each call, by several threads.
template <typename Request, typename Response>
Figures RunLoop(const Send<Request, Response>& send,
                const std::function<Request()>& make, int in_flight,
                const std::function<bool()>& goes_on) {
  const BenchClock::time_point begun = BenchClock::now();
  std::vector<std::unique_ptr<Slot<Request, Response>>> slots;
  std::mutex mutex;
  std::condition_variable changed;
  int left = in_flight;
  for (int i = 0; i < in_flight; ++i) {
    slots.push_back(
        std::make_unique<Slot<Request, Response>>(send, make, goes_on));
    slots.back()->Next([&] {
      const std::lock_guard lock(mutex);
      if (--left == 0) changed.notify_all();
    });
  }
  std::unique_lock lock(mutex);
  changed.wait(lock, [&] { return left == 0; });
  Latencies all;
  int64_t failed = 0;
  for (const auto& slot : slots) {
    all.Add(slot->latencies());
    failed += slot->failed();
  }
  return FiguresOf(all, failed, BenchClock::now() - begun);
}

// Likewise for a length of time.
template <typename Request, typename Response>
Figures RunFor(const Send<Request, Response>& send,
               const std::function<Request()>& make, int in_flight,
               BenchClock::duration length) {
  const BenchClock::time_point end = BenchClock::now() + length;
  return RunLoop<Request, Response>(send, make, in_flight,
                                    [end] { return BenchClock::now() < end; });
}

}  // namespace memplan::testing

#endif  // MEMPLAN_TESTS_BENCH_CLOSED_LOOP_H_
