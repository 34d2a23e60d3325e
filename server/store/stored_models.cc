#include "server/store/stored_models.h"

#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <system_error>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "planner/base/format.h"
#include "planner/base/status_macros.h"
#include "server/base/reason.h"
#include "server/store/file.h"

namespace memplan {
namespace {

using Time = std::chrono::system_clock::time_point;

class StoredPin : public ModelPin {
 public:
  StoredPin(StoredModels& store, std::string sha256)
      : store_(store), sha256_(std::move(sha256)) {}
  ~StoredPin() override { store_.Unpin(sha256_); }

 private:
  StoredModels& store_;
  const std::string sha256_;
};

absl::Status NotFound(std::string_view sha256) {
  return WithReason(
      absl::NotFoundError(absl::StrCat(
          "no model ", std::string(sha256),
          " is stored; upload it first, or see the stored ones with `memplan "
          "models list`")),
      "MODEL_NOT_FOUND");
}

absl::Status NotWhole(const Model& part) {
  return WithReason(
      absl::NotFoundError(absl::StrCat(
          "model ", part.sha256, " is not whole: ", part.committed_bytes,
          " of its ", part.size_bytes,
          " bytes came; end its upload with `memplan models upload`")),
      "MODEL_NOT_FOUND");
}

absl::Status InUse(const std::string& sha256, int pins) {
  const std::string words =
      pins > 0 ? absl::StrCat("needed by ", pins,
                              " queued or running probes or uploads")
               : "being uploaded";
  return WithReason(absl::FailedPreconditionError(
                        absl::StrCat("model ", sha256, " is ", words,
                                     "; cancel them or wait for their end")),
                    "MODEL_IN_USE");
}

absl::Status UploadInProgress(const Model& part) {
  return WithReason(
      absl::AbortedError(absl::StrCat(
          "model ", part.sha256, " is being uploaded by another call, which ",
          "has sent ", part.committed_bytes, " of ", part.size_bytes,
          " bytes; wait until it is stored, or go on where that ends")),
      "UPLOAD_IN_PROGRESS");
}

// One archive has one size, so one of the two headers is wrong; which, only the
// whole archive would tell. So what came already is not given up for a header.
absl::Status OtherSize(const Model& part, int64_t total_bytes,
                       Time::duration kept_for) {
  return WithReason(
      absl::FailedPreconditionError(absl::StrCat(
          "total_bytes is ", total_bytes, ", but the first upload of this ",
          "archive said ", part.size_bytes, ", and ", part.committed_bytes,
          " bytes of it are kept. Send the archive's true size; if that "
          "upload ",
          "was wrong, remove its part with `memplan models delete ",
          part.sha256, "`, or wait ",
          absl::FormatDuration(absl::FromChrono(
              std::chrono::ceil<std::chrono::seconds>(kept_for))),
          ", after which it is gone unless somebody goes on with it")),
      "UPLOAD_SIZE_DIFFERS", "header.total_bytes");
}

// The size of the file, or nothing if there is none.
std::optional<int64_t> SizeOf(const std::string& path) {
  std::error_code error;
  const auto size = std::filesystem::file_size(path, error);
  if (error) return std::nullopt;
  return static_cast<int64_t>(size);
}

Time LastWrite(const std::string& path) {
  std::error_code error;
  const auto time = std::filesystem::last_write_time(path, error);
  if (error) return {};
  return std::chrono::time_point_cast<Time::duration>(
      std::chrono::file_clock::to_sys(time));
}

}  // namespace

StoredModels::StoredModels(const StoreFolder& folder, Database& database,
                           StoreRules rules, StoreClock clock)
    : folder_(folder),
      records_(database),
      rules_(rules),
      clock_(std::move(clock)) {}

StoredModels::~StoredModels() { SaveLastUses(); }

absl::Status StoredModels::Load() {
  MEMPLAN_ASSIGN_OR_RETURN(const std::vector<Model> models,
                           records_.ReadModels());
  for (const Model& model : models) LoadModel(model);
  MEMPLAN_ASSIGN_OR_RETURN(const std::vector<Model> parts,
                           records_.ReadParts());
  for (const Model& part : parts) LoadPart(part);
  MEMPLAN_RETURN_IF_ERROR(
      RemoveStrayFiles(folder_.models_path(), ModelState::kReady));
  return RemoveStrayFiles(folder_.parts_path(), ModelState::kUploading);
}

void StoredModels::LoadModel(Model model) {
  if (SizeOf(Path(model.sha256)) == model.size_bytes) {
    std::string sha256 = model.sha256;
    entries_.emplace(std::move(sha256), Entry{.model = std::move(model)});
    return;
  }
  spdlog::warn("model {} has no whole file any more; forgetting it",
               model.sha256);
  if (absl::Status gone = records_.Remove(model.sha256); !gone.ok()) {
    spdlog::warn("{}", std::string(gone.message()));
  }
}

void StoredModels::LoadPart(Model part) {
  const std::string path = PartPath(part.sha256);
  part.committed_bytes = SizeOf(path).value_or(0);
  part.last_use_time = LastWrite(path);
  if (part.committed_bytes > 0 && part.committed_bytes <= part.size_bytes &&
      !entries_.contains(part.sha256)) {
    std::string sha256 = part.sha256;
    entries_.emplace(std::move(sha256), Entry{.model = std::move(part)});
    return;
  }
  if (entries_.contains(part.sha256)) return;  // its model was published
  if (absl::Status gone = records_.Remove(part.sha256); !gone.ok()) {
    spdlog::warn("{}", std::string(gone.message()));
  }
}

absl::Status StoredModels::RemoveStrayFiles(const std::string& folder,
                                            ModelState state) {
  MEMPLAN_ASSIGN_OR_RETURN(const auto names, NamesIn(folder));
  for (const std::string& name : names) {
    const auto known = entries_.find(name);
    if (known != entries_.end() && known->second.model.state == state) continue;
    if (absl::Status removed = RemoveAll(absl::StrCat(folder, "/", name));
        !removed.ok()) {
      spdlog::warn("{}", std::string(removed.message()));
    }
  }
  return absl::OkStatus();
}

std::vector<Model> StoredModels::List() const {
  std::vector<Model> models;
  {
    const std::lock_guard lock(mutex_);
    models.reserve(entries_.size());
    for (const auto& [sha256, entry] : entries_) models.push_back(entry.model);
  }
  // Names settle ties, so that the order is always the same.
  std::sort(models.begin(), models.end(), [](const Model& a, const Model& b) {
    return std::tie(b.create_time, a.sha256) <
           std::tie(a.create_time, b.sha256);
  });
  return models;
}

StoreUse StoredModels::Use() const {
  const std::lock_guard lock(mutex_);
  StoreUse use;
  use.evictions = evictions_;
  for (const auto& [sha256, entry] : entries_) {
    const bool ready = entry.model.state == ModelState::kReady;
    ++(ready ? use.models : use.parts);
    (ready ? use.model_bytes : use.part_bytes) += entry.model.committed_bytes;
  }
  return use;
}

absl::StatusOr<Model> StoredModels::Get(std::string_view sha256) const {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(sha256);
  if (found == entries_.end()) return NotFound(sha256);
  return found->second.model;
}

std::string StoredModels::Path(std::string_view sha256) const {
  return absl::StrCat(folder_.models_path(), "/", std::string(sha256));
}

std::string StoredModels::PartPath(std::string_view sha256) const {
  return absl::StrCat(folder_.parts_path(), "/", std::string(sha256));
}

std::string StoredModels::FileOf(const Model& model) const {
  return model.state == ModelState::kReady ? Path(model.sha256)
                                           : PartPath(model.sha256);
}

absl::StatusOr<std::unique_ptr<ModelPin>> StoredModels::Pin(
    std::string_view sha256) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(sha256);
  if (found == entries_.end()) return NotFound(sha256);
  Entry& entry = found->second;
  if (entry.model.state != ModelState::kReady) return NotWhole(entry.model);
  ++entry.pins;
  entry.model.last_use_time = clock_();
  entry.use_unsaved = true;
  return std::make_unique<StoredPin>(*this, found->first);
}

