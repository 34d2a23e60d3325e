#include "server/program/live_certificate.h"

#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <spdlog/spdlog.h>

#include <atomic>
#include <utility>

#include "planner/base/status_macros.h"

namespace memplan {
namespace {

// gRPC asks it at each handshake what to serve with from now on.
class LiveCredentials : public grpc::ServerCredentials {
 public:
  explicit LiveCredentials(const LiveCertificate& certificate)
      : certificate_(certificate) {}

  void SetAuthMetadataProcessor(
      const std::shared_ptr<grpc::AuthMetadataProcessor>& /*none*/) override {}

 private:
  int AddPortToServer(const std::string& address,
                      grpc_server* server) override {
    grpc_server_credentials* credentials =
        grpc_ssl_server_credentials_create_with_options(
            grpc_ssl_server_credentials_create_options_using_config_fetcher(
                GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY,
                &LiveCredentials::Fetch, this));
    const int port =
        grpc_server_add_http2_port(server, address.c_str(), credentials);
    grpc_server_credentials_release(credentials);
    return port;
  }

  static grpc_ssl_certificate_config_reload_status Fetch(
      void* self, grpc_ssl_server_certificate_config** config) {
    return static_cast<LiveCredentials*>(self)->FetchInto(*config);
  }

  grpc_ssl_certificate_config_reload_status FetchInto(
      grpc_ssl_server_certificate_config*& config) {
    if (certificate_.LatestVersion() == fetched_version_) {
      return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_UNCHANGED;
    }
    const LiveCertificate::Served latest = certificate_.Latest();
    const grpc_ssl_pem_key_cert_pair pair = {latest.texts.key.c_str(),
                                             latest.texts.certificate.c_str()};
    config = grpc_ssl_server_certificate_config_create(
        latest.texts.client_ca.c_str(), &pair, 1);
    fetched_version_ = latest.version;
    return GRPC_SSL_CERTIFICATE_CONFIG_RELOAD_NEW;
  }

  const LiveCertificate& certificate_;
  std::atomic<int> fetched_version_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<LiveCertificate>> LiveCertificate::Load(
    TlsFiles files) {
  MEMPLAN_ASSIGN_OR_RETURN(TlsTexts texts, ReadTls(files));
  MEMPLAN_ASSIGN_OR_RETURN(const auto expiry, CheckTls(texts, files));
  return std::unique_ptr<LiveCertificate>(
      new LiveCertificate(std::move(files), std::move(texts), expiry));
}

LiveCertificate::LiveCertificate(TlsFiles files, TlsTexts texts,
                                 std::chrono::system_clock::time_point expiry)
    : files_(std::move(files)) {
  served_.texts = std::move(texts);
  status_.expiry = expiry;
}

std::shared_ptr<grpc::ServerCredentials> LiveCertificate::Credentials() {
  return std::make_shared<LiveCredentials>(*this);
}

void LiveCertificate::Look() {
  absl::StatusOr<TlsTexts> read = ReadTls(files_);
  const absl::StatusOr<std::chrono::system_clock::time_point> expiry =
      read.ok() ? CheckTls(*read, files_) : read.status();
  TlsTexts texts = read.ok() ? *std::move(read) : TlsTexts();
  const std::lock_guard lock(mutex_);
  if (expiry.ok()) {
    Take(std::move(texts), *expiry);
  } else {
    Refuse(std::move(texts), std::string(expiry.status().message()));
  }
}

void LiveCertificate::Take(TlsTexts texts,
                           std::chrono::system_clock::time_point expiry) {
  const bool is_new = !(texts == served_.texts);
  if (is_new || !status_.failure.empty()) {
    spdlog::info(
        "TLS: new connections get the {} certificate, which expires "
        "on {}",
        is_new ? "new" : "same", DateWords(expiry));
  }
  status_.failure.clear();
  refused_ = {};
  if (!is_new) return;
  served_.texts = std::move(texts);
  ++served_.version;
  status_.expiry = expiry;
}

void LiveCertificate::Refuse(TlsTexts texts, std::string failure) {
  if (failure == status_.failure && texts == refused_) return;
  spdlog::error(
      "TLS: {}; until then new connections get the certificate from before, "
      "which expires on {}",
      failure, DateWords(status_.expiry));
  ++status_.failures;
  status_.failure = std::move(failure);
  refused_ = std::move(texts);
}

TlsStatus LiveCertificate::Status() const {
  const std::lock_guard lock(mutex_);
  return status_;
}

LiveCertificate::Served LiveCertificate::Latest() const {
  const std::lock_guard lock(mutex_);
  return served_;
}

int LiveCertificate::LatestVersion() const {
  const std::lock_guard lock(mutex_);
  return served_.version;
}

}  // namespace memplan
