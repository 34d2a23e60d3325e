#include "planner/trace/signature_text.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"

namespace memplan {
namespace {

using ::memplan::testing::IsOk;
using ::memplan::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

TEST(SignatureTextTest, ReadsEachKindOfArgument) {
  SignatureTable table;
  NameTable names;
  const absl::StatusOr<Signature> signature = ReadSignature(
      "out\tfloat32[8,3]{3,1}\tint64[]{}@cpu\t*1\t-\t-7\t[1,2,3]\t[]"
      "\ttrue\tfalse\t"
      "#3fc0000000000000\t-\t?",
      table, names);
  ASSERT_THAT(signature, IsOk());
  EXPECT_EQ(names.Name(signature->overload), "out");
  const auto arguments = table.Arguments(*signature);
  ASSERT_EQ(arguments.size(), 12);
  EXPECT_EQ(arguments[0].kind, ArgumentKind::kTensor);
  EXPECT_EQ(names.Name(arguments[0].dtype), "float32");
  EXPECT_THAT(table.Sizes(arguments[0]), ElementsAre(8, 3));
  EXPECT_THAT(table.Strides(arguments[0]), ElementsAre(3, 1));
  EXPECT_FALSE(arguments[0].on_cpu);
  EXPECT_EQ(arguments[1].kind, ArgumentKind::kTensor);
  EXPECT_THAT(table.Numbers(arguments[1]), IsEmpty());
  EXPECT_TRUE(arguments[1].on_cpu);
  EXPECT_EQ(arguments[2].kind, ArgumentKind::kTensorList);
  EXPECT_THAT(table.Numbers(arguments[2]), ElementsAre(1));
  EXPECT_EQ(arguments[3].kind, ArgumentKind::kNone);
  EXPECT_EQ(arguments[4].kind, ArgumentKind::kInteger);
  EXPECT_THAT(table.Numbers(arguments[4]), ElementsAre(-7));
  EXPECT_EQ(arguments[5].kind, ArgumentKind::kIntegers);
  EXPECT_THAT(table.Numbers(arguments[5]), ElementsAre(1, 2, 3));
  EXPECT_THAT(table.Numbers(arguments[6]), IsEmpty());
  EXPECT_THAT(table.Numbers(arguments[7]), ElementsAre(1));
  EXPECT_THAT(table.Numbers(arguments[8]), ElementsAre(0));
  EXPECT_EQ(arguments[9].kind, ArgumentKind::kReal);
  EXPECT_EQ(table.Real(arguments[9]), 0.125);
  EXPECT_EQ(arguments[10].kind, ArgumentKind::kNone);
  EXPECT_EQ(arguments[11].kind, ArgumentKind::kOther);
}

TEST(SignatureTextTest, ReadsListsDevicesAndTexts) {
  SignatureTable table;
  NameTable names;
  const absl::StatusOr<Signature> signature = ReadSignature(
      "\t[true,false]\t[#3fc0000000000000,#0]\t@cpu\t@device\t\"i j\"\t\"\"",
      table, names);
  ASSERT_THAT(signature, IsOk());
  const auto arguments = table.Arguments(*signature);
  ASSERT_EQ(arguments.size(), 6);
  EXPECT_EQ(arguments[0].kind, ArgumentKind::kBooleans);
  EXPECT_THAT(table.Numbers(arguments[0]), ElementsAre(1, 0));
  EXPECT_EQ(arguments[1].kind, ArgumentKind::kReals);
  EXPECT_THAT(table.Numbers(arguments[1]), ElementsAre(0x3fc0000000000000, 0));
  EXPECT_EQ(arguments[2].kind, ArgumentKind::kDevice);
  EXPECT_TRUE(arguments[2].on_cpu);
  EXPECT_EQ(arguments[3].kind, ArgumentKind::kDevice);
  EXPECT_FALSE(arguments[3].on_cpu);
  EXPECT_EQ(arguments[4].kind, ArgumentKind::kText);
  EXPECT_EQ(names.Name(arguments[4].dtype), "i j");
  EXPECT_EQ(names.Name(arguments[5].dtype), "");
}

TEST(SignatureTextTest, AListMayHoldTensorsThatAreNotRecorded) {
  SignatureTable table;
  NameTable names;
  EXPECT_THAT(ReadSignature("\t*2\t?\tfloat32[]{}", table, names), IsOk());
}

TEST(SignatureTextTest, WritesWhatItReads) {
  for (const std::string text :
       {"", "out", "\t-\t?", "self\tbfloat16[8,3]{3,1}@cpu\tint64[]{}",
        "\t*2\tbool[1]{1}\tbool[2]{1}\t-7\t[1,2]\t[]\ttrue",
        "\t[true,false]\t[#3fc0000000000000,#0]\t@cpu\t@device\t\"none\"\t\"\"",
        "\t#7ff8000000000000"}) {
    SignatureTable table;
    NameTable names;
    const auto signature = ReadSignature(text, table, names);
    ASSERT_THAT(signature, IsOk()) << text;
    EXPECT_EQ(WriteSignature(*signature, table, names), text);
  }
}

TEST(SignatureTextTest, RefusesWhatIsNoArgument) {
  for (const std::string text : {"",
                                 "nope",
                                 "1.5",
                                 "[1,",
                                 "[1,]",
                                 "[a]",
                                 "[",
                                 "*",
                                 "*-1",
                                 "*x",
                                 "#",
                                 "#g",
                                 "float32[1]",
                                 "float32[1]{1",
                                 "float32[1]{1,2}",
                                 "float32]{",
                                 "[1]{1}",
                                 "float32{1}[1]",
                                 "99999999999999999999",
                                 "--",
                                 "??"}) {
    SignatureTable table;
    NameTable names;
    EXPECT_THAT(ReadSignature("\t1\t" + text, table, names),
                StatusIs(kInvalid, HasSubstr("argument 2 of the signature")))
        << text;
  }
}

TEST(SignatureTextTest, RefusesListsWithoutTheirTensors) {
  SignatureTable table;
  NameTable names;
  EXPECT_THAT(ReadSignature("\t*2\t-", table, names),
              StatusIs(kInvalid, HasSubstr("1 tensors short of its list")));
  EXPECT_THAT(ReadSignature("\t*2\t-\t7", table, names),
              StatusIs(kInvalid, HasSubstr("argument 3 of the signature: it is "
                                           "no tensor")));
}

}  // namespace
}  // namespace memplan