void StoredModels::Unpin(const std::string& sha256) {
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_.at(sha256);
  --entry.pins;
  entry.model.last_use_time = clock_();
  entry.use_unsaved = true;
}

absl::StatusOr<std::unique_ptr<ModelUpload>> StoredModels::BeginUpload(
    std::string sha256, int64_t total_bytes, std::string display_name) {
  UploadHeader header{std::move(sha256), total_bytes, std::move(display_name)};
  MEMPLAN_RETURN_IF_ERROR(CheckUploadHeader(header));
  const std::lock_guard changing(changing_files_);
  if (auto pin = Pin(header.sha256); pin.ok()) {
    MEMPLAN_ASSIGN_OR_RETURN(Model stored, Get(header.sha256));
    return CheckStoredAgain(std::move(header), std::move(stored),
                            *std::move(pin));
  }
  MEMPLAN_ASSIGN_OR_RETURN(PartClaim claim, Claim(header));
  return GoOnWithPart(std::move(claim), PartPath(header.sha256));
}

absl::StatusOr<PartClaim> StoredModels::Claim(const UploadHeader& header) {
  MEMPLAN_ASSIGN_OR_RETURN(const int64_t disk_free_bytes,
                           DiskFreeBytes(folder_.parts_path()));
  std::vector<Model> victims;
  std::optional<PartClaim> claim;
  absl::Status removed;
  {
    const std::lock_guard lock(mutex_);
    const auto known = entries_.find(header.sha256);
    if (known != entries_.end() && known->second.claimed) {
      return UploadInProgress(known->second.model);
    }
    const bool is_new = known == entries_.end();
    if (!is_new && known->second.model.size_bytes != header.total_bytes) {
      const Model& part = known->second.model;
      return OtherSize(part, header.total_bytes,
                       part.last_use_time + rules_.part_ttl - clock_());
    }
    MEMPLAN_ASSIGN_OR_RETURN(victims, TakeOutFor(header, disk_free_bytes));
    Model& part = entries_[header.sha256].model;
    if (is_new) {
      part = {.sha256 = header.sha256,
              .display_name = header.display_name,
              .size_bytes = header.total_bytes,
              .create_time = clock_(),
              .state = ModelState::kUploading,
              .committed_bytes = 0,
              .last_use_time = {}};
    }
    part.last_use_time = clock_();
    entries_[header.sha256].claimed = true;
    claim.emplace(*this, part);
  }
  for (const Model& victim : victims) {
    removed.Update(Remove(victim));
    spdlog::info(
        "evicted model {} ({}), last used {} s ago, to make room for {}",
        victim.sha256, FormatBytes(Bytes(victim.committed_bytes)),
        std::chrono::duration_cast<std::chrono::seconds>(clock_() -
                                                         victim.last_use_time)
            .count(),
        header.sha256);
  }
  MEMPLAN_RETURN_IF_ERROR(removed);
  return *std::move(claim);
}

