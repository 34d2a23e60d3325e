// The node that admission is measured on: eight cards, a thousand reservations,
// two hundred plans, made up; and gRPC servers for admission and for the floor, a
// service of the same shape whose methods are empty.
#ifndef MEMPLAN_TESTS_BENCH_BENCH_NODE_H_
#define MEMPLAN_TESTS_BENCH_BENCH_NODE_H_

#include <grpcpp/grpcpp.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "memplan/v1/admission_service.grpc.pb.h"
#include "server/admission/admission.h"
#include "server/base/call_counts.h"
#include "server/services/admission_service.h"
#include "tests/support/temp_dir.h"

namespace memplan::testing {

// A server of one service, observed as the daemon's are, on TCP and on a socket.
class BenchServer {
 public:
  BenchServer(grpc::Service& service, const std::string& socket);
  ~BenchServer() { server_->Shutdown(); }

  const std::string& tcp() const { return tcp_; }
  const std::string& socket() const { return socket_; }
  // Its calls of `Check`, as the daemon's metrics count them.
  MethodCalls Checks() const;

 private:
  CallCounts counts_;
  const std::string socket_;
  std::string tcp_;
  std::unique_ptr<grpc::Server> server_;
};

// Its servers live as long as it.
class BenchNode {
 public:
  BenchNode();
  ~BenchNode();

  const BenchServer& real() const { return *real_; }
  const BenchServer& floor() const { return *floor_; }
  Admission& admission() { return *admission_; }
  ReservationStore& store() { return *store_; }
  std::string Path(const std::string& name) const { return dir_.Path(name); }
  // A further server of the same admission, with this bound (0: none).
  std::unique_ptr<BenchServer> Gated(int64_t checks_per_second);

 private:
  void Fill();
  std::unique_ptr<AdmissionService> ServiceBehind(CallGate& gate);

  const TempDir dir_;
  const SystemProcessTable processes_;
  std::unique_ptr<ReservationStore> store_;
  std::unique_ptr<Admission> admission_;
  CallPlaces places_;
  CallGate open_{0};
  std::unique_ptr<CallGate> gate_;
  std::unique_ptr<AdmissionService> service_;
  std::unique_ptr<AdmissionService> gated_;
  std::unique_ptr<v1::AdmissionService::CallbackService> empty_;
  std::unique_ptr<BenchServer> real_;
  std::unique_ptr<BenchServer> floor_;
};

// Asks for one of the plans in turn.
v1::CheckRequest CheckOfAPlan();
v1::BatchCheckRequest BatchOfPlans(int jobs);

}  // namespace memplan::testing

#endif  // MEMPLAN_TESTS_BENCH_BENCH_NODE_H_
