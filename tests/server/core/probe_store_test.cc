#include "server/store/probe_store.h"

#include <SQLiteCpp/SQLiteCpp.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/server/core/sample_probe.h"
#include "tests/server/core/store_fixture.h"
#include "tests/support/status_matchers.h"

namespace memplan {
namespace {

using ::memplan::testing::IsOk;
using ::memplan::testing::IsOkAndHolds;
using ::memplan::testing::SampleProbe;
using ::memplan::testing::StatusIs;
using ::memplan::testing::StoreTest;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;

class ProbeStoreTest : public StoreTest {
 protected:
  ProbeStore& probes() { return *store().probes; }
};

auto HasId(const char* id) { return Field(&Probe::id, id); }

TEST_F(ProbeStoreTest, GivesProbesBackInTheirOrderOfCreation) {
  for (const char* id : {"c", "a", "b"}) {
    ASSERT_THAT(probes().Save(SampleProbe(id)), IsOk());
  }
  ASSERT_THAT(probes().Save(SampleProbe("c")), IsOk());
  Reopen();
  EXPECT_THAT(probes().LoadAll(),
              IsOkAndHolds(ElementsAre(HasId("c"), HasId("a"), HasId("b"))));
}

TEST_F(ProbeStoreTest, ReplacesAProbe) {
  Probe probe = SampleProbe("a");
  ASSERT_THAT(probes().Save(probe), IsOk());
  probe.version = 7;
  ASSERT_THAT(probes().Save(probe), IsOk());
  EXPECT_THAT(probes().LoadAll(),
              IsOkAndHolds(ElementsAre(Field(&Probe::version, 7))));
}

TEST_F(ProbeStoreTest, RefusesARequestIdThatAnotherProbeHas) {
  Probe first = SampleProbe("a");
  Probe second = SampleProbe("b");
  second.request_id = first.request_id;
  ASSERT_THAT(probes().Save(first), IsOk());
  EXPECT_THAT(probes().Save(second),
              StatusIs(absl::StatusCode::kAlreadyExists));
  EXPECT_THAT(probes().LoadAll(), IsOkAndHolds(ElementsAre(HasId("a"))));
}

TEST_F(ProbeStoreTest, TakesManyProbesWithoutARequestId) {
  for (const char* id : {"a", "b"}) {
    Probe probe = SampleProbe(id);
    probe.request_id.clear();
    ASSERT_THAT(probes().Save(probe), IsOk());
  }
  EXPECT_THAT(probes().LoadAll(),
              IsOkAndHolds(ElementsAre(HasId("a"), HasId("b"))));
}

TEST_F(ProbeStoreTest, LeavesARecordThatCannotBeReadWhereItIs) {
  ASSERT_THAT(probes().Save(SampleProbe("a")), IsOk());
  ASSERT_THAT(probes().Save(SampleProbe("b")), IsOk());
  ASSERT_THAT(
      store().database->Run(
          "break it",
          [](SQLite::Database& connection) {
            connection.exec("UPDATE probes SET record = '{' WHERE id = 'a'");
            return absl::OkStatus();
          }),
      IsOk());
  EXPECT_THAT(probes().LoadAll(), IsOkAndHolds(ElementsAre(HasId("b"))));
  ASSERT_THAT(
      store().database->Run(
          "look",
          [](SQLite::Database& connection) {
            EXPECT_EQ(
                connection.execAndGet("SELECT count(*) FROM probes").getInt(),
                2);
            return absl::OkStatus();
          }),
      IsOk());
}

TEST_F(ProbeStoreTest, DeletesAProbeWithItsTraces) {
  ASSERT_THAT(probes().Save(SampleProbe("a")), IsOk());
  const auto path = probes().TracePath("a", 1);
  ASSERT_THAT(path, IsOkAndHolds(temp_.Path("traces/a/1.trace")));
  std::ofstream(*path) << "events";
  EXPECT_THAT(probes().Delete("a"), IsOk());
  EXPECT_FALSE(std::filesystem::exists(temp_.Path("traces/a")));
  EXPECT_THAT(probes().LoadAll(), IsOkAndHolds(IsEmpty()));
  EXPECT_THAT(probes().Delete("a"), IsOk());
}

TEST_F(ProbeStoreTest, RemovesTracesWithoutAProbeWhenOpened) {
  ASSERT_THAT(probes().Save(SampleProbe("a")), IsOk());
  ASSERT_THAT(probes().TracePath("a", 1), IsOk());
  ASSERT_THAT(probes().TracePath("gone", 1), IsOk());
  Reopen();
  EXPECT_TRUE(std::filesystem::exists(temp_.Path("traces/a")));
  EXPECT_FALSE(std::filesystem::exists(temp_.Path("traces/gone")));
}

TEST_F(ProbeStoreTest, MakesNoTracePathOutsideItsFolder) {
  for (const char* id : {"", "..", "../x", "a/b", "A"}) {
    EXPECT_THAT(probes().TracePath(id, 1),
                StatusIs(absl::StatusCode::kInvalidArgument));
  }
}

}  // namespace
}  // namespace memplan
