#include "server/program/tls.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <fstream>
#include <memory>
#include <sstream>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
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
using PemBytes = std::unique_ptr<BIO, Freed<BIO_free_all>>;
using Certificate = std::unique_ptr<X509, Freed<X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY_free>>;
using Time = std::chrono::system_clock::time_point;

absl::StatusOr<std::string> ReadText(const std::string& path,
                                     const char* flag) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (file.is_open()) text << file.rdbuf();
  if (file.is_open() && !file.bad()) return text.str();
  return absl::ErrnoToStatus(
      errno == 0 ? EIO : errno,
      absl::StrCat(
          "cannot read ", path,
          "; let the daemon's user read it, or name another file with ", flag));
}

// For reading; must not outlive `text`.
PemBytes BytesOf(const std::string& text) {
  return PemBytes(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

// All certificates of a file's text; at least one.
absl::StatusOr<std::vector<Certificate>> CertificatesIn(const std::string& text,
                                                        const std::string& path,
                                                        const char* flag) {
  const PemBytes bytes = BytesOf(text);
  std::vector<Certificate> certificates;
  while (X509* next =
             PEM_read_bio_X509(bytes.get(), nullptr, nullptr, nullptr)) {
    certificates.emplace_back(next);
  }
  ERR_clear_error();
  if (!certificates.empty()) return certificates;
  return absl::InvalidArgumentError(absl::StrCat(
      path, " has no certificate in PEM; name a file that has with ", flag));
}

std::string TimeWords(const ASN1_TIME* time) {
  const PemBytes text(BIO_new(BIO_s_mem()));
  if (text == nullptr || ASN1_TIME_print(text.get(), time) != 1) return "?";
  char* bytes = nullptr;
  const long count = BIO_get_mem_data(text.get(), &bytes);
  return std::string(bytes, static_cast<size_t>(count));
}

// Its end, or an error unless it is valid now.
absl::StatusOr<Time> CheckDates(const X509* certificate,
                                const std::string& path) {
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
  std::tm calendar{};
  if (ASN1_TIME_to_tm(end, &calendar) != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("the certificate in ", path,
                     " has an end that cannot be read; replace it"));
  }
  return std::chrono::system_clock::from_time_t(timegm(&calendar));
}

// So that OpenSSL never asks at a terminal.
int NoPassphrase(char* /*buffer*/, int /*size*/, int /*writing*/,
                 void* /*unused*/) {
  return 0;
}

absl::Status CheckKey(const X509& certificate, const std::string& text,
                      const TlsFiles& files) {
  const PemBytes bytes = BytesOf(text);
  const Key key(
      PEM_read_bio_PrivateKey(bytes.get(), nullptr, NoPassphrase, nullptr));
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

absl::StatusOr<TlsTexts> ReadTls(const TlsFiles& files) {
  TlsTexts texts;
  MEMPLAN_ASSIGN_OR_RETURN(texts.certificate,
                           ReadText(files.certificate, "--tls-certificate"));
  MEMPLAN_ASSIGN_OR_RETURN(texts.key, ReadText(files.key, "--tls-key"));
  MEMPLAN_ASSIGN_OR_RETURN(texts.client_ca,
                           ReadText(files.client_ca, "--tls-client-ca"));
  return texts;
}

absl::StatusOr<Time> CheckTls(const TlsTexts& texts, const TlsFiles& files) {
  MEMPLAN_ASSIGN_OR_RETURN(const std::vector<Certificate> chain,
                           CertificatesIn(texts.certificate, files.certificate,
                                          "--tls-certificate"));
  Time first_end = Time::max();
  for (const Certificate& certificate : chain) {
    MEMPLAN_ASSIGN_OR_RETURN(const Time end,
                             CheckDates(certificate.get(), files.certificate));
    first_end = std::min(first_end, end);
  }
  MEMPLAN_RETURN_IF_ERROR(CheckKey(*chain.front(), texts.key, files));
  MEMPLAN_ASSIGN_OR_RETURN(
      const std::vector<Certificate> authorities,
      CertificatesIn(texts.client_ca, files.client_ca, "--tls-client-ca"));
  absl::Status dates;
  for (const Certificate& authority : authorities) {
    dates = CheckDates(authority.get(), files.client_ca).status();
    if (dates.ok()) return first_end;
  }
  return dates;
}

std::string DateWords(Time time) {
  return absl::FormatTime("%Y-%m-%d %H:%M:%SZ", absl::FromChrono(time),
                          absl::UTCTimeZone());
}

}  // namespace memplan
