// memplan: the command line.
#include <exception>
#include <iostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "client/cli/command_line.h"
#include "client/cli/console.h"

int main(int argc, char** argv) {
  memplan::Console console(std::cout, std::cerr,
                           memplan::Console::OptionsOfProcess());
  try {
    return memplan::RunCommandLine(
        std::vector<std::string>(argv + 1, argv + argc), console);
  } catch (const std::exception& error) {
    return console.Fail(absl::InternalError(error.what()));
  }
}
