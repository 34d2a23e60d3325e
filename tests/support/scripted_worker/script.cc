#include "tests/support/scripted_worker/script.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

#include "tests/support/scripted_model.h"

namespace memplan::testing {
namespace {

using nlohmann::json;

std::string ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot open " + path);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

// The line after the marker, or `{}`.
std::string ScriptText(const std::string& content) {
  const size_t marker = content.find(kScriptMarker);
  if (marker == std::string::npos) return "{}";
  const size_t begin = marker + kScriptMarker.size();
  return content.substr(begin, content.find('\n', begin) - begin);
}

template <typename T>
void Read(const json& value, T& field) {
  field = value.get<T>();
}
template <typename T>
void Read(const json& value, std::optional<T>& field) {
  field = value.get<T>();
}

void SetMember(Script& script, const std::string& name, const json& value) {
  const auto sets = [&](std::string_view member, auto& field) {
    if (name != member) return false;
    Read(value, field);
    return true;
  };
  const bool is_member =
      sets("base_bytes", script.base_bytes) ||
      sets("bytes_per_sample", script.bytes_per_sample) ||
      sets("peak_bytes", script.peak_bytes) ||
      sets("odd_steps", script.odd_steps) ||
      sets("limit_batch", script.limit_batch) ||
      sets("oom_batches", script.oom_batches) ||
      sets("spills_above", script.spills_above) ||
      sets("traced_batch", script.traced_batch) ||
      sets("scratch_per_sample", script.scratch_per_sample) ||
      sets("scratch_until", script.scratch_until) ||
      sets("stranded_bytes", script.stranded_bytes) ||
      sets("context_bytes", script.context_bytes) ||
      sets("caught_failures", script.caught_failures) ||
      sets("device_free", script.device_free) ||
      sets("recorded", script.recorded) ||
      sets("step_seconds", script.step_seconds) ||
      sets("on_batch", script.on_batch) || sets("once", script.once) ||
      sets("gate", script.gate) || sets("log", script.log);
  if (!is_member) throw std::runtime_error("unknown member " + name);
}

// The situation of `batch` itself, else of the nearest `N+` up to it, else `*`;
// the end if there is none.
std::map<std::string, std::string>::const_iterator FindBatch(
    const std::map<std::string, std::string>& on_batch,
    const std::string& batch) {
  if (const auto own = on_batch.find(batch); own != on_batch.end()) return own;
  auto found = on_batch.find("*");
  int64_t nearest = 0;
  for (auto it = on_batch.begin(); it != on_batch.end(); ++it) {
    if (!it->first.ends_with('+')) continue;
    const int64_t from = std::stoll(it->first);
    if (from <= nearest || from > std::stoll(batch)) continue;
    nearest = from;
    found = it;
  }
  return found;
}

}  // namespace

Script ReadScript(const std::string& path) {
  try {
    Script script;
    const json members = json::parse(ScriptText(ReadAll(path)));
    for (const auto& [name, value] : members.items()) {
      SetMember(script, name, value);
    }
    return script;
  } catch (const std::exception& error) {
    std::cerr << "scripted worker: " << path << ": " << error.what()
              << std::endl;
    std::abort();
  }
}

std::string SituationFor(const Script& script, const std::string& order) {
  const bool is_batch = order.find_first_not_of("0123456789") == order.npos;
  const auto found = is_batch ? FindBatch(script.on_batch, order)
                              : script.on_batch.find(order);
  if (found == script.on_batch.end()) return "";
  if (script.once.empty()) return found->second;
  const int marker =
      open(script.once.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
  if (marker < 0) return "";  // another worker was first
  close(marker);
  return found->second;
}

void LogStart(const Script& script, const std::string& order) {
  if (script.log.empty()) return;
  const std::string line = std::to_string(getpid()) + " " + order + "\n";
  const int log =
      open(script.log.c_str(), O_CREAT | O_APPEND | O_WRONLY | O_CLOEXEC, 0600);
  if (log < 0 || write(log, line.data(), line.size()) < 0) {
    std::perror(script.log.c_str());
    std::abort();
  }
  close(log);
}

}  // namespace memplan::testing
