// The certificate of encrypted TCP, kept fresh with no restart: its files are looked
// at again and again, and what they have goes to new connections if it can serve.
// gRPC's own watcher takes whatever it finds, and after a pair that does not fit
// lets nobody in.
//
// Whoever replaces the files replaces key and certificate at once, by renaming the
// folder or a link to it.
#ifndef MEMPLAN_SERVER_PROGRAM_LIVE_CERTIFICATE_H_
#define MEMPLAN_SERVER_PROGRAM_LIVE_CERTIFICATE_H_

#include <grpcpp/security/server_credentials.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <string>

#include "absl/status/statusor.h"
#include "server/base/tls_status.h"
#include "server/program/tls.h"

namespace memplan {

// Thread-safe.
class LiveCertificate {
 public:
  // What is served, and a number that no other has.
  struct Served {
    TlsTexts texts;
    int version = 1;
  };

  // Of files that can serve now; an error says what to do [disk].
  static absl::StatusOr<std::unique_ptr<LiveCertificate>> Load(TlsFiles files);
  LiveCertificate(const LiveCertificate&) = delete;
  LiveCertificate& operator=(const LiveCertificate&) = delete;

  // For one port, which serves TLS to clients with a certificate of `client_ca`
  // alone. Must outlive the port's server, as this must.
  std::shared_ptr<grpc::ServerCredentials> Credentials();

  // Looks at the files [disk]. Logs what has changed: a new certificate, or, as an
  // error, that what is there now cannot serve and the one before goes on.
  void Look();

  TlsStatus Status() const;

  // For new connections; the version alone costs no copy.
  Served Latest() const;
  int LatestVersion() const;

 private:
  LiveCertificate(TlsFiles files, TlsTexts texts,
                  std::chrono::system_clock::time_point expiry);

  // With mutex_ held.
  void Take(TlsTexts texts, std::chrono::system_clock::time_point expiry);
  void Refuse(TlsTexts texts, std::string failure);

  const TlsFiles files_;
  mutable std::mutex mutex_;
  Served served_;     // under mutex_
  TlsStatus status_;  // under mutex_
  TlsTexts refused_;  // under mutex_: what the failure is about
};

}  // namespace memplan

#endif  // MEMPLAN_SERVER_PROGRAM_LIVE_CERTIFICATE_H_
