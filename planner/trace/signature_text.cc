#include "planner/trace/signature_text.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "planner/base/status_macros.h"
#include "planner/trace/fields.h"

namespace memplan {
namespace {

bool ReadInteger(std::string_view text, int64_t& value) {
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

// One call reads one signature's arguments into the tables.
class ArgumentReader {
 public:
  ArgumentReader(SignatureTable& table, NameTable& names)
      : table_(table), names_(names) {}

  absl::Status Read(std::string_view text) {
    SignatureArgument argument;
    argument.first_number = static_cast<uint32_t>(table_.numbers.size());
    if (!ReadInto(text, argument)) {
      return absl::InvalidArgumentError(
          "it is none of float32[8,3]{3,1}, *2, 7, [1,1], true, false, "
          "#3fc0000000000000, [true], [#3fc0000000000000], @cpu, @device, "
          "\"text\", - and ?");
    }
    argument.number_count =
        static_cast<uint32_t>(table_.numbers.size() - argument.first_number);
    table_.arguments.push_back(argument);
    return CountListed(argument);
  }

  // Once all are read.
  absl::Status Finish() const {
    if (listed_ == 0) return absl::OkStatus();
    return absl::InvalidArgumentError(absl::StrCat(
        "the signature ends ", listed_, " tensors short of its list"));
  }

 private:
  // Checks that a list's tensors follow it.
  absl::Status CountListed(const SignatureArgument& argument) {
    // A tensor of a kind that is not recorded is an other.
    const bool is_listed = argument.kind == ArgumentKind::kTensor ||
                           argument.kind == ArgumentKind::kNone ||
                           argument.kind == ArgumentKind::kOther;
    if (listed_ > 0 && !is_listed) {
      return absl::InvalidArgumentError(
          "it is no tensor, but in a list of them");
    }
    if (listed_ > 0) --listed_;
    if (argument.kind == ArgumentKind::kTensorList) {
      listed_ = table_.numbers[argument.first_number];
    }
    return absl::OkStatus();
  }

  bool ReadInto(std::string_view text, SignatureArgument& argument) {
    if (text.empty()) return false;
    switch (text.front()) {
      case '?':
        argument.kind = ArgumentKind::kOther;
        return text.size() == 1;
      case '*':
        argument.kind = ArgumentKind::kTensorList;
        return AddInteger(text.substr(1)) && table_.numbers.back() >= 0;
      case '[':
        return text.back() == ']' &&
               ReadList(text.substr(1, text.size() - 2), argument);
      case '#':
        argument.kind = ArgumentKind::kReal;
        return AddReal(text.substr(1));
      default:
        return ReadWord(text, argument);
    }
  }

  bool ReadList(std::string_view text, SignatureArgument& argument) {
    if (text.starts_with('#')) {
      argument.kind = ArgumentKind::kReals;
      return AddEach(text, [this](std::string_view real) {
        return real.starts_with('#') && AddReal(real.substr(1));
      });
    }
    if (text.starts_with('t') || text.starts_with('f')) {
      argument.kind = ArgumentKind::kBooleans;
      return AddEach(
          text, [this](std::string_view word) { return AddBoolean(word); });
    }
    argument.kind = ArgumentKind::kIntegers;
    return AddIntegers(text);
  }

  bool ReadWord(std::string_view text, SignatureArgument& argument) {
    if (text.front() == '"') {
      argument.kind = ArgumentKind::kText;
      const std::string_view inner = text.substr(1, text.size() - 2);
      argument.dtype = names_.Add(inner);
      return text.size() >= 2 && text.back() == '"' && IsSignatureText(inner);
    }
    if (text == "@cpu" || text == "@device") {
      argument.kind = ArgumentKind::kDevice;
      argument.on_cpu = text == "@cpu";
      return true;
    }
    if (text == "-") {
      argument.kind = ArgumentKind::kNone;
      return true;
    }
    if (text == "true" || text == "false") {
      argument.kind = ArgumentKind::kBoolean;
      return AddBoolean(text);
    }
    argument.kind = ArgumentKind::kInteger;
    return AddInteger(text) || ReadTensor(text, argument);
  }

  bool ReadTensor(std::string_view text, SignatureArgument& argument) {
    argument.kind = ArgumentKind::kTensor;
    constexpr std::string_view kOnCpu = "@cpu";
    argument.on_cpu = text.ends_with(kOnCpu);
    if (argument.on_cpu) text.remove_suffix(kOnCpu.size());
    const size_t sizes = text.find('[');
    const size_t strides = text.find("]{");
    if (sizes == 0 || strides == std::string_view::npos || sizes > strides ||
        text.back() != '}') {
      return false;
    }
    argument.dtype = names_.Add(text.substr(0, sizes));
    const size_t before = table_.numbers.size();
    if (!AddIntegers(text.substr(sizes + 1, strides - sizes - 1))) return false;
    const size_t rank = table_.numbers.size() - before;
    return AddIntegers(text.substr(strides + 2, text.size() - strides - 3)) &&
           table_.numbers.size() - before == 2 * rank;
  }

  bool AddInteger(std::string_view text) {
    int64_t value = 0;
    if (!ReadInteger(text, value)) return false;
    table_.numbers.push_back(value);
    return true;
  }

  bool AddIntegers(std::string_view text) {
    if (text.empty()) return true;
    return AddEach(
        text, [this](std::string_view integer) { return AddInteger(integer); });
  }

  bool AddBoolean(std::string_view text) {
    table_.numbers.push_back(text == "true" ? 1 : 0);
    return text == "true" || text == "false";
  }

  template <typename Function>
  static bool AddEach(std::string_view text, Function&& add) {
    for (Fields fields(text, ','); !fields.AtEnd();) {
      if (!add(fields.Take())) return false;
    }
    return true;
  }

  // As its bits: exact, NaN and the infinities too.
  bool AddReal(std::string_view text) {
    uint64_t bits = 0;
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), bits, 16);
    if (error != std::errc() || end != text.data() + text.size()) return false;
    table_.numbers.push_back(std::bit_cast<int64_t>(bits));
    return true;
  }

