// ModelService over the model store. What waits for the disk goes to a queue.
#ifndef MEMPLAN_SERVER_SERVICES_MODEL_SERVICE_H_
#define MEMPLAN_SERVER_SERVICES_MODEL_SERVICE_H_

#include <chrono>
#include <functional>
#include <utility>

#include "memplan/v1/model_service.grpc.pb.h"
#include "server/base/work_queue.h"
#include "server/services/upload_reactor.h"
#include "server/store/model_store.h"

namespace memplan {

// Thread-safe. What it is given must outlive it and its calls.
class ModelService final : public v1::ModelService::CallbackService {
 public:
  // An upload takes one of `places`, and loses it after `upload_idle_timeout`
  // without a message. `on_upload` is called as each begins, on gRPC's threads:
  // it must not block, and may be empty.
  ModelService(ModelStore& models, WorkQueue& disk, Places& places,
               std::chrono::milliseconds upload_idle_timeout,
               std::function<void()> on_upload = {})
      : models_(models),
        disk_(disk),
        uploads_{models, disk, places, upload_idle_timeout},
        on_upload_(std::move(on_upload)) {}

  UploadsByOutcome uploads() const { return uploads_.counts.Read(); }

  grpc::ServerReadReactor<v1::UploadModelRequest>* UploadModel(
      grpc::CallbackServerContext* context,
      v1::UploadModelResponse* response) override;
  grpc::ServerUnaryReactor* GetModel(grpc::CallbackServerContext* context,
                                     const v1::GetModelRequest* request,
                                     v1::GetModelResponse* response) override;
  grpc::ServerUnaryReactor* ListModels(
      grpc::CallbackServerContext* context,
      const v1::ListModelsRequest* request,
      v1::ListModelsResponse* response) override;
  grpc::ServerUnaryReactor* DeleteModel(
      grpc::CallbackServerContext* context,
      const v1::DeleteModelRequest* request,
      v1::DeleteModelResponse* response) override;

 private:
  ModelStore& models_;
  WorkQueue& disk_;
  UploadSupport uploads_;
  const std::function<void()> on_upload_;
};

}  // namespace memplan

#endif  // MEMPLAN_SERVER_SERVICES_MODEL_SERVICE_H_