absl::StatusOr<std::vector<Model>> StoredModels::TakeOutFor(
    const UploadHeader& header, int64_t disk_free_bytes) {
  StoreDemand demand{.bytes = header.total_bytes,
                     .unwritten_bytes = header.total_bytes,
                     .disk_free_bytes = disk_free_bytes};
  std::vector<HeldFile> held;
  for (const auto& [sha256, entry] : entries_) {
    const Model& model = entry.model;
    if (sha256 == header.sha256) {
      // What is there of it is written, or is overwritten.
      demand.unwritten_bytes -=
          std::min(model.committed_bytes, header.total_bytes);
      continue;
    }
    const int64_t counted =
        entry.claimed ? model.size_bytes : model.committed_bytes;
    held.push_back({.sha256 = sha256,
                    .bytes = counted,
                    .unwritten_bytes = counted - model.committed_bytes,
                    .last_use_time = model.last_use_time,
                    .in_use = entry.in_use()});
  }
  MEMPLAN_ASSIGN_OR_RETURN(const std::vector<std::string> names,
                           MakeRoom(std::move(held), demand, rules_));
  std::vector<Model> victims;
  for (const std::string& name : names) {
    victims.push_back(std::move(entries_.at(name).model));
    entries_.erase(name);
    ++evictions_;
  }
  return victims;
}

absl::Status StoredModels::RecordPart(const Model& part) {
  return records_.WritePart(part);
}

void StoredModels::SetCommitted(const Model& part) {
  const std::lock_guard lock(mutex_);
  Model& known = entries_.at(part.sha256).model;
  known.committed_bytes = part.committed_bytes;
  known.last_use_time = clock_();
}

