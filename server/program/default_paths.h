// Where the daemon keeps things when it is not told. The client looks for the
// socket at the same place (client/address.h); a test compares the two.
#ifndef MEMPLAN_SERVER_PROGRAM_DEFAULT_PATHS_H_
#define MEMPLAN_SERVER_PROGRAM_DEFAULT_PATHS_H_

#include <string>
#include <utility>
#include <vector>

namespace memplan {

// What the settings depend on besides the command line.
struct UserEnvironment {
  bool is_root = false;
  std::string home;            // $HOME
  std::string state_folder;    // $XDG_STATE_HOME
  std::string runtime_folder;  // $XDG_RUNTIME_DIR
  // Names and values of the variables that begin as the daemon's settings do.
  std::vector<std::pair<std::string, std::string>> variables = {};
  // The file of settings that is read unless another is named; empty for none.
  std::string config_file = {};
};

// That of this process.
UserEnvironment ThisUser();

// The file memplan-server.toml, if it is there, of systemd's
// $CONFIGURATION_DIRECTORY and, without one, of /etc/memplan for root; else empty.
std::string DefaultConfigFile(bool is_root);

// $XDG_STATE_HOME/memplan; without it /var/lib/memplan for root and
// ~/.local/state/memplan for everybody else; empty without a home.
std::string DefaultStore(const UserEnvironment& user);

// /run/memplan/memplan.sock for root, $XDG_RUNTIME_DIR/memplan/memplan.sock for
// everybody else; empty without that variable.
std::string DefaultSocket(const UserEnvironment& user);

// memplan-worker beside this program.
std::string DefaultWorker();

}  // namespace memplan

#endif  // MEMPLAN_SERVER_PROGRAM_DEFAULT_PATHS_H_