  SignatureTable& table_;
  NameTable& names_;
  int64_t listed_ = 0;  // tensors of a list that are yet to come
};

std::string WriteReal(int64_t bits) {
  return absl::StrCat("#", absl::Hex(std::bit_cast<uint64_t>(bits)));
}

std::string WriteBoolean(int64_t value) {
  return value != 0 ? "true" : "false";
}

// `numbers`, each written by `write`.
std::string WriteList(std::span<const int64_t> numbers,
                      std::string (*write)(int64_t)) {
  std::string text = "[";
  for (const int64_t number : numbers) {
    absl::StrAppend(&text, text.size() > 1 ? "," : "", write(number));
  }
  return text + "]";
}

std::string WriteArgument(const SignatureArgument& argument,
                          const SignatureTable& table, const NameTable& names) {
  const std::span<const int64_t> numbers = table.Numbers(argument);
  switch (argument.kind) {
    case ArgumentKind::kNone:
      return "-";
    case ArgumentKind::kTensor:
      return absl::StrCat(std::string(names.Name(argument.dtype)), "[",
                          absl::StrJoin(table.Sizes(argument), ","), "]{",
                          absl::StrJoin(table.Strides(argument), ","), "}",
                          argument.on_cpu ? "@cpu" : "");
    case ArgumentKind::kTensorList:
      return absl::StrCat("*", numbers[0]);
    case ArgumentKind::kInteger:
      return absl::StrCat(numbers[0]);
    case ArgumentKind::kIntegers:
      return absl::StrCat("[", absl::StrJoin(numbers, ","), "]");
    case ArgumentKind::kBoolean:
      return WriteBoolean(numbers[0]);
    case ArgumentKind::kReal:
      return WriteReal(numbers[0]);
    case ArgumentKind::kBooleans:
      return WriteList(numbers, &WriteBoolean);
    case ArgumentKind::kReals:
      return WriteList(numbers, &WriteReal);
    case ArgumentKind::kDevice:
      return argument.on_cpu ? "@cpu" : "@device";
    case ArgumentKind::kText:
      return absl::StrCat("\"", std::string(names.Name(argument.dtype)), "\"");
    case ArgumentKind::kOther:
      break;
  }
  return "?";
}

}  // namespace

bool IsSignatureText(std::string_view text) {
  constexpr size_t kLongest = 256;
  return text.size() <= kLongest &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return c >= ' ' && c <= '~' && c != '"'; });
}

absl::StatusOr<Signature> ReadSignature(std::string_view text,
                                        SignatureTable& table,
                                        NameTable& names) {
  Signature signature;
  signature.first_argument = static_cast<uint32_t>(table.arguments.size());
  ArgumentReader reader(table, names);
  Fields fields(text, '\t');
  signature.overload = names.Add(fields.Take());
  for (int number = 1; !fields.AtEnd(); ++number) {
    if (absl::Status status = reader.Read(fields.Take()); !status.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "argument ", number, " of the signature: ", status.message()));
    }
  }
  MEMPLAN_RETURN_IF_ERROR(reader.Finish());
  signature.argument_count =
      static_cast<uint32_t>(table.arguments.size()) - signature.first_argument;
  return signature;
}

std::string WriteSignature(const Signature& signature,
                           const SignatureTable& table,
                           const NameTable& names) {
  std::string text(names.Name(signature.overload));
  for (const SignatureArgument& argument : table.Arguments(signature)) {
    absl::StrAppend(&text, "\t", WriteArgument(argument, table, names));
  }
  return text;
}

}  // namespace memplan
