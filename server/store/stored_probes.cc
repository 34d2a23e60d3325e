#include <SQLiteCpp/SQLiteCpp.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "planner/base/status_macros.h"
#include "server/store/database.h"
#include "server/store/file.h"
#include "server/store/probe_codec.h"
#include "server/store/probe_store.h"
#include "server/store/store_folder.h"

namespace memplan {
namespace {

// True if `id` may stand in a path: letters, digits and dashes.
bool IsPlainId(std::string_view id) {
  return !id.empty() && id.size() <= 64 &&
         std::all_of(id.begin(), id.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '-';
         });
}

// One record a probe in the database, one folder a probe for its traces.
class StoredProbes : public ProbeStore {
 public:
  StoredProbes(const StoreFolder& folder, Database& database)
      : folder_(folder), database_(database) {}

  absl::StatusOr<std::vector<Probe>> LoadAll() override {
    std::vector<Probe> probes;
    const absl::Status status =
        database_.Run("read the probes", [&](SQLite::Database& connection) {
          SQLite::Statement query(
              connection, "SELECT id, record FROM probes ORDER BY sequence");
          while (query.executeStep()) {
            auto probe = DecodeProbe(query.getColumn(1).getString());
            if (probe.ok()) {
              probes.push_back(*std::move(probe));
            } else {
              spdlog::error("probe {} is left out: {}",
                            query.getColumn(0).getString(),
                            std::string(probe.status().message()));
            }
          }
          return absl::OkStatus();
        });
    if (!status.ok()) return status;
    return probes;
  }

  absl::Status Save(const Probe& probe) override {
    const std::string record = EncodeProbe(probe);
    return database_.Run("save a probe", [&](SQLite::Database& connection) {
      SQLite::Statement upsert(
          connection,
          "INSERT INTO probes (id, request_id, record) VALUES (?, ?, ?) "
          "ON CONFLICT (id) DO UPDATE SET record = excluded.record");
      upsert.bind(1, probe.id);
      if (!probe.request_id.empty()) upsert.bind(2, probe.request_id);
      upsert.bind(3, record);
      upsert.exec();
      return absl::OkStatus();
    });
  }

  absl::Status Delete(std::string_view id) override {
    const std::string name(id);
    MEMPLAN_RETURN_IF_ERROR(
        database_.Run("delete a probe", [&](SQLite::Database& connection) {
          SQLite::Statement remove(connection,
                                   "DELETE FROM probes WHERE id = ?");
          remove.bind(1, name);
          remove.exec();
          return absl::OkStatus();
        }));
    if (IsPlainId(id)) RemoveTraces(id);
    return absl::OkStatus();
  }

  absl::StatusOr<std::string> TracePath(std::string_view id,
                                        int number) override {
    if (!IsPlainId(id)) {
      return absl::InvalidArgumentError(
          absl::StrCat("`", std::string(id), "` is no id of a probe"));
    }
    const std::string folder = TraceFolder(id);
    if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) {
      return FileError(errno, "make the folder", folder);
    }
    return absl::StrCat(folder, "/", number, ".trace");
  }

  // Removes the traces of probes that have no record.
  absl::Status RemoveStrayTraces() {
    MEMPLAN_ASSIGN_OR_RETURN(const std::set<std::string> ids, ReadIds());
    MEMPLAN_ASSIGN_OR_RETURN(const auto folders,
                             NamesIn(folder_.traces_path()));
    for (const std::string& folder : folders) {
      if (!ids.contains(folder)) RemoveTraces(folder);
    }
    return absl::OkStatus();
  }

 private:
  std::string TraceFolder(std::string_view id) const {
    return absl::StrCat(folder_.traces_path(), "/", std::string(id));
  }

  void RemoveTraces(std::string_view id) const {
    if (absl::Status removed = RemoveAll(TraceFolder(id)); !removed.ok()) {
      spdlog::warn("{}", std::string(removed.message()));
    }
  }

  absl::StatusOr<std::set<std::string>> ReadIds() {
    std::set<std::string> ids;
    const absl::Status status =
        database_.Run("read the probes", [&](SQLite::Database& connection) {
          SQLite::Statement query(connection, "SELECT id FROM probes");
          while (query.executeStep()) {
            ids.insert(query.getColumn(0).getString());
          }
          return absl::OkStatus();
        });
    if (!status.ok()) return status;
    return ids;
  }

  const StoreFolder& folder_;
  Database& database_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<ProbeStore>> OpenProbeStore(
    const StoreFolder& folder, Database& database) {
  auto store = std::make_unique<StoredProbes>(folder, database);
  MEMPLAN_RETURN_IF_ERROR(store->RemoveStrayTraces());
  return store;
}

}  // namespace memplan
