#include "tests/planner/plan/simulated_program.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "planner/trace/text_format.h"

namespace memplan::testing {
namespace {

// The text of a trace; blocks by name.
class TraceText {
 public:
  void Phase(const std::string& name) {
    absl::StrAppend(&text_, "M\t", name, "\n");
  }
  void Operator(const std::string& name, const std::string& signature = "") {
    asker_ = name;
    absl::StrAppend(&text_, "O\t1\t", name, "\n");
    if (!signature.empty()) absl::StrAppend(&text_, "G\t", signature, "\n");
  }
  void Take(const std::string& block, int64_t bytes) {
    if (bytes == 0) return;
    addresses_[block] = next_;
    absl::StrAppend(&text_, "A\t", bytes, "\t", absl::Hex(next_), "\t", asker_,
                    "\n");
    next_ += static_cast<uint64_t>(bytes) + 512;
  }
  void Give(const std::string& block) {
    const auto found = addresses_.find(block);
    if (found == addresses_.end()) return;
    absl::StrAppend(&text_, "D\t", absl::Hex(found->second), "\n");
    addresses_.erase(found);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
  std::string asker_;
  std::map<std::string, uint64_t> addresses_;
  uint64_t next_ = uint64_t{1} << 40;
};

std::string ForwardName(bool is_convolution) {
  return is_convolution ? "aten::convolution" : "aten::linear";
}

std::string BackwardName(bool is_convolution) {
  return is_convolution ? "aten::convolution_backward" : "aten::mm";
}

// The layer's number is the second size, so that calls of layers differ.
std::string SignatureAt(int64_t batch, size_t layer) {
  return absl::StrCat("\tfloat32[", batch, ",", layer + 1, "]{", layer + 1,
                      ",1}");
}

}  // namespace

int64_t Scratch::At(int64_t batch) const {
  switch (kind) {
    case ScratchKind::kNone:
      return 0;
    case ScratchKind::kConstant:
      return bytes;
    case ScratchKind::kTiles:
      return bytes * ((batch + 7) / 8);
    case ScratchKind::kVanishes:
      return batch < threshold ? bytes * batch : 0;
    case ScratchKind::kAppears:
      return batch < threshold ? 512 : bytes * batch;
  }
  return 0;
}

Trace SimulatedProgram::TraceAt(int64_t batch) const {
  TraceText text;
  text.Phase("load");
  for (size_t i = 0; i < layers_.size(); ++i) {
    text.Operator("aten::empty");
    text.Take(absl::StrCat("w", i), layers_[i].weight_bytes);
  }
  for (int step = 0; step < 3; ++step) {
    text.Phase(absl::StrCat("step", step));
    for (size_t i = 0; i < layers_.size(); ++i) {
      const Layer& layer = layers_[i];
      text.Operator(ForwardName(layer.is_convolution), SignatureAt(batch, i));
      text.Take(absl::StrCat("y", i), layer.output_bytes * batch);
      text.Take("scratch", layer.forward.At(batch));
      text.Give("scratch");
    }
    for (size_t i = layers_.size(); i-- > 0;) {
      const Layer& layer = layers_[i];
      text.Operator(BackwardName(layer.is_convolution), SignatureAt(batch, i));
      text.Take(absl::StrCat("dx", i), layer.output_bytes * batch);
      text.Take(absl::StrCat("dw", i), layer.weight_bytes);
      text.Take("scratch", layer.backward.At(batch));
      text.Give("scratch");
      text.Operator("torch::autograd::AccumulateGrad");
      text.Give(absl::StrCat("y", i));
      text.Give(absl::StrCat("dx", i + 1));
    }
    text.Operator("aten::zero_");
    text.Give("dx0");
    for (size_t i = 0; i < layers_.size(); ++i) {
      text.Operator("aten::clone");
      if (step == 0) text.Take(absl::StrCat("m", i), layers_[i].weight_bytes);
      text.Give(absl::StrCat("dw", i));
    }
  }
  return ReadTraceText(text.text()).value();
}

CallPlansOrNone SimulatedProgram::RunCall(const DistinctCall& call) const {
  const std::vector<int64_t>& sizes = call.arguments.at(0).numbers;
  const int64_t batch = sizes.at(0);
  const Layer& layer = layers_.at(static_cast<size_t>(sizes.at(1) - 1));
  const bool is_backward = call.operator_name == BackwardName(true) ||
                           call.operator_name == BackwardName(false);
  CallPlan plan = {{0, layer.output_bytes * batch}};
  if (is_backward) plan.push_back({1, layer.weight_bytes});
  const auto scratch = static_cast<uint32_t>(plan.size());
  const int64_t bytes =
      (is_backward ? layer.backward : layer.forward).At(batch);
  if (bytes > 0) {
    plan.push_back({scratch, bytes});
    plan.push_back({scratch, 0});
  }
  return {plan};
}

}  // namespace memplan::testing