absl::StatusOr<Model> StoredModels::PublishPart(const Model& part) {
  Model model = part;
  model.state = ModelState::kReady;
  model.create_time = model.last_use_time = clock_();
  const std::lock_guard changing(changing_files_);
  const std::string path = Path(model.sha256);
  const std::string part_path = PartPath(model.sha256);
  if (std::rename(part_path.c_str(), path.c_str()) != 0) {
    return FileError(errno, "rename to its name", part_path);
  }
  absl::Status status = SyncFolder(folder_.models_path());
  if (status.ok()) status = records_.WriteModel(model);
  if (!status.ok()) {
    // It is a whole part again: the upload may be committed once more.
    (void)std::rename(path.c_str(), part_path.c_str());
    return status;
  }
  const std::lock_guard lock(mutex_);
  entries_[model.sha256] = Entry{.model = model};
  return model;
}

void StoredModels::DiscardPart(const Model& part) {
  const std::lock_guard changing(changing_files_);
  {
    const std::lock_guard lock(mutex_);
    entries_.erase(part.sha256);
  }
  if (absl::Status removed = Remove(part); !removed.ok()) {
    spdlog::warn("{}", std::string(removed.message()));
  }
}

void StoredModels::ReleasePart(const Model& part) {
  const std::lock_guard lock(mutex_);
  const auto known = entries_.find(part.sha256);
  if (known == entries_.end()) return;
  if (known->second.model.committed_bytes == 0) {
    entries_.erase(known);
  } else {
    known->second.claimed = false;
  }
}

absl::StatusOr<Model> StoredModels::TakeOut(std::string_view sha256) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(sha256);
  if (found == entries_.end()) return NotFound(sha256);
  if (found->second.in_use()) return InUse(found->first, found->second.pins);
  Model model = std::move(found->second.model);
  entries_.erase(found);
  return model;
}

absl::Status StoredModels::Remove(const Model& model) {
  // The record first: a file without one is removed at the next start.
  if (absl::Status status = records_.Remove(model.sha256); !status.ok()) {
    const std::lock_guard lock(mutex_);
    entries_.emplace(model.sha256, Entry{.model = model});
    return status;
  }
  const std::string path = FileOf(model);
  if (unlink(path.c_str()) != 0) {
    spdlog::warn("{}", std::string(FileError(errno, "remove", path).message()));
  }
  return absl::OkStatus();
}

absl::Status StoredModels::Delete(std::string_view sha256) {
  const std::lock_guard changing(changing_files_);
  MEMPLAN_ASSIGN_OR_RETURN(const Model model, TakeOut(sha256));
  return Remove(model);
}

void StoredModels::Sweep() {
  SaveLastUses();
  const Time oldest = clock_() - rules_.part_ttl;
  for (const Model& part : List()) {
    if (part.state != ModelState::kUploading || part.last_use_time > oldest) {
      continue;
    }
    // One that has been taken up again is in use, and stays.
    if (!Delete(part.sha256).ok()) continue;
    spdlog::info(
        "removed the part of model {} ({} of {} bytes): nobody went on "
        "with it for {} s",
        part.sha256, part.committed_bytes, part.size_bytes,
        std::chrono::duration_cast<std::chrono::seconds>(rules_.part_ttl)
            .count());
  }
}

void StoredModels::SaveLastUses() {
  std::vector<Model> used;
  {
    const std::lock_guard lock(mutex_);
    for (auto& [sha256, entry] : entries_) {
      if (!entry.use_unsaved) continue;
      used.push_back(entry.model);
      entry.use_unsaved = false;
    }
  }
  if (absl::Status saved = records_.WriteLastUses(used); !saved.ok()) {
    spdlog::warn("{}", std::string(saved.message()));
  }
}

absl::StatusOr<std::unique_ptr<ModelStore>> OpenModelStore(
    const StoreFolder& folder, Database& database, StoreRules rules,
    StoreClock clock) {
  auto store =
      std::make_unique<StoredModels>(folder, database, rules, std::move(clock));
  MEMPLAN_RETURN_IF_ERROR(store->Load());
  return store;
}

}  // namespace memplan
