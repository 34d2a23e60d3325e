// The model store on disk. The records in the database say which models and
// parts there are; the files hold their bytes. A file without a record is a
// left-over of a daemon that was killed, and is removed when the store is opened.
#ifndef MEMPLAN_SERVER_STORE_STORED_MODELS_H_
#define MEMPLAN_SERVER_STORE_STORED_MODELS_H_

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "server/store/checked_upload.h"
#include "server/store/database.h"
#include "server/store/model_records.h"
#include "server/store/model_store.h"
#include "server/store/part_claim.h"
#include "server/store/store_folder.h"

namespace memplan {

class StoredModels : public ModelStore, public PartKeeper {
 public:
  StoredModels(const StoreFolder& folder, Database& database, StoreRules rules,
               StoreClock clock);
  // Writes down what was used when.
  ~StoredModels() override;

  // Reads the records and removes what belongs to no model and no part. Call it
  // once, first.
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
  void Sweep() override;
  StoreUse Use() const override;

  absl::Status RecordPart(const Model& part) override;
  void SetCommitted(const Model& part) override;
  absl::StatusOr<Model> PublishPart(const Model& part) override;
  void DiscardPart(const Model& part) override;
  void ReleasePart(const Model& part) override;

  void Unpin(const std::string& sha256);

 private:
  struct Entry {
    Model model;
    int pins = 0;              // of a model
    bool claimed = false;      // a part that is being uploaded
    bool use_unsaved = false;  // last_use_time is newer than in the database

    bool in_use() const { return pins > 0 || claimed; }
  };

  std::string PartPath(std::string_view sha256) const;
  std::string FileOf(const Model& model) const;
  void LoadModel(Model model);
  void LoadPart(Model part);
  absl::Status RemoveStrayFiles(const std::string& folder, ModelState state);
  // Claims the part of `header`, an older one or a new one [disk].
  absl::StatusOr<PartClaim> Claim(const UploadHeader& header);
  // Chooses what must go for the upload, if anything must, and takes it out of
  // the list. Under mutex_.
  absl::StatusOr<std::vector<Model>> TakeOutFor(const UploadHeader& header,
                                                int64_t disk_free_bytes);
  // Takes the model out of the list unless it is in use.
  absl::StatusOr<Model> TakeOut(std::string_view sha256);
  // Removes record and file of what was taken out; on an error it is back.
  absl::Status Remove(const Model& model);
  void SaveLastUses();

  const StoreFolder& folder_;
  ModelRecords records_;
  const StoreRules rules_;
  const StoreClock clock_;
  std::mutex changing_files_;  // held over each change of files and records
  mutable std::mutex mutex_;   // guards all below; never held over the disk
  std::map<std::string, Entry, std::less<>> entries_;
  int64_t evictions_ = 0;
};

}  // namespace memplan

#endif  // MEMPLAN_SERVER_STORE_STORED_MODELS_H_
