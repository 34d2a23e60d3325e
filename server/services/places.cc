#include "server/services/places.h"

#include <grpcpp/security/auth_context.h>

#include <string_view>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "server/base/reason.h"
#include "server/services/refusals.h"

namespace memplan {

std::string ClientOf(const grpc::ServerContextBase& context) {
  const auto authenticated = context.auth_context();
  if (authenticated != nullptr && authenticated->IsPeerAuthenticated()) {
    for (const grpc::string_ref& name : authenticated->GetPeerIdentity()) {
      return {name.data(), name.size()};
    }
  }
  // `ipv4:127.0.0.1:5001`, `ipv6:%5B::1%5D:5001`, `unix:`.
  const std::string peer = context.peer();
  if (!absl::StartsWith(peer, "ipv")) return "";
  return peer.substr(0, peer.rfind(':'));
}

// Given back when the last copy of the pointer to it goes.
class Places::Taken {
 public:
  Taken(std::shared_ptr<State> state, std::string client)
      : state_(std::move(state)), client_(std::move(client)) {}
  ~Taken() {
    const std::lock_guard lock(state_->mutex);
    --state_->taken;
    const auto mine = state_->by_client.find(client_);
    if (mine != state_->by_client.end() && --mine->second == 0) {
      state_->by_client.erase(mine);
    }
  }
  Taken(const Taken&) = delete;
  Taken& operator=(const Taken&) = delete;

 private:
  const std::shared_ptr<State> state_;
  const std::string client_;
};

Places::Places(PlaceRules rules)
    : state_(std::make_shared<State>(std::move(rules))) {}

absl::StatusOr<Place> Places::Take(const std::string& client) {
  const PlaceRules& rules = state_->rules;
  const std::lock_guard lock(state_->mutex);
  if (state_->closed) return ShuttingDown();
  if (state_->taken >= rules.most) {
    return WithReason(absl::ResourceExhaustedError(absl::StrCat(
                          rules.most, " ", rules.what,
                          " are in progress, the most there may be; try again "
                          "when one has ended")),
                      rules.reason);
  }
  if (!client.empty()) {
    int& mine = state_->by_client[client];
    if (mine >= rules.most_for_one) {
      return WithReason(
          absl::ResourceExhaustedError(absl::StrCat(
              mine, " ", rules.what, " of your host or certificate are in ",
              "progress, the most one client may have; try again when one has "
              "ended")),
          rules.reason);
    }
    ++mine;
  }
  ++state_->taken;
  return Place(std::make_shared<Taken>(state_, client));
}

void Places::Close() {
  const std::lock_guard lock(state_->mutex);
  state_->closed = true;
}

int Places::taken() const {
  const std::lock_guard lock(state_->mutex);
  return state_->taken;
}

}  // namespace memplan
