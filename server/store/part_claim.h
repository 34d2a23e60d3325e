// The right to write one part, which one upload has at a time; given up with the
// object, and the part stays for the next.
#ifndef MEMPLAN_SERVER_STORE_PART_CLAIM_H_
#define MEMPLAN_SERVER_STORE_PART_CLAIM_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/store/model_store.h"

namespace memplan {

// What a claim needs of the store. Thread-safe.
class PartKeeper {
 public:
  virtual ~PartKeeper() = default;
  // Writes the part's record [disk].
  virtual absl::Status RecordPart(const Model& part) = 0;
  // Says how much of it is on the disk.
  virtual void SetCommitted(const Model& part) = 0;
  // Makes the whole, checked and synced part a model [disk].
  virtual absl::StatusOr<Model> PublishPart(const Model& part) = 0;
  // Removes file and record [disk].
  virtual void DiscardPart(const Model& part) = 0;
  // Lets another upload claim the part.
  virtual void ReleasePart(const Model& part) = 0;
};

// Used by one thread at a time. The store must outlive it.
class PartClaim {
 public:
  PartClaim(PartKeeper& keeper, Model part) : keeper_(&keeper) {
    part_ = std::make_unique<Model>(std::move(part));
  }
  ~PartClaim() {
    if (part_ != nullptr && held_) keeper_->ReleasePart(*part_);
  }
  PartClaim(PartClaim&&) = default;
  PartClaim& operator=(PartClaim&&) = delete;

  const Model& part() const { return *part_; }
  absl::Status Record() { return keeper_->RecordPart(*part_); }
  void SetCommitted(int64_t bytes) {
    part_->committed_bytes = bytes;
    keeper_->SetCommitted(*part_);
  }
  // Both end the claim, but not a Publish that fails.
  absl::StatusOr<Model> Publish() {
    absl::StatusOr<Model> model = keeper_->PublishPart(*part_);
    if (model.ok()) held_ = false;
    return model;
  }
  void Discard() {
    held_ = false;
    keeper_->DiscardPart(*part_);
  }

 private:
  PartKeeper* keeper_;
  std::unique_ptr<Model> part_;  // null once moved from
  bool held_ = true;
};

}  // namespace memplan

#endif  // MEMPLAN_SERVER_STORE_PART_CLAIM_H_
