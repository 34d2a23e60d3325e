#include "server/program/tls.h"

#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <cerrno>
#include <cstdio>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "planner/base/status_macros.h"

namespace memplan {
namespace {

template <auto kFree>
struct Freed {
  template <typename Object>
  void operator()(Object* object) const {
    (void)kFree(object);
  }
};
using File = std::unique_ptr<std::FILE, Freed<std::fclose>>;
using Certificate = std::unique_ptr<X509, Freed<X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;
using TimeText = std::unique_ptr<BIO, Freed<BIO_free_all>>;

absl::StatusOr<File> Open(const std::string& path, const char* flag) {
  File file(std::fopen(path.c_str(), "re"));
  if (file != nullptr) return file;
  return absl::ErrnoToStatus(
      errno, absl::StrCat("cannot read ", path,
                          "; let the daemon's user read it, or name another "
                          "file with ",
                          flag));
}

// All certificates of a file; at least one.
absl::StatusOr<std::vector<Certificate>> ReadCertificates(
    const std::string& path, const char* flag) {
  MEMPLAN_ASSIGN_OR_RETURN(const File file, Open(path, flag));
  std::vector<Certificate> certificates;
  while (X509* next = PEM_read_X509(file.get(), nullptr, nullptr, nullptr)) {
    certificates.emplace_back(next);
  }
  ERR_clear_error();
  if (!certificates.empty()) return certificates;
  return absl::InvalidArgumentError(absl::StrCat(
      path, " has no certificate in PEM; name a file that has with ", flag));
}

std::string TimeWords(const ASN1_TIME* time) {
  const TimeText text(BIO_new(BIO_s_mem()));
  if (text == nullptr || ASN1_TIME_print(text.get(), time) != 1) return "?";
  char* bytes = nullptr;
  const long count = BIO_get_mem_data(text.get(), &bytes);
  return std::string(bytes, static_cast<size_t>(count));
}

absl::Status CheckDates(const X509* certificate, const std::string& path) {
  const ASN1_TIME* begin = X509_get0_notBefore(certificate);
  const ASN1_TIME* end = X509_get0_notAfter(certificate);
  if (X509_cmp_current_time(end) < 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("the certificate in ", path, " expired on ",
                     TimeWords(end), "; replace it with a new one"));
  }
  if (X509_cmp_current_time(begin) > 0) {
    return absl::FailedPreconditionError(
        absl::StrCat("the certificate in ", path, " is valid only from ",
                     TimeWords(begin), " on; see that the clock is right"));
  }
  return absl::OkStatus();
}

// So that OpenSSL never asks at a terminal.
int NoPassphrase(char* /*buffer*/, int /*size*/, int /*writing*/,
                 void* /*unused*/) {
  return 0;
}

absl::Status CheckKey(const X509& certificate, const TlsFiles& files) {
  MEMPLAN_ASSIGN_OR_RETURN(const File file, Open(files.key, "--tls-key"));
  const Key key(
      PEM_read_PrivateKey(file.get(), nullptr, NoPassphrase, nullptr));
  ERR_clear_error();
  if (key == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat(files.key,
                     " has no private key in PEM without a passphrase; name a "
                     "file that has with --tls-key"));
  }
  const bool fits = X509_check_private_key(&certificate, key.get()) == 1;
  ERR_clear_error();
  if (fits) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "the key in ", files.key, " is not that of the certificate in ",
      files.certificate, "; name a pair with --tls-key and --tls-certificate"));
}

}  // namespace

absl::Status CheckTls(const TlsFiles& files) {
  MEMPLAN_ASSIGN_OR_RETURN(
      const std::vector<Certificate> chain,
      ReadCertificates(files.certificate, "--tls-certificate"));
  for (const Certificate& certificate : chain) {
    MEMPLAN_RETURN_IF_ERROR(CheckDates(certificate.get(), files.certificate));
  }
  MEMPLAN_RETURN_IF_ERROR(CheckKey(*chain.front(), files));
  MEMPLAN_ASSIGN_OR_RETURN(
      const std::vector<Certificate> authorities,
      ReadCertificates(files.client_ca, "--tls-client-ca"));
  absl::Status dates = absl::OkStatus();
  for (const Certificate& authority : authorities) {
    dates = CheckDates(authority.get(), files.client_ca);
    if (dates.ok()) break;
  }
  return dates;
}

std::shared_ptr<grpc::ServerCredentials> TlsCredentials(const TlsFiles& files) {
  const auto seconds = static_cast<unsigned int>(files.reload_interval.count());
  grpc::experimental::TlsServerCredentialsOptions options(
      std::make_shared<grpc::experimental::FileWatcherCertificateProvider>(
          files.key, files.certificate, files.client_ca, seconds));
  options.watch_root_certs();
  options.watch_identity_key_cert_pairs();
  options.set_cert_request_type(
      GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  return grpc::experimental::TlsServerCredentials(options);
}

}  // namespace memplan
