#include "server/services/model_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/server/api/api_server.h"
#include "tests/server/api/rpc_matchers.h"
#include "tests/server/api/upload_client.h"
#include "tests/support/scripted_model.h"

namespace memplan::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ModelServiceTest : public ::testing::Test {
 protected:
  // The answer to a list of names, newest first.
  std::vector<std::string> ListAll() {
    std::vector<std::string> names;
    std::string token;
    do {
      v1::ListModelsRequest request;
      request.set_page_size(2);
      request.set_page_token(token);
      v1::ListModelsResponse response;
      TestContext context;
      EXPECT_THAT(stub_->ListModels(&context, request, &response), IsRpcOk());
      EXPECT_LE(response.models_size(), 2);
      for (const v1::Model& model : response.models()) {
        names.push_back(model.sha256());
      }
      token = response.next_page_token();
    } while (!token.empty());
    return names;
  }
  grpc::Status Get(const std::string& sha256, v1::GetModelResponse& response) {
    TestContext context;
    v1::GetModelRequest request;
    request.set_sha256(sha256);
    return stub_->GetModel(&context, request, &response);
  }
  grpc::Status Delete(const std::string& sha256) {
    TestContext context;
    v1::DeleteModelRequest request;
    request.set_sha256(sha256);
    v1::DeleteModelResponse response;
    return stub_->DeleteModel(&context, request, &response);
  }

  ApiServer server_;
  std::unique_ptr<v1::ModelService::Stub> stub_ = server_.models();
  const std::string model_ = ScriptedModel("{}", 3 << 20);
};

TEST_F(ModelServiceTest, KeepsWhatIsUploadedInPieces) {
  Upload upload(*stub_);
  upload.Send(Header(model_, "resnet50.pt"));
  constexpr size_t kPiece = 1 << 20;
  for (size_t at = 0; at < model_.size(); at += kPiece) {
    upload.Send(Chunk(static_cast<int64_t>(at), model_.substr(at, kPiece)));
  }
  EXPECT_THAT(upload.Send(Commit()).End(), IsRpcOk());
  EXPECT_FALSE(upload.response().already_stored());

  v1::GetModelResponse response;
  EXPECT_THAT(Get(Sha256Of(model_), response), IsRpcOk());
  EXPECT_EQ(response.model().display_name(), "resnet50.pt");
  EXPECT_EQ(response.model().size_bytes(), static_cast<int64_t>(model_.size()));
  EXPECT_GT(response.model().create_time().seconds(), 0);
}

TEST_F(ModelServiceTest, TakesACommitAloneForWhatIsStored) {
  UploadAll(server_, ScriptedModel("{}"));
  Upload again(*stub_);
  again.Send(Header(ScriptedModel("{}"))).Send(Commit());
  EXPECT_THAT(again.End(), IsRpcOk());
  EXPECT_TRUE(again.response().already_stored());
}

TEST_F(ModelServiceTest, RefusesMessagesOutOfTurn) {
  const auto refused = [](const char* field) {
    return IsRpcError(grpc::StatusCode::INVALID_ARGUMENT, "INVALID_UPLOAD",
                      field);
  };
  EXPECT_THAT(Upload(*stub_).Send(Chunk(0, "x")).End(), refused("chunk"));
  EXPECT_THAT(Upload(*stub_).Send(Commit()).End(), refused("commit"));
  EXPECT_THAT(Upload(*stub_).Send({}).End(), refused("part"));
  EXPECT_THAT(Upload(*stub_).Send(Header("x")).Send(Header("x")).End(),
              refused("header"));
}

TEST_F(ModelServiceTest, RefusesAMalformedHeader) {
  v1::UploadModelRequest header = Header("x");
  header.mutable_header()->set_sha256("short");
  EXPECT_THAT(Upload(*stub_).Send(header).End(),
              IsRpcError(grpc::StatusCode::INVALID_ARGUMENT, "INVALID_UPLOAD",
                         "header.sha256"));
}

