#include "client/tls.h"

#include <cerrno>
#include <fstream>
#include <sstream>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "planner/base/status_macros.h"

namespace memplan {
namespace {

absl::StatusOr<std::string> ReadPem(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (file) text << file.rdbuf();
  if (!file) {
    return absl::ErrnoToStatus(errno == 0 ? EIO : errno,
                               absl::StrCat("cannot read ", path));
  }
  if (!absl::StrContains(text.str(), "-----BEGIN ")) {
    return absl::InvalidArgumentError(absl::StrCat(path, " is no PEM file"));
  }
  return text.str();
}

}  // namespace

absl::StatusOr<TlsTexts> ReadTls(const TlsPaths& paths) {
  TlsTexts texts;
  if (paths.ca.empty() && paths.certificate.empty() && paths.key.empty()) {
    return texts;
  }
  if (paths.ca.empty() || paths.certificate.empty() || paths.key.empty()) {
    return absl::InvalidArgumentError(
        "--tls-ca, --tls-certificate and --tls-key go together: give all "
        "three (or MEMPLAN_TLS_CA, MEMPLAN_TLS_CERTIFICATE, MEMPLAN_TLS_KEY)");
  }
  MEMPLAN_ASSIGN_OR_RETURN(texts.ca, ReadPem(paths.ca));
  MEMPLAN_ASSIGN_OR_RETURN(texts.certificate, ReadPem(paths.certificate));
  MEMPLAN_ASSIGN_OR_RETURN(texts.key, ReadPem(paths.key));
  return texts;
}

}  // namespace memplan
