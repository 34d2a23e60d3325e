#include "tests/support/scripted_worker/scripted_failure.h"

#include "cuda/worker/trial/end_class.h"
#include "cuda/worker/trial/ending.h"

namespace memplan::testing {
namespace {

// Takes `beginning` off `text` if it is there.
bool Consume(std::string_view& text, std::string_view beginning) {
  if (!text.starts_with(beginning)) return false;
  text.remove_prefix(beginning.size());
  return true;
}

gpu::Evidence EvidenceOf(const Script& script) {
  gpu::Evidence evidence;
  evidence.span.failed_requests = script.caught_failures;
  evidence.span.allocation_retries = script.caught_failures;
  if (script.device_free) evidence.device_free = Bytes(*script.device_free);
  return evidence;
}

void Fill(std::string_view words, const gpu::Evidence& evidence,
          gpu::Report& report) {
  const gpu::Failure failure = gpu::FailureOf(words, evidence);
  report.end = failure.end;
  report.end_class = failure.end_class;
  report.message = failure.message;
}

}  // namespace

bool FailLoad(const Script& script, std::string_view situation,
              gpu::Report& report) {
  if (!Consume(situation, "fails to load: ")) return false;
  Fill(situation, EvidenceOf(script), report);
  report.failed_while_loading = true;
  return true;
}

bool FailStep(const Script& script, std::string_view situation, Bytes allocated,
              gpu::Report& report) {
  gpu::Evidence evidence = EvidenceOf(script);
  if (Consume(situation, "is refused and throws: ")) {
    ++evidence.span.failed_requests;
    evidence.span.unmet = gpu::FailedRequest{
        .asked = Bytes(script.bytes_per_sample),
        .allocated = allocated,
        .reserved = allocated + Bytes(script.stranded_bytes)};
  } else if (!Consume(situation, "throws: ")) {
    return false;
  }
  Fill(situation, evidence, report);
  return true;
}

}  // namespace memplan::testing
