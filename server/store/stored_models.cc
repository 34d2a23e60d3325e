#include "server/store/stored_models.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <system_error>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "planner/base/status_macros.h"
#include "server/base/reason.h"
#include "server/store/checked_upload.h"
#include "server/store/file.h"
#include "server/store/time_stamp.h"

namespace memplan {
namespace {

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

}  // namespace

StoredModels::StoredModels(const StoreFolder& folder, Database& database)
    : folder_(folder), database_(database) {}

absl::Status StoredModels::Load() {
  MEMPLAN_ASSIGN_OR_RETURN(const std::vector<Model> records, ReadRecords());
  for (const Model& model : records) {
    if (HasFile(model)) {
      entries_.emplace(model.sha256, Entry{model});
      continue;
    }
    spdlog::warn("model {} has no whole file any more; forgetting it",
                 model.sha256);
    MEMPLAN_RETURN_IF_ERROR(RemoveRecord(model.sha256));
  }
  return RemoveStrayFiles();
}

absl::StatusOr<std::vector<Model>> StoredModels::ReadRecords() {
  std::vector<Model> models;
  const absl::Status status =
      database_.Run("read the models", [&](SQLite::Database& connection) {
        SQLite::Statement query(
            connection,
            "SELECT sha256, display_name, size_bytes, create_time_ns "
            "FROM models");
        while (query.executeStep()) {
          Model model;
          model.sha256 = query.getColumn(0).getString();
          model.display_name = query.getColumn(1).getString();
          model.size_bytes = query.getColumn(2).getInt64();
          model.create_time =
              TimeFromNanoseconds(query.getColumn(3).getInt64());
          models.push_back(std::move(model));
        }
        return absl::OkStatus();
      });
  if (!status.ok()) return status;
  return models;
}

bool StoredModels::HasFile(const Model& model) const {
  std::error_code error;
  const auto size = std::filesystem::file_size(Path(model.sha256), error);
  return !error && size == static_cast<uintmax_t>(model.size_bytes);
}

absl::Status StoredModels::RemoveStrayFiles() {
  MEMPLAN_ASSIGN_OR_RETURN(const auto names, NamesIn(folder_.models_path()));
  for (const std::string& name : names) {
    if (entries_.contains(name)) continue;
    if (absl::Status removed = RemoveAll(Path(name)); !removed.ok()) {
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

absl::StatusOr<Model> StoredModels::Get(std::string_view sha256) const {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(sha256);
  if (found == entries_.end()) return NotFound(sha256);
  return found->second.model;
}

std::string StoredModels::Path(std::string_view sha256) const {
  return absl::StrCat(folder_.models_path(), "/", std::string(sha256));
}

absl::StatusOr<std::unique_ptr<ModelPin>> StoredModels::Pin(
    std::string_view sha256) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(sha256);
  if (found == entries_.end()) return NotFound(sha256);
  ++found->second.pins;
  return std::make_unique<StoredPin>(*this, found->first);
}

void StoredModels::Unpin(const std::string& sha256) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(sha256);
  if (found != entries_.end()) --found->second.pins;
}

absl::StatusOr<std::unique_ptr<ModelUpload>> StoredModels::BeginUpload(
    std::string sha256, int64_t total_bytes, std::string display_name) {
  UploadHeader header{std::move(sha256), total_bytes, std::move(display_name)};
  MEMPLAN_RETURN_IF_ERROR(CheckUploadHeader(header));
  return BeginCheckedUpload(*this, folder_.parts_path(), std::move(header));
}

absl::StatusOr<Model> StoredModels::Publish(const std::string& part,
                                            Model model) {
  const std::lock_guard changing(changing_files_);
  if (absl::StatusOr<Model> stored = Get(model.sha256); stored.ok()) {
    (void)unlink(part.c_str());
    return stored;
  }
  const std::string path = Path(model.sha256);
  if (std::rename(part.c_str(), path.c_str()) != 0) {
    return FileError(errno, "rename to its name", part);
  }
  absl::Status status = SyncFolder(folder_.models_path());
  if (status.ok()) status = WriteRecord(model);
  if (!status.ok()) {
    (void)unlink(path.c_str());
    return status;
  }
  const std::lock_guard lock(mutex_);
  entries_.emplace(model.sha256, Entry{model});
  return model;
}

absl::Status StoredModels::WriteRecord(const Model& model) {
  return database_.Run("save a model", [&](SQLite::Database& connection) {
    SQLite::Statement insert(connection,
                             "INSERT INTO models VALUES (?, ?, ?, ?)");
    insert.bind(1, model.sha256);
    insert.bind(2, model.display_name);
    insert.bind(3, model.size_bytes);
    insert.bind(4, NanosecondsOf(model.create_time));
    insert.exec();
    return absl::OkStatus();
  });
}

absl::Status StoredModels::RemoveRecord(const std::string& sha256) {
  return database_.Run("delete a model", [&](SQLite::Database& connection) {
    SQLite::Statement remove(connection, "DELETE FROM models WHERE sha256 = ?");
    remove.bind(1, sha256);
    remove.exec();
    return absl::OkStatus();
  });
}

absl::StatusOr<Model> StoredModels::TakeOut(std::string_view sha256) {
  const std::lock_guard lock(mutex_);
  const auto found = entries_.find(sha256);
  if (found == entries_.end()) return NotFound(sha256);
  if (found->second.pins > 0) {
    return WithReason(
        absl::FailedPreconditionError(absl::StrCat(
            "model ", found->first, " is needed by ", found->second.pins,
            " queued or running probes or uploads; cancel them or wait for "
            "their end")),
        "MODEL_IN_USE");
  }
  Model model = std::move(found->second.model);
  entries_.erase(found);
  return model;
}

absl::Status StoredModels::Delete(std::string_view sha256) {
  const std::lock_guard changing(changing_files_);
  MEMPLAN_ASSIGN_OR_RETURN(Model model, TakeOut(sha256));
  // The record first: a file without one is removed at the next start.
  if (absl::Status status = RemoveRecord(model.sha256); !status.ok()) {
    const std::lock_guard lock(mutex_);
    entries_.emplace(model.sha256, Entry{model});
    return status;
  }
  const std::string path = Path(model.sha256);
  if (unlink(path.c_str()) != 0) {
    spdlog::warn("{}", std::string(FileError(errno, "remove", path).message()));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<ModelStore>> OpenModelStore(
    const StoreFolder& folder, Database& database) {
  auto store = std::make_unique<StoredModels>(folder, database);
  MEMPLAN_RETURN_IF_ERROR(store->Load());
  return store;
}

}  // namespace memplan