TEST_F(ModelServiceTest, RefusesAChunkBeyondOneMebibyte) {
  EXPECT_THAT(Upload(*stub_)
                  .Send(Header(model_))
                  .Send(Chunk(0, model_.substr(0, (1 << 20) + 1)))
                  .End(),
              IsRpcError(grpc::StatusCode::INVALID_ARGUMENT, "INVALID_UPLOAD",
                         "chunk.data"));
}

TEST_F(ModelServiceTest, RefusesAChunkOutOfOrder) {
  EXPECT_THAT(Upload(*stub_).Send(Header(model_)).Send(Chunk(5, "later")).End(),
              IsRpcError(grpc::StatusCode::INVALID_ARGUMENT, "INVALID_UPLOAD",
                         "chunk.offset_bytes"));
}

TEST_F(ModelServiceTest, NoticesDamageOnTheWay) {
  v1::UploadModelRequest damaged = Chunk(0, "abc");
  damaged.mutable_chunk()->set_data("abd");
  EXPECT_THAT(Upload(*stub_).Send(Header("abc")).Send(damaged).End(),
              IsRpcError(grpc::StatusCode::DATA_LOSS, "CHUNK_CHECKSUM_MISMATCH",
                         "chunk.crc32"));
}

TEST_F(ModelServiceTest, NoticesAnotherFileThanAnnounced) {
  EXPECT_THAT(Upload(*stub_)
                  .Send(Header("abc"))
                  .Send(Chunk(0, "abd"))
                  .Send(Commit())
                  .End(),
              IsRpcError(grpc::StatusCode::DATA_LOSS, "MODEL_HASH_MISMATCH",
                         "header.sha256"));
}

TEST_F(ModelServiceTest, GoesOnWithATruncatedUpload) {
  constexpr int64_t kPiece = 1 << 20;
  const grpc::Status without_commit =
      Upload(*stub_)
          .Send(Header(model_))
          .Send(Chunk(0, model_.substr(0, kPiece)))
          .End();
  EXPECT_THAT(without_commit,
              IsRpcError(grpc::StatusCode::DATA_LOSS, "UPLOAD_TRUNCATED", ""));
  EXPECT_THAT(without_commit.error_message(), HasSubstr("after 1048576 bytes"));
  v1::GetModelResponse part;
  EXPECT_THAT(Get(Sha256Of(model_), part), IsRpcOk());
  EXPECT_EQ(part.model().state(), v1::MODEL_STATE_UPLOADING);
  EXPECT_EQ(part.model().committed_bytes(), kPiece);
  EXPECT_THAT(Upload(*stub_).Send(Header(model_)).Send(Commit()).End(),
              IsRpcError(grpc::StatusCode::DATA_LOSS, "UPLOAD_TRUNCATED",
                         "header.total_bytes"));
  Upload rest(*stub_);
  rest.Send(Header(model_));
  for (int64_t at = kPiece; at < static_cast<int64_t>(model_.size());
       at += kPiece) {
    rest.Send(Chunk(at, model_.substr(static_cast<size_t>(at), kPiece)));
  }
  EXPECT_THAT(rest.Send(Commit()).End(), IsRpcOk());
  EXPECT_EQ(rest.response().model().state(), v1::MODEL_STATE_READY);
  EXPECT_FALSE(rest.response().already_stored());
}

TEST_F(ModelServiceTest, LosesNoPartToAHeaderOfAnotherSize) {
  const std::string model = ScriptedModel("{}");
  EXPECT_EQ(RpcReason(Upload(*stub_)
                          .Send(Header(model))
                          .Send(Chunk(0, model.substr(0, 100)))
                          .End()),
            "UPLOAD_TRUNCATED");
  v1::UploadModelRequest other = Header(model);
  other.mutable_header()->set_total_bytes(50);
  EXPECT_THAT(Upload(*stub_).Send(other).End(),
              IsRpcError(grpc::StatusCode::FAILED_PRECONDITION,
                         "UPLOAD_SIZE_DIFFERS", "header.total_bytes"));
  Upload rest(*stub_);
  rest.Send(Header(model)).Send(Chunk(100, model.substr(100))).Send(Commit());
  EXPECT_THAT(rest.End(), IsRpcOk());
}

