#include "planner/plan/input_spec.h"

#include <cstdint>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"

namespace memplan {
namespace {

using ::memplan::testing::IsOkAndHolds;
using ::memplan::testing::StatusIs;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;

InputSpec Spec(DType dtype, std::vector<Dimension> shape, Fill fill) {
  return {.dtype = dtype, .shape = std::move(shape), .fill = fill};
}

constexpr Fill kNormal = {FillKind::kNormal};
constexpr Fill kZeros = {FillKind::kZeros};
constexpr Fill kOnes = {FillKind::kOnes};
constexpr Fill Uniform(double low, double high) {
  return {FillKind::kUniform, low, high};
}

struct SpecCase {
  std::string name;
  std::string text;
  InputSpec spec;
  std::string formatted;  // empty: as `text`
};
class InputSpecTest : public ::testing::TestWithParam<SpecCase> {};

TEST_P(InputSpecTest, IsRead) {
  EXPECT_THAT(ParseInputSpec(GetParam().text), IsOkAndHolds(GetParam().spec));
}

TEST_P(InputSpecTest, IsWrittenAsItIsRead) {
  const std::string formatted = FormatInputSpec(GetParam().spec);
  EXPECT_EQ(formatted, GetParam().formatted.empty() ? GetParam().text
                                                    : GetParam().formatted);
  EXPECT_THAT(ParseInputSpec(formatted), IsOkAndHolds(GetParam().spec));
}

INSTANTIATE_TEST_SUITE_P(
    Texts, InputSpecTest,
    ::testing::ValuesIn<SpecCase>({
        {"Image", "float32[B,3,224,224]",
         Spec(DType::kFloat32, {{"B"}, {"", 3}, {"", 224}, {"", 224}}, kNormal),
         ""},
        {"Tokens", "int64[B,256]{0..30000}",
         Spec(DType::kInt64, {{"B"}, {"", 256}}, Uniform(0, 30000)), ""},
        {"NamedDimension", "int64[B,T]{0..10}",
         Spec(DType::kInt64, {{"B"}, {"T"}}, Uniform(0, 10)), ""},
        {"NumberTimesName", "float16[2*B,4*seq_len]",
         Spec(DType::kFloat16, {{"B", 2}, {"seq_len", 4}}, kNormal), ""},
        {"OneTimesName", "float64[1*B]",
         Spec(DType::kFloat64, {{"B"}}, kNormal), "float64[B]"},
        {"NoBatch", "bfloat16[7]", Spec(DType::kBFloat16, {{"", 7}}, kNormal),
         ""},
        {"BracedOnes", "bool[B,1]{ones}",
         Spec(DType::kBool, {{"B"}, {"", 1}}, kOnes), ""},
        {"BareOnes", "bool[B,1] ones",
         Spec(DType::kBool, {{"B"}, {"", 1}}, kOnes), "bool[B,1]{ones}"},
        {"BareZeros", "float32[B] zeros",
         Spec(DType::kFloat32, {{"B"}}, kZeros), "float32[B]{zeros}"},
        {"IntegersAreZeroWithoutFill", "int32[B]",
         Spec(DType::kInt32, {{"B"}}, kZeros), ""},
        {"IntegersSaidToBeZero", "int32[B]{zeros}",
         Spec(DType::kInt32, {{"B"}}, kZeros), "int32[B]"},
        {"BoolIsZeroWithoutFill", "bool[B]",
         Spec(DType::kBool, {{"B"}}, kZeros), ""},
        {"NegativeRange", "int16[B]{-5..-1}",
         Spec(DType::kInt16, {{"B"}}, Uniform(-5, -1)), ""},
        {"FractionalRange", "float32[B]{-0.5..0.25}",
         Spec(DType::kFloat32, {{"B"}}, Uniform(-0.5, 0.25)), ""},
        {"ExponentRange", "float64[B]{1e-3..2E+3}",
         Spec(DType::kFloat64, {{"B"}}, Uniform(0.001, 2000)),
         "float64[B]{0.001..2000}"},
        {"AWholeByte", "uint8[B]{0..256}",
         Spec(DType::kUInt8, {{"B"}}, Uniform(0, 256)), ""},
        {"AWholeSignedByte", "int8[B]{-128..128}",
         Spec(DType::kInt8, {{"B"}}, Uniform(-128, 128)), ""},
        {"Spaces", "  float32 [ B , 2 * T ] { 0 .. 1 }  ",
         Spec(DType::kFloat32, {{"B"}, {"T", 2}}, Uniform(0, 1)),
         "float32[B,2*T]{0..1}"},
        {"LargestDimension", "bool[2147483648]",
         Spec(DType::kBool, {{"", int64_t{1} << 31}}, kZeros), ""},
    }),
    [](const auto& test) { return test.param.name; });

struct FaultCase {
  std::string name;
  std::string text;
  int column;  // from 1
  std::string expected;
};
class InputSpecFaultTest : public ::testing::TestWithParam<FaultCase> {};

TEST_P(InputSpecFaultTest, IsMarkedAtItsColumn) {
  const FaultCase& fault = GetParam();
  const std::string picture =
      "\n  " + fault.text + "\n  " + std::string(fault.column - 1, ' ') + "^";
  const std::string column = "column " + std::to_string(fault.column) + ": ";
  EXPECT_THAT(
      ParseInputSpec(fault.text),
      StatusIs(kInvalid,
               ::testing::AllOf(HasSubstr(column), HasSubstr(fault.expected),
                                ::testing::EndsWith(picture))));
}

INSTANTIATE_TEST_SUITE_P(
    Texts, InputSpecFaultTest,
    ::testing::ValuesIn<FaultCase>({
        {"Empty", "", 1, "expected a type"},
        {"UnknownType", "float31[B]", 1, "expected a type"},
        {"NumberForType", "32[B]", 1, "expected a type"},
        {"NoShape", "float32", 8, "expected '['"},
        {"EmptyShape", "float32[]", 9, "expected a dimension"},
        {"EmptyDimension", "float32[B,,3]", 11, "expected a dimension"},
        {"NegativeDimension", "float32[-1]", 9, "expected a dimension"},
        {"ZeroDimension", "float32[B,0]", 11, "1 to 2147483648"},
        {"HugeDimension", "float32[2147483649]", 9, "1 to 2147483648"},
        {"VeryHugeDimension", "float32[9999999999999999999]", 9,
         "1 to 2147483648"},
        {"NothingTimes", "float32[2*]", 11, "expected a name"},
        {"NumberTimesNumber", "float32[2*3]", 11, "expected a name"},
        {"UnclosedShape", "float32[B", 10, "expected ',' or ']'"},
        {"OpenAgain", "float32[B[", 10, "expected ',' or ']'"},
        {"TextAfterShape", "float32[B]x", 11, "expected the end"},
        {"TextAfterOnes", "float32[B] onesie", 16, "expected the end"},
        {"EmptyFill", "int64[B]{}", 10, "expected a range"},
        {"UnknownFill", "int64[B]{twos}", 10, "expected a range"},
        {"NoUpperBound", "int64[B]{0}", 11, "expected '..'"},
        {"MissingUpperBound", "int64[B]{0..}", 13, "expected a range"},
        {"UnclosedFill", "int64[B]{0..1", 14, "expected '}'"},
        {"EmptyRange", "int64[B]{5..5}", 10, "the range is empty"},
        {"ReversedRange", "int64[B]{5..0}", 10, "the range is empty"},
        {"FractionOfInteger", "int64[B]{0.5..2}", 10, "whole number"},
        {"BelowTheType", "uint8[B]{-1..5}", 10, "does not fit in uint8"},
        {"AboveTheType", "uint8[B]{0..257}", 13, "does not fit in uint8"},
        {"AboveTheHalf", "float16[B]{0..1e6}", 15, "does not fit in float16"},
        {"AboveAnyDouble", "float64[B]{0..1e999}", 15, "does not fit"},
        {"RangeOfBool", "bool[B]{0..1}", 9, "bool takes {ones} or {zeros}"},
        {"TwoSpecs", "bool[B];bool[B]", 8, "expected the end"},
    }),
    [](const auto& test) { return test.param.name; });

TEST(ParseInputSpecTest, RefusesMoreDimensionsThanTorchHas) {
  std::string text = "float32[1";
  for (int i = 1; i < 64; ++i) text += ",1";
  EXPECT_THAT(ParseInputSpec(text + "]"), testing::IsOk());
  EXPECT_THAT(ParseInputSpec(text + ",1]"),
              StatusIs(kInvalid, HasSubstr("at most 64 dimensions")));
}

TEST(ParseInputSpecTest, ShowsAPartOfALongText) {
  const std::string text = "float32[" + std::string(200, '9') + "]";
  EXPECT_THAT(
      ParseInputSpec(std::string(100, ' ') + text),
      StatusIs(kInvalid, "column 109: a dimension is 1 to 2147483648\n  " +
                             std::string(52, ' ') + "float32[" +
                             std::string(20, '9') + "\n  " +
                             std::string(60, ' ') + "^"));
}

TEST(ParseInputSpecTest, ShowsUnprintableBytesAsQuestionMarks) {
  EXPECT_THAT(
      ParseInputSpec("float32[\xc3\xa9\n\x1b]"),
      StatusIs(kInvalid, ::testing::EndsWith("\n  float32[????]\n" +
                                             std::string(10, ' ') + "^")));
}

TEST(ParseInputSpecsTest, ReadsOne) {
  EXPECT_THAT(ParseInputSpecs("bool[B]"),
              IsOkAndHolds(ElementsAre(Spec(DType::kBool, {{"B"}}, kZeros))));
}

TEST(ParseInputSpecsTest, ReadsSeveralApartByCommaOrSemicolon) {
  EXPECT_THAT(ParseInputSpecs("int64[B,T]{0..9}; bool[B,T] ones,float32[B,1]"),
              IsOkAndHolds(ElementsAre(
                  Spec(DType::kInt64, {{"B"}, {"T"}}, Uniform(0, 9)),
                  Spec(DType::kBool, {{"B"}, {"T"}}, kOnes),
                  Spec(DType::kFloat32, {{"B"}, {"", 1}}, kNormal))));
}

TEST(ParseInputSpecsTest, CountsColumnsFromTheWholeTextsStart) {
  EXPECT_THAT(ParseInputSpecs("bool[B];float[B]"),
              StatusIs(kInvalid, HasSubstr("column 9: expected a type")));
  EXPECT_THAT(ParseInputSpecs("bool[B];"),
              StatusIs(kInvalid, HasSubstr("column 9: expected a type")));
  EXPECT_THAT(ParseInputSpecs("bool[B] bool[B]"),
              StatusIs(kInvalid, HasSubstr("column 9: expected the end")));
}

TEST(UsesBatchTest, LooksForB) {
  EXPECT_TRUE(UsesBatch(Spec(DType::kBool, {{"", 2}, {"B", 2}}, kZeros)));
  EXPECT_FALSE(UsesBatch(Spec(DType::kBool, {{"b"}, {"", 2}}, kZeros)));
}

TEST(DTypeNameTest, NamesEachAsItIsRead) {
  for (DType dtype :
       {DType::kFloat64, DType::kFloat32, DType::kFloat16, DType::kBFloat16,
        DType::kInt64, DType::kInt32, DType::kInt16, DType::kInt8,
        DType::kUInt8, DType::kBool}) {
    const std::string text = std::string(DTypeName(dtype)) + "[B]";
    const auto spec = ParseInputSpec(text);
    ASSERT_THAT(spec, testing::IsOk()) << text;
    EXPECT_EQ(spec->dtype, dtype);
  }
}

TEST(InputShapeTest, PutsInBatchAndNames) {
  const InputSpec spec =
      Spec(DType::kInt64, {{"B", 2}, {"T"}, {"", 3}}, kZeros);
  EXPECT_THAT(InputShape(spec, 5, {{"T", 256}}),
              IsOkAndHolds(ElementsAre(10, 256, 3)));
}

TEST(InputShapeTest, SaysHowToGiveAMissingValue) {
  const InputSpec spec = Spec(DType::kInt64, {{"B"}, {"T"}}, kZeros);
  EXPECT_THAT(InputShape(spec, 5, {{"S", 1}}),
              StatusIs(kInvalid, ::testing::AllOf(HasSubstr("T has no value"),
                                                  HasSubstr("T=256"))));
}

TEST(InputShapeTest, RefusesABatchOutOfRange) {
  const InputSpec spec = Spec(DType::kBool, {{"B"}}, kZeros);
  EXPECT_THAT(InputShape(spec, 0, {}), StatusIs(kInvalid));
  EXPECT_THAT(InputShape(spec, -1, {}), StatusIs(kInvalid));
  EXPECT_THAT(InputShape(spec, kMaxDimension + 1, {}), StatusIs(kInvalid));
  EXPECT_THAT(InputShape(spec, kMaxDimension, {}), IsOkAndHolds(SizeIs(1)));
}

TEST(InputShapeTest, RefusesAValueOutOfRange) {
  const InputSpec spec = Spec(DType::kBool, {{"T"}}, kZeros);
  EXPECT_THAT(InputShape(spec, 1, {{"T", 0}}),
              StatusIs(kInvalid, HasSubstr("T is 0")));
  EXPECT_THAT(InputShape(spec, 1, {{"T", kMaxDimension + 1}}),
              StatusIs(kInvalid, HasSubstr("T is 2147483649")));
}

TEST(InputShapeTest, RefusesMoreThanTwoToThe62Elements) {
  const int64_t half = int64_t{1} << 31;
  EXPECT_THAT(
      InputShape(Spec(DType::kBool, {{"B"}, {"", half}}, kZeros), half, {}),
      IsOkAndHolds(ElementsAre(half, half)));
  EXPECT_THAT(
      InputShape(Spec(DType::kBool, {{"B"}, {"", half}, {"", 2}}, kZeros), half,
                 {}),
      StatusIs(kInvalid, HasSubstr("more than 2^62 elements")));
}

}  // namespace
}  // namespace memplan
