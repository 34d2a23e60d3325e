#include "server/services/model_service.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "planner/base/status_macros.h"
#include "server/convert/model_to_proto.h"
#include "server/services/page.h"
#include "server/services/refusals.h"
#include "server/services/unary_answer.h"

namespace memplan {
namespace {

absl::Status CheckName(const std::string& sha256) {
  return CheckSha256(sha256, "INVALID_REQUEST", "sha256");
}

absl::Status FillPage(const std::vector<Model>& models,
                      const v1::ListModelsRequest& request,
                      v1::ListModelsResponse& response) {
  std::vector<PageKey> keys;
  keys.reserve(models.size());
  for (const Model& model : models) {
    keys.push_back({.id = model.sha256, .create_time = model.create_time});
  }
  MEMPLAN_ASSIGN_OR_RETURN(
      const Page page,
      FindPage(request.page_size(), request.page_token(), keys));
  size_t end = page.begin;
  for (; end < models.size() && end < page.begin + page.size; ++end) {
    *response.add_models() = ToProto(models[end]);
  }
  if (end > 0 && end < models.size()) {
    response.set_next_page_token(PageToken(keys[end - 1]));
  }
  return absl::OkStatus();
}

}  // namespace

grpc::ServerReadReactor<v1::UploadModelRequest>* ModelService::UploadModel(
    grpc::CallbackServerContext* context, v1::UploadModelResponse* response) {
  if (on_upload_) on_upload_();
  return new UploadReactor(uploads_, *context, response);  // deletes itself
}

grpc::ServerUnaryReactor* ModelService::GetModel(
    grpc::CallbackServerContext* context, const v1::GetModelRequest* request,
    v1::GetModelResponse* response) {
  return AnswerNow(context, [&]() -> absl::Status {
    MEMPLAN_RETURN_IF_ERROR(CheckName(request->sha256()));
    MEMPLAN_ASSIGN_OR_RETURN(const Model model, models_.Get(request->sha256()));
    *response->mutable_model() = ToProto(model);
    return absl::OkStatus();
  });
}

grpc::ServerUnaryReactor* ModelService::ListModels(
    grpc::CallbackServerContext* context, const v1::ListModelsRequest* request,
    v1::ListModelsResponse* response) {
  return AnswerNow(
      context, [&] { return FillPage(models_.List(), *request, *response); });
}

grpc::ServerUnaryReactor* ModelService::DeleteModel(
    grpc::CallbackServerContext* context, const v1::DeleteModelRequest* request,
    v1::DeleteModelResponse* /*response*/) {
  return AnswerLater(context, [&](const UnaryAnswer& answer) {
    MEMPLAN_RETURN_IF_ERROR(CheckName(request->sha256()));
    const bool posted = disk_.Post([this, answer, request] {
      answer.Finish([&] { return models_.Delete(request->sha256()); });
    });
    return posted ? absl::OkStatus() : DiskBusy();
  });
}

}  // namespace memplan