TEST_F(ModelServiceTest, TakesOneUploadOfAModelAtATime) {
  Upload first(*stub_);
  first.Send(Header(model_));
  v1::GetModelResponse part;
  while (!Get(Sha256Of(model_), part).ok()) {
  }
  const grpc::Status second = Upload(*stub_).Send(Header(model_)).End();
  EXPECT_THAT(second,
              IsRpcError(grpc::StatusCode::ABORTED, "UPLOAD_IN_PROGRESS", ""));
  EXPECT_TRUE(FindDetail<google::rpc::RetryInfo>(second).has_value());
  (void)first.End();
  EXPECT_THAT(ListAll(), ElementsAre());  // nothing came of it
}

TEST_F(ModelServiceTest, RefusesWhatIsNoTorchScriptFile) {
  const std::string text = "#!/bin/sh\n";
  const grpc::Status status = Upload(*stub_)
                                  .Send(Header(text))
                                  .Send(Chunk(0, text))
                                  .Send(Commit())
                                  .End();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(RpcReason(status), "NOT_A_TORCHSCRIPT_FILE");
}

TEST_F(ModelServiceTest, RefusesMoreUploadsThanItTakesAtOnce) {
  std::vector<std::unique_ptr<Upload>> uploads;
  for (int i = 0; i < 8; ++i) {
    uploads.push_back(std::make_unique<Upload>(*stub_));
  }
  // A stream opens once its header is sent; the one that is answered is the one
  // too many, whichever the server met last.
  int refused = 0;
  for (size_t i = 0; i < uploads.size(); ++i) {
    uploads[i]->Send(Header("model " + std::to_string(i)));
  }
  Upload ninth(*stub_);
  const grpc::Status status = ninth.Send(Header("x")).End();
  if (RpcReason(status) == "TOO_MANY_UPLOADS") {
    ++refused;
    const auto retry = FindDetail<google::rpc::RetryInfo>(status);
    ASSERT_TRUE(retry.has_value());
    EXPECT_EQ(retry->retry_delay().seconds(), 1);
  }
  for (auto& upload : uploads) {
    if (RpcReason(upload->End()) == "TOO_MANY_UPLOADS") ++refused;
  }
  EXPECT_EQ(refused, 1);
  uploads.clear();
  UploadAll(server_, ScriptedModel("{}"));  // there is room again
}

TEST_F(ModelServiceTest, OutlivesAClientThatWalksAway) {
  Upload upload(*stub_);
  upload.Send(Header(model_)).Send(Chunk(0, model_.substr(0, 1 << 20)));
  EXPECT_EQ(upload.Cancel().error_code(), grpc::StatusCode::CANCELLED);
  UploadAll(server_, ScriptedModel("{}"));
}

TEST_F(ModelServiceTest, ListsNewestFirstPageByPage) {
  const std::string first = UploadAll(server_, ScriptedModel("{}", 1));
  const std::string second = UploadAll(server_, ScriptedModel("{}", 2));
  const std::string third = UploadAll(server_, ScriptedModel("{}", 3));
  EXPECT_THAT(ListAll(), ElementsAre(third, second, first));
}

TEST_F(ModelServiceTest, SaysWhichModelIsUnknown) {
  v1::GetModelResponse response;
  const std::string unknown(64, '0');
  EXPECT_EQ(RpcReason(Get(unknown, response)), "MODEL_NOT_FOUND");
  EXPECT_EQ(RpcReason(Delete(unknown)), "MODEL_NOT_FOUND");
  EXPECT_THAT(Get("resnet50.pt", response),
              IsRpcError(grpc::StatusCode::INVALID_ARGUMENT, "INVALID_REQUEST",
                         "sha256"));
  EXPECT_THAT(Delete(""), IsRpcError(grpc::StatusCode::INVALID_ARGUMENT,
                                     "INVALID_REQUEST", "sha256"));
}

TEST_F(ModelServiceTest, DeletesAModel) {
  const std::string name = UploadAll(server_, ScriptedModel("{}"));
  EXPECT_THAT(Delete(name), IsRpcOk());
  EXPECT_THAT(ListAll(), ElementsAre());
}

}  // namespace
}  // namespace memplan::testing
