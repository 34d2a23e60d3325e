// Places for calls that hold something as long as they last: uploads, watches,
// replays. So many in all, and so many for one client, so that none takes all.
#ifndef MEMPLAN_SERVER_SERVICES_PLACES_H_
#define MEMPLAN_SERVER_SERVICES_PLACES_H_

#include <grpcpp/server_context.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/statusor.h"

namespace memplan {

// Who calls: the name in its certificate if it has one, else its host's address.
// gRPC tells nothing of who is behind a unix socket: empty there, and no bound
// for each client applies.
std::string ClientOf(const grpc::ServerContextBase& context);

struct PlaceRules {
  std::string what;    // for people: `uploads`
  std::string reason;  // of the refusal: TOO_MANY_UPLOADS
  int most = 0;
  int most_for_one = 0;  // client
};

// A place that is taken; given back with the object. May be moved.
class Place {
 public:
  Place() = default;

 private:
  friend class Places;
  explicit Place(std::shared_ptr<void> taken) : taken_(std::move(taken)) {}

  std::shared_ptr<void> taken_;
};

// Thread-safe. Places that were taken may outlive it.
class Places {
 public:
  explicit Places(PlaceRules rules);

  // kResourceExhausted (the rules' reason) if there is none; kUnavailable
  // (SHUTTING_DOWN) once they were closed.
  absl::StatusOr<Place> Take(const std::string& client);

  // No more are given.
  void Close();

  int taken() const;
  int most() const { return state_->rules.most; }

 private:
  struct State {
    explicit State(PlaceRules given) : rules(std::move(given)) {}

    const PlaceRules rules;
    std::mutex mutex;
    int taken = 0;                         // under mutex
    std::map<std::string, int> by_client;  // under mutex; none has 0
    bool closed = false;                   // under mutex
  };
  class Taken;

  const std::shared_ptr<State> state_;
};

// The places of every kind of call that has some. Thread-safe.
struct CallPlaces {
  Places uploads{{.what = "uploads",
                  .reason = "TOO_MANY_UPLOADS",
                  .most = 8,
                  .most_for_one = 4}};
  Places watches{{.what = "watches and waits",
                  .reason = "TOO_MANY_WATCHES",
                  .most = 1000,
                  .most_for_one = 200}};
  Places replays{{.what = "replays and estimates",
                  .reason = "TOO_MANY_REPLAYS",
                  .most = 4,
                  .most_for_one = 2}};
};

}  // namespace memplan

#endif  // MEMPLAN_SERVER_SERVICES_PLACES_H_
