// A store on a folder of the test's own, which can be closed and opened again,
// and small models to put into it.
#ifndef MEMPLAN_TESTS_SERVER_CORE_STORE_FIXTURE_H_
#define MEMPLAN_TESTS_SERVER_CORE_STORE_FIXTURE_H_

#include <gtest/gtest.h>
#include <zlib.h>

#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "server/store/database.h"
#include "server/store/model_store.h"
#include "server/store/probe_store.h"
#include "server/store/sha256.h"
#include "server/store/store_folder.h"
#include "tests/server/core/zip_builder.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace memplan::testing {

// The parts of one opened store, closed in the right order.
struct OpenedStore {
  explicit OpenedStore(const std::string& path, StoreRules rules = {},
                       StoreClock clock = &std::chrono::system_clock::now) {
    Take(folder, StoreFolder::Open(path));
    Take(database, Database::Open(folder->database_path()));
    Take(models, OpenModelStore(*folder, *database, rules, std::move(clock)));
    Take(probes, OpenProbeStore(*folder, *database));
  }

  std::unique_ptr<StoreFolder> folder;
  std::unique_ptr<Database> database;
  std::unique_ptr<ModelStore> models;
  std::unique_ptr<ProbeStore> probes;

 private:
  template <typename Part>
  static void Take(std::unique_ptr<Part>& part,
                   absl::StatusOr<std::unique_ptr<Part>> opened) {
    EXPECT_THAT(opened, IsOk());
    part = *std::move(opened);
  }
};

class StoreTest : public ::testing::Test {
 protected:
  OpenedStore& store() { return *store_; }
  // Closes the store, as the daemon's end does.
  void Close() { store_.reset(); }
  void Open() { store_ = std::make_unique<OpenedStore>(temp_.path()); }
  void Reopen() {
    Close();
    Open();
  }

  TempDir temp_;

 private:
  std::unique_ptr<OpenedStore> store_ =
      std::make_unique<OpenedStore>(temp_.path());
};

inline std::string Sha256Of(std::string_view bytes) {
  Sha256 hash;
  hash.Update(bytes);
  return hash.Finish();
}

inline uint32_t Crc32Of(std::string_view bytes) {
  return static_cast<uint32_t>(
      crc32_z(0, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

// An archive that passes for TorchScript; another one for each `name`.
inline std::string SmallArchive(const std::string& name) {
  return ZipBuilder{.names = {name + "/data.pkl", name + "/constants.pkl"}}
      .Build();
}

// Uploads `archive` in one piece.
inline absl::StatusOr<Model> Upload(ModelStore& models,
                                    const std::string& archive,
                                    const std::string& display_name) {
  auto upload = models.BeginUpload(
      Sha256Of(archive), static_cast<int64_t>(archive.size()), display_name);
  if (!upload.ok()) return upload.status();
  if (const absl::Status status =
          (*upload)->Append(0, archive, Crc32Of(archive));
      !status.ok()) {
    return status;
  }
  return (*upload)->Commit();
}

}  // namespace memplan::testing

#endif  // MEMPLAN_TESTS_SERVER_CORE_STORE_FIXTURE_H_
