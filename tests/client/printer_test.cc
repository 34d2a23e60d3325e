#include "client/cli/printer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>

#include "google/rpc/error_details.pb.h"
#include "memplan/v1/model_service.pb.h"
#include "memplan/v1/plan.pb.h"
#include "memplan/v1/probe_service.pb.h"
#include "tests/support/status_matchers.h"

namespace memplan {
namespace {

using ::memplan::testing::IsOk;
using ::memplan::testing::IsOkAndHolds;
using ::testing::HasSubstr;

v1::Peaks SomePeaks() {
  v1::Peaks peaks;
  peaks.set_requested_bytes(100);
  peaks.set_allocated_bytes(512);
  return peaks;
}

TEST(JsonTextTest, HasProtoNamesZerosAndLongNumbersAsText) {
  EXPECT_THAT(JsonText(SomePeaks()),
              IsOkAndHolds("{\n"
                           " \"requested_bytes\": \"100\",\n"
                           " \"allocated_bytes\": \"512\",\n"
                           " \"active_bytes\": \"0\"\n"
                           "}\n"));
}

TEST(JsonTextTest, ShowsAnErrorsDetails) {
  v1::Probe probe;
  google::rpc::ErrorInfo why;
  why.set_reason("WORKER_UNUSABLE");
  probe.mutable_error()->add_details()->PackFrom(why);
  const auto text = JsonText(probe);
  ASSERT_THAT(text, IsOk());
  EXPECT_THAT(*text, HasSubstr("\"reason\": \"WORKER_UNUSABLE\""));
}

TEST(YamlTextTest, HasTheSameData) {
  EXPECT_THAT(YamlText(SomePeaks()), IsOkAndHolds("requested_bytes: \"100\"\n"
                                                  "allocated_bytes: \"512\"\n"
                                                  "active_bytes: \"0\"\n"));
}

TEST(PrintAnswerTest, PrintsTheFormAskedFor) {
  std::ostringstream out;
  std::ostringstream err;
  Console console(out, err, {});
  v1::UploadCommit empty;
  EXPECT_THAT(PrintAnswer(console, OutputFormat::kTable, empty, "T\n"), IsOk());
  EXPECT_THAT(PrintAnswer(console, OutputFormat::kJson, empty, "T\n"), IsOk());
  EXPECT_THAT(PrintAnswer(console, OutputFormat::kYaml, empty, "T\n"), IsOk());
  EXPECT_EQ(out.str(), "T\n{}\n{}\n");
  EXPECT_EQ(err.str(), "");
}

TEST(PrintAnswerTest, TellsIfNobodyTakesTheAnswer) {
  std::ostringstream out;
  std::ostringstream err;
  Console console(out, err, {});
  out.setstate(std::ios::badbit);
  EXPECT_THAT(
      PrintAnswer(console, OutputFormat::kTable, v1::UploadCommit(), "T\n"),
      testing::StatusIs(absl::StatusCode::kDataLoss));
}

}  // namespace
}  // namespace memplan
