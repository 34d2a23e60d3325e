// A bare TCP connection to a server on this machine, for tests of what clients may
// do that no library of ours does.
#ifndef MEMPLAN_TESTS_SUPPORT_LOOPBACK_CLIENT_H_
#define MEMPLAN_TESTS_SUPPORT_LOOPBACK_CLIENT_H_

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <string>

#include "server/base/descriptor.h"

namespace memplan::testing {

// Connected to `port` of 127.0.0.1; the test fails if that cannot be.
inline Descriptor ConnectToLoopback(int port) {
  Descriptor client(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!client.is_open()) {
    ADD_FAILURE() << "no socket";
    return client;
  }
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<uint16_t>(port));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(connect(client.get(), reinterpret_cast<sockaddr*>(&to), sizeof(to)),
            0);
  return client;
}

// The port of `HOST:PORT`.
inline int PortOf(const std::string& address) {
  return std::stoi(address.substr(address.rfind(':') + 1));
}

}  // namespace memplan::testing

#endif  // MEMPLAN_TESTS_SUPPORT_LOOPBACK_CLIENT_H_
