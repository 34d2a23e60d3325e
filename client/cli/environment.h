// The environment's variables.
#ifndef MEMPLAN_CLIENT_CLI_ENVIRONMENT_H_
#define MEMPLAN_CLIENT_CLI_ENVIRONMENT_H_

#include <cstdlib>
#include <string>

namespace memplan {

// The value of a variable; empty if it is unset, which no caller tells apart.
inline std::string EnvironmentValue(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

}  // namespace memplan

#endif  // MEMPLAN_CLIENT_CLI_ENVIRONMENT_H_
