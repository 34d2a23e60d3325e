// The model store on disk. The records in the database say which models there
// are; the files hold their bytes. A file without a record is a left-over of a
// daemon that was killed, and is removed when the store is opened.
#ifndef MEMPLAN_SERVER_STORE_STORED_MODELS_H_
#define MEMPLAN_SERVER_STORE_STORED_MODELS_H_

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/store/database.h"
#include "server/store/model_store.h"
#include "server/store/store_folder.h"

namespace memplan {

class StoredModels : public ModelStore {
 public:
  StoredModels(const StoreFolder& folder, Database& database);

  // Reads the records and removes what belongs to no whole model. Call it once,
  // first.
  absl::Status Load();

  std::vector<Model> List() const override;
  absl::StatusOr<Model> Get(std::string_view sha256) const override;
  std::string Path(std::string_view sha256) const override;
  absl::StatusOr<std::unique_ptr<ModelPin>> Pin(
      std::string_view sha256) override;
  absl::StatusOr<std::unique_ptr<ModelUpload>> BeginUpload(
      std::string sha256, int64_t total_bytes,
      std::string display_name) override;
  absl::Status Delete(std::string_view sha256) override;

  // Makes the whole, checked and synced file at `part` the model `model`, or
  // removes it if that is stored already. Returns the model as stored [disk].
  absl::StatusOr<Model> Publish(const std::string& part, Model model);

  void Unpin(const std::string& sha256);

 private:
  struct Entry {
    Model model;
    int pins = 0;
  };

  absl::StatusOr<std::vector<Model>> ReadRecords();
  // True if the file of `model` is there with the right size.
  bool HasFile(const Model& model) const;
  absl::Status RemoveStrayFiles();
  absl::Status WriteRecord(const Model& model);
  absl::Status RemoveRecord(const std::string& sha256);
  // Takes the model out of the list unless it is pinned.
  absl::StatusOr<Model> TakeOut(std::string_view sha256);

  const StoreFolder& folder_;
  Database& database_;
  std::mutex changing_files_;  // held over each change of files and records
  mutable std::mutex mutex_;   // guards entries_; never held over the disk
  std::map<std::string, Entry, std::less<>> entries_;
};

}  // namespace memplan

#endif  // MEMPLAN_SERVER_STORE_STORED_MODELS_H_
