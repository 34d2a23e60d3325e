// Model files for memplan-scripted-worker: real zip archives with the entries
// that a TorchScript file has, so that the store takes them, and in them one
// line of plain text that tells the worker what to do:
//
//   MEMPLAN-SCRIPT {"limit_batch": 37, "on_batch": {"16": "hangs"}}
//
// tests/support/scripted_worker/script.h has the members.
#ifndef MEMPLAN_TESTS_SUPPORT_SCRIPTED_MODEL_H_
#define MEMPLAN_TESTS_SUPPORT_SCRIPTED_MODEL_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace memplan::testing {

inline constexpr std::string_view kScriptMarker = "MEMPLAN-SCRIPT ";

// The bytes of a model that behaves as `script`, a JSON object on one line,
// says. `weight_bytes` is how many bytes of ballast it carries; files with other
// ballast or another script have another SHA-256.
std::string ScriptedModel(std::string_view script, size_t weight_bytes = 0);

}  // namespace memplan::testing

#endif  // MEMPLAN_TESTS_SUPPORT_SCRIPTED_MODEL_H_
