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
#include <set>
#include <stdexcept>
#include <string>

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

void SetMember(Script& script, const std::string& name, const json& value) {
  if (name == "base_bytes") {
    script.base_bytes = value.get<int64_t>();
  } else if (name == "bytes_per_sample") {
    script.bytes_per_sample = value.get<int64_t>();
  } else if (name == "limit_batch") {
    script.limit_batch = value.get<int64_t>();
  } else if (name == "oom_batches") {
    script.oom_batches = value.get<std::set<int64_t>>();
  } else if (name == "spills_above") {
    script.spills_above = value.get<int64_t>();
  } else if (name == "traced_batch") {
    script.traced_batch = value.get<int64_t>();
  } else if (name == "scratch_per_sample") {
    script.scratch_per_sample = value.get<int64_t>();
  } else if (name == "scratch_until") {
    script.scratch_until = value.get<int64_t>();
  } else if (name == "recorded") {
    script.recorded = value.get<std::string>();
  } else if (name == "step_seconds") {
    script.step_seconds = value.get<double>();
  } else if (name == "on_batch") {
    script.on_batch = value.get<std::map<std::string, std::string>>();
  } else if (name == "once") {
    script.once = value.get<std::string>();
  } else if (name == "gate") {
    script.gate = value.get<std::string>();
  } else if (name == "log") {
    script.log = value.get<std::string>();
  } else {
    throw std::runtime_error("unknown member " + name);
  }
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
  auto found = script.on_batch.find(order);
  const bool is_batch = order.find_first_not_of("0123456789") == order.npos;
  if (found == script.on_batch.end() && is_batch) {
    found = script.on_batch.find("*");
  }
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
