// Uploads for tests: whole ones, and ones that go wrong.
#ifndef MEMPLAN_TESTS_SERVER_API_UPLOAD_CLIENT_H_
#define MEMPLAN_TESTS_SERVER_API_UPLOAD_CLIENT_H_

#include <grpcpp/grpcpp.h>
#include <zlib.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "memplan/v1/model_service.grpc.pb.h"
#include "server/store/sha256.h"
#include "tests/server/api/api_server.h"

namespace memplan::testing {

inline std::string Sha256Of(std::string_view bytes) {
  Sha256 hash;
  hash.Update(bytes);
  return hash.Finish();
}

inline v1::UploadModelRequest Header(const std::string& bytes,
                                     const std::string& name = "model.pt") {
  v1::UploadModelRequest message;
  message.mutable_header()->set_sha256(Sha256Of(bytes));
  message.mutable_header()->set_total_bytes(static_cast<int64_t>(bytes.size()));
  message.mutable_header()->set_display_name(name);
  return message;
}

inline v1::UploadModelRequest Chunk(int64_t offset, const std::string& data) {
  v1::UploadModelRequest message;
  message.mutable_chunk()->set_offset_bytes(offset);
  message.mutable_chunk()->set_data(data);
  message.mutable_chunk()->set_crc32(static_cast<uint32_t>(
      crc32_z(0, reinterpret_cast<const Bytef*>(data.data()), data.size())));
  return message;
}

inline v1::UploadModelRequest Commit() {
  v1::UploadModelRequest message;
  message.mutable_commit();
  return message;
}

// One upload, message by message.
class Upload {
 public:
  explicit Upload(v1::ModelService::Stub& stub)
      : writer_(stub.UploadModel(&context_, &response_)) {}

  Upload& Send(const v1::UploadModelRequest& message) {
    (void)writer_->Write(message);  // fails once the server has answered
    return *this;
  }
  grpc::Status End() {
    (void)writer_->WritesDone();
    return writer_->Finish();
  }
  // Waits for the server to end it.
  grpc::Status Await() { return writer_->Finish(); }
  grpc::Status Cancel() {
    context_.TryCancel();
    return writer_->Finish();
  }
  const v1::UploadModelResponse& response() const { return response_; }

 private:
  TestContext context_;
  v1::UploadModelResponse response_;
  std::unique_ptr<grpc::ClientWriter<v1::UploadModelRequest>> writer_;
};

// Uploads `bytes`; returns the name. The test fails if that does.
inline std::string UploadAll(ApiServer& server, const std::string& bytes) {
  const auto stub = server.models();
  Upload upload(*stub);
  const grpc::Status status =
      upload.Send(Header(bytes)).Send(Chunk(0, bytes)).Send(Commit()).End();
  EXPECT_TRUE(status.ok()) << status.error_message();
  return upload.response().model().sha256();
}

}  // namespace memplan::testing

#endif  // MEMPLAN_TESTS_SERVER_API_UPLOAD_CLIENT_H_
