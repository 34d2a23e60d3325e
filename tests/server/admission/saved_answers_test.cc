// The order in which callers are told, and that all are.
#include "server/admission/saved_answers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"

namespace memplan {
namespace {

using ::testing::ElementsAre;

TEST(SavedAnswersTest, TellsAllInOrderBeforeItStops) {
  std::vector<std::string> told;
  const auto note = [&told](const std::string& name) {
    return [&told, name](const absl::Status& status) {
      told.push_back(absl::StrCat(name, status.ok() ? " saved" : " lost"));
    };
  };
  absl::Notification all_given;
  SavedAnswers answers;
  answers.Tell({[&](const absl::Status&) { all_given.WaitForNotification(); },
                note("a")},
               absl::OkStatus());
  answers.Tell({note("b"), note("c")}, absl::InternalError("disk"));
  EXPECT_EQ(answers.waiting(), 4u);
  all_given.Notify();
  answers.Stop();
  EXPECT_THAT(told, ElementsAre("a saved", "b lost", "c lost"));
  EXPECT_EQ(answers.waiting(), 0u);
}

}  // namespace
}  // namespace memplan
