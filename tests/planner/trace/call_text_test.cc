#include "planner/trace/call_text.h"

#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"

namespace memplan {
namespace {

using ::memplan::testing::IsOk;
using ::memplan::testing::StatusIs;

DistinctCall Sum() {
  DistinctCall call;
  call.operator_name = "aten::sum";
  call.has_signature = true;
  call.overload = "dim_IntList";
  call.arguments = {{ArgumentKind::kTensor, true, "float16", {8, 3, 3, 1}},
                    {ArgumentKind::kIntegers, false, "", {0}},
                    {ArgumentKind::kBoolean, false, "", {0}},
                    {ArgumentKind::kNone, false, "", {}}};
  return call;
}

TEST(CallTextTest, IsTheSignatureInATrace) {
  EXPECT_EQ(WriteCallText(Sum()),
            "dim_IntList\tfloat16[8,3]{3,1}@cpu\t[0]\tfalse\t-");
}

TEST(CallTextTest, IsReadAsItWasWritten) {
  DistinctCall read;
  read.operator_name = "aten::sum";
  ASSERT_THAT(ReadCallText(WriteCallText(Sum()), read), IsOk());
  EXPECT_EQ(read, Sum());
}

TEST(CallTextTest, IsEmptyWithoutASignature) {
  DistinctCall fused;
  fused.operator_name = "fused";
  EXPECT_EQ(WriteCallText(fused), "");
}

TEST(CallTextTest, BadTextChangesNothing) {
  DistinctCall call = Sum();
  EXPECT_THAT(ReadCallText("out\t7\tfloat32[", call),
              StatusIs(absl::StatusCode::kInvalidArgument));
  EXPECT_EQ(call, Sum());
}

}  // namespace
}  // namespace memplan
