// memplan: the command line.
#include <iostream>
#include <string>
#include <vector>

#include "client/cli/command_line.h"
#include "client/cli/console.h"

int main(int argc, char** argv) {
  memplan::Console console(std::cout, std::cerr,
                           memplan::Console::OptionsOfProcess());
  return memplan::RunCommandLine(
      std::vector<std::string>(argv + 1, argv + argc), console);
}
