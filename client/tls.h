// What a client shows and trusts over TCP with TLS, as PEM texts read from files.
#ifndef MEMPLAN_CLIENT_TLS_H_
#define MEMPLAN_CLIENT_TLS_H_

#include <string>

#include "absl/status/statusor.h"

namespace memplan {

struct TlsPaths {
  std::string ca;           // whose daemons are trusted
  std::string certificate;  // this client's …
  std::string key;          // … and its key
};

struct TlsTexts {
  std::string ca;
  std::string certificate;
  std::string key;
};

// Reads the files; all texts are empty, for no TLS, if no path is given. Returns
// kInvalidArgument if some but not all are, else why a file cannot be read.
absl::StatusOr<TlsTexts> ReadTls(const TlsPaths& paths);

}  // namespace memplan

#endif  // MEMPLAN_CLIENT_TLS_H_
