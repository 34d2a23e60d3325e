// TCP with certificates on both sides, made by openssl for each test.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "memplan/v1/server_service.grpc.pb.h"
#include "tests/server/api/server_program_fixture.h"

namespace memplan::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kKeyFlags[] =
    "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";

std::string ReadText(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

class TlsTest : public ServerProgramTest {
 protected:
  void SetUp() override {
    MakeAuthority("ours");
    MakeAuthority("theirs");
    MakePair("first", "ours");
    MakePair("client", "ours");
    MakePair("stranger", "theirs");
    std::filesystem::create_directory_symlink(dir_.Path("first"),
                                              dir_.Path("live"));
  }
  void OpenSsl(const std::string& arguments) const {
    const std::string command =
        absl::StrCat("openssl ", arguments, " >", dir_.Path("log"), " 2>&1");
    ASSERT_EQ(std::system(command.c_str()), 0) << command << "\n"
                                               << ReadText(dir_.Path("log"));
  }
  void MakeAuthority(const std::string& name) const {
    OpenSsl(absl::StrCat("req -x509 ", kKeyFlags, " -days 2 -subj /CN=", name,
                         " -keyout ", dir_.Path(name + ".key"), " -out ",
                         dir_.Path(name + ".pem")));
  }
  // A folder with cert.pem and key.pem, signed by the authority.
  void MakePair(const std::string& name, const std::string& authority,
                const std::string& days = "2") const {
    std::filesystem::create_directory(dir_.Path(name));
    std::ofstream(dir_.Path("names")) << "subjectAltName=IP:127.0.0.1\n";
    const std::string request = dir_.Path(name + "/request");
    OpenSsl(absl::StrCat("req -new ", kKeyFlags, " -subj /CN=", name,
                         " -keyout ", dir_.Path(name + "/key.pem"), " -out ",
                         request));
    OpenSsl(absl::StrCat("x509 -req -in ", request, " -CA ",
                         dir_.Path(authority + ".pem"), " -CAkey ",
                         dir_.Path(authority + ".key"), " -CAcreateserial ",
                         "-days ", days, " -extfile ", dir_.Path("names"),
                         " -out ", dir_.Path(name + "/cert.pem")));
  }
  // At once for key and certificate: the link to their folder is renamed.
  void Replace(const std::string& name) const {
    std::filesystem::create_directory_symlink(dir_.Path(name),
                                              dir_.Path("next"));
    std::filesystem::rename(dir_.Path("next"), dir_.Path("live"));
  }
  // Waits until GetServerStatus says so of TLS.
  void WaitForTls(bool healthy, const std::string& words) const {
    const auto stub = v1::ServerService::NewStub(SocketChannel());
    const auto deadline =
        std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (std::chrono::steady_clock::now() < deadline) {
      TestContext context;
      v1::GetServerStatusResponse response;
      EXPECT_THAT(stub->GetServerStatus(&context, {}, &response), IsRpcOk());
      for (const v1::PartStatus& part : response.status().parts()) {
        if (part.name() == "tls" && part.healthy() == healthy &&
            absl::StrContains(part.detail(), words)) {
          return;
        }
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    ADD_FAILURE() << "waited 30 s in vain for `" << words << "`";
  }
  std::vector<std::string> TlsArguments(const std::string& folder) const {
    return Arguments({"--tls-certificate", dir_.Path(folder + "/cert.pem"),
                      "--tls-key", dir_.Path(folder + "/key.pem"),
                      "--tls-client-ca", dir_.Path("ours.pem"),
                      "--tls-reload-interval", "1s"});
  }
  // A call over a connection of its own: as the owner of `pair`, of a daemon
  // that `authority` vouches for.
  grpc::Status Call(const std::string& address, const std::string& pair,
                    const std::string& authority, bool wait = false) const {
    grpc::SslCredentialsOptions options;
    options.pem_root_certs = ReadText(dir_.Path(authority + ".pem"));
    if (!pair.empty()) {
      options.pem_cert_chain = ReadText(dir_.Path(pair + "/cert.pem"));
      options.pem_private_key = ReadText(dir_.Path(pair + "/key.pem"));
    }
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
    arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 100);
    arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 100);
    const auto channel = grpc::CreateCustomChannel(
        address, grpc::SslCredentials(options), arguments);
    TestContext context;
    context.set_wait_for_ready(wait);
    v1::ListDevicesResponse response;
    return v1::DeviceService::NewStub(channel)->ListDevices(&context, {},
                                                            &response);
  }
  // What a program that does not start says.
  std::string WordsWith(const std::vector<std::string>& arguments) const {
    ServerProcess server(arguments);
    std::string words = server.WaitForWords();
    EXPECT_EQ(server.WaitForExit(), 2);
    return words;
  }
};

TEST_F(TlsTest, LetsInClientsOfItsAuthorityAlone) {
  ServerProcess server(TlsArguments("first"));
  const std::string address = ValueIn(server.WaitUntilReady(), "tcp");
  EXPECT_THAT(Call(address, "client", "ours"), IsRpcOk());
  const auto unavailable = grpc::StatusCode::UNAVAILABLE;
  EXPECT_EQ(Call(address, "", "ours").error_code(), unavailable);
  EXPECT_EQ(Call(address, "stranger", "ours").error_code(), unavailable);
  EXPECT_EQ(Call(address, "client", "theirs").error_code(), unavailable);
  TestContext context;
  v1::ListDevicesResponse response;
  EXPECT_EQ(v1::DeviceService::NewStub(Channel(address))
                ->ListDevices(&context, {}, &response)
                .error_code(),
            unavailable);
  // The unix socket needs no certificate.
  EXPECT_THAT(ListDevices(SocketChannel()), IsRpcOk());
}

TEST_F(TlsTest, ServesANewCertificateWithoutARestart) {
  ServerProcess server(TlsArguments("live"));
  const std::string address = ValueIn(server.WaitUntilReady(), "tcp");
  EXPECT_THAT(Call(address, "client", "ours"), IsRpcOk());
  EXPECT_FALSE(Call(address, "client", "theirs").ok());
  Replace("stranger");
  EXPECT_THAT(Call(address, "client", "theirs", /*wait=*/true), IsRpcOk());
  EXPECT_FALSE(Call(address, "client", "ours").ok());
}

TEST_F(TlsTest, KeepsTheCertificateUntilOneComesThatCanServe) {
  MakePair("old", "ours", "-1");
  MakePair("mixed", "ours");
  std::filesystem::copy_file(dir_.Path("first/key.pem"),
                             dir_.Path("mixed/key.pem"),
                             std::filesystem::copy_options::overwrite_existing);
  ServerProcess server(TlsArguments("live"));
  const std::string address = ValueIn(server.WaitUntilReady(), "tcp");
  WaitForTls(true, "the certificate expires on 20");

  Replace("mixed");
  WaitForTls(false, "is not that of the certificate");
  EXPECT_THAT(Call(address, "client", "ours"), IsRpcOk());
  Replace("old");
  WaitForTls(false, "expired on");
  EXPECT_THAT(Call(address, "client", "ours"), IsRpcOk());
  Replace("stranger");
  WaitForTls(true, "expires on");
  EXPECT_THAT(Call(address, "client", "theirs"), IsRpcOk());

  server.Signal(SIGTERM);
  const std::string words = server.WaitForWords();
  size_t errors = 0;
  for (size_t at = 0; (at = words.find("TLS: the ", at)) != std::string::npos;
       ++at) {
    ++errors;
  }
  EXPECT_EQ(errors, 2U) << words;
}

TEST_F(TlsTest, TheCommandLineShowsItsCertificate) {
  ServerProcess server(TlsArguments("first"));
  const std::string address = ValueIn(server.WaitUntilReady(), "tcp");
  const auto run = [&](const std::string& pair) {
    const std::string command = absl::StrCat(
        MEMPLAN_PROGRAM " devices --address ", address, " --tls-ca ",
        dir_.Path("ours.pem"), " --tls-key ", dir_.Path(pair + "/key.pem"),
        " --tls-certificate ", dir_.Path(pair + "/cert.pem"), " >",
        dir_.Path("log"), " 2>&1");
    return WEXITSTATUS(std::system(command.c_str()));
  };
  EXPECT_EQ(run("client"), 0) << ReadText(dir_.Path("log"));
  EXPECT_THAT(ReadText(dir_.Path("log")), HasSubstr("cpu"));
  EXPECT_EQ(run("stranger"), 5) << ReadText(dir_.Path("log"));
  EXPECT_EQ(run("none"), 1) << ReadText(dir_.Path("log"));
}

TEST_F(TlsTest, IsNeededBeyondLoopback) {
  EXPECT_THAT(WordsWith(Arguments({"--listen", "0.0.0.0:0"})),
              AllOf(HasSubstr("only loopback"), HasSubstr("--tls-certificate"),
                    HasSubstr("--insecure")));
  std::vector<std::string> arguments = TlsArguments("first");
  arguments.insert(arguments.end(), {"--listen", "0.0.0.0:0"});
  EXPECT_THAT(ServerProcess(arguments).WaitUntilReady(), StartsWith("ready"));
  ServerProcess insecure(Arguments({"--listen", "0.0.0.0:0", "--insecure"}));
  EXPECT_THAT(insecure.WaitUntilReady(), StartsWith("ready"));
}

TEST_F(TlsTest, RefusesFilesThatCannotServe) {
  MakePair("old", "ours", "-1");
  EXPECT_THAT(
      WordsWith(TlsArguments("old")),
      AllOf(HasSubstr("old/cert.pem expired on"), HasSubstr("replace it")));
  std::filesystem::copy(dir_.Path("client/key.pem"),
                        dir_.Path("first/other.pem"));
  std::vector<std::string> arguments = TlsArguments("first");
  arguments.insert(arguments.end(),
                   {"--tls-key", dir_.Path("first/other.pem")});
  EXPECT_THAT(WordsWith(arguments),
              HasSubstr("is not that of the certificate"));
  arguments = TlsArguments("none");
  EXPECT_THAT(WordsWith(arguments),
              HasSubstr("cannot read " + dir_.Path("none")));
  arguments = TlsArguments("first");
  arguments.insert(arguments.end(), {"--tls-client-ca", dir_.Path("log")});
  EXPECT_THAT(WordsWith(arguments), HasSubstr("has no certificate in PEM"));
  EXPECT_THAT(WordsWith(Arguments({"--tls-key", dir_.Path("first/key.pem")})),
              HasSubstr("go together"));
}

}  // namespace
}  // namespace memplan::testing
