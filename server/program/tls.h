// What encrypted TCP needs, whose clients show a certificate as well (mTLS): three
// files, and whether a daemon can serve with them.
#ifndef MEMPLAN_SERVER_PROGRAM_TLS_H_
#define MEMPLAN_SERVER_PROGRAM_TLS_H_

#include <chrono>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace memplan {

// Paths of PEM files; all or none.
struct TlsFiles {
  std::string certificate;  // the daemon's, then those between it and its CA
  std::string key;
  std::string client_ca;  // whose clients are let in
  std::chrono::seconds reload_interval{10};

  bool given() const { return !certificate.empty(); }
};

// The contents of the files.
struct TlsTexts {
  std::string certificate;
  std::string key;
  std::string client_ca;

  bool operator==(const TlsTexts&) const = default;
};

// Errors name the file, with what to do [disk].
absl::StatusOr<TlsTexts> ReadTls(const TlsFiles& files);

// When the certificate, or the first one between it and its CA, expires; an error
// unless the key is the certificate's, and the certificate and at least one CA are
// valid now. Errors name the one of `files` at fault, with what to do.
absl::StatusOr<std::chrono::system_clock::time_point> CheckTls(
    const TlsTexts& texts, const TlsFiles& files);

// In UTC, for people.
std::string DateWords(std::chrono::system_clock::time_point time);

}  // namespace memplan

#endif  // MEMPLAN_SERVER_PROGRAM_TLS_H_
