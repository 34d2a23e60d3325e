// A stranger's program: succeeds if a client can be made from what is installed,
// and says that no daemon is there.
#include "client/client.h"

int main() {
  memplan::ClientOptions options;
  options.address = {.target = "unix:/nonexistent/memplan.sock",
                     .socket_path = "/nonexistent/memplan.sock"};
  memplan::Client client(options);
  return client.ListDevices().ok() ? 1 : 0;
}
