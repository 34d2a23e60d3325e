// Encrypted TCP whose clients show a certificate as well (mTLS). The files are
// looked at again and again: new connections get what is there, with no restart.
// Whoever replaces them replaces key and certificate at once, by renaming the
// folder or a link to it.
#ifndef MEMPLAN_SERVER_PROGRAM_TLS_H_
#define MEMPLAN_SERVER_PROGRAM_TLS_H_

#include <grpcpp/security/server_credentials.h>

#include <chrono>
#include <memory>
#include <string>

#include "absl/status/status.h"

namespace memplan {

// Paths of PEM files; all or none.
struct TlsFiles {
  std::string certificate;  // the daemon's, then those between it and its CA
  std::string key;
  std::string client_ca;  // whose clients are let in
  std::chrono::seconds reload_interval{10};

  bool given() const { return !certificate.empty(); }
};

// OK if the files can be read, the key is the certificate's, and the certificate
// and at least one CA are valid now. Errors name the file, with what to do.
absl::Status CheckTls(const TlsFiles& files);

// For a port that serves TLS to clients with a certificate of `client_ca` alone.
std::shared_ptr<grpc::ServerCredentials> TlsCredentials(const TlsFiles& files);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_PROGRAM_TLS_H_
