// Each forbidden thing is tried for real, in a child that has shut itself in.
#include "cuda/worker/sandbox/sandbox.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <string>
#include <thread>

#include "cuda/worker/sandbox/landlock.h"
#include "tests/support/temp_dir.h"

namespace memplan::gpu {
namespace {

using ::memplan::testing::TempDir;

constexpr int kNotHeld = 100;  // the child's exit code: no sandbox to try

// errno of what was refused, 0 if it was allowed.
int ErrorOf(long result) { return result < 0 ? errno : 0; }

int OpenError(const std::string& path, int flags) {
  return ErrorOf(open(path.c_str(), flags | O_CLOEXEC, 0600));
}

class SandboxTest : public ::testing::Test {
 protected:
  SandboxTest() {
    for (const char* folder : {"/models", "/scratch"}) {
      mkdir((folder_.path() + folder).c_str(), 0700);
    }
    std::ofstream(model()) << "the model";
    std::ofstream(other_model()) << "another";
    subject_.model_path = model();
    subject_.scratch_path = scratch();
  }

  // What `attempt` returns in a child in the sandbox.
  int InSandbox(const std::function<int()>& attempt,
                const Allowances& allowances = {}) {
    const pid_t child = fork();
    if (child == 0) {
      const auto layers = EnterSandbox(subject_, allowances);
      _exit(CoreLayersMissing(layers).empty() ? attempt() : kNotHeld);
    }
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    if (!WIFEXITED(status)) return -WTERMSIG(status);
    return WEXITSTATUS(status);
  }

  // Skips where the kernel has no such sandbox.
  void SetUp() override {
    if (InSandbox([] { return 0; }) == kNotHeld) {
      GTEST_SKIP() << "this kernel has no Landlock or no seccomp";
    }
  }

  std::string model() const { return folder_.path() + "/models/ab"; }
  std::string other_model() const { return folder_.path() + "/models/cd"; }
  std::string scratch() const { return folder_.path() + "/scratch"; }

  TempDir folder_;
  SandboxSubject subject_;
};

TEST_F(SandboxTest, LetsTheModelBeReadAndNoOther) {
  EXPECT_EQ(InSandbox([&] { return OpenError(model(), O_RDONLY); }), 0);
  EXPECT_EQ(InSandbox([&] { return OpenError(model(), O_WRONLY); }), EACCES);
  EXPECT_EQ(InSandbox([&] { return OpenError(other_model(), O_RDONLY); }),
            EACCES);
  EXPECT_EQ(InSandbox([] { return OpenError("/etc/passwd", O_RDONLY); }),
            EACCES);
}

TEST_F(SandboxTest, LetsItsOwnFolderBeWrittenAndNoOther) {
  const auto create = [](const std::string& path) {
    return OpenError(path, O_WRONLY | O_CREAT | O_TRUNC);
  };
  EXPECT_EQ(InSandbox([&] { return create(scratch() + "/new"); }), 0);
  EXPECT_EQ(
      InSandbox([&] { return ErrorOf(unlink((scratch() + "/new").c_str())); }),
      0);
  EXPECT_EQ(InSandbox([&] { return create(folder_.path() + "/new"); }), EACCES);
  EXPECT_EQ(InSandbox([&] { return ErrorOf(unlink(model().c_str())); }),
            EACCES);
  EXPECT_EQ(InSandbox([&] { return ErrorOf(truncate(model().c_str(), 0)); }),
            EACCES);
}

TEST_F(SandboxTest, HidesOtherProcesses) {
  const std::string parent = "/proc/" + std::to_string(getpid());
  for (const char* file : {"/environ", "/mem", "/cmdline", "/status"}) {
    EXPECT_EQ(InSandbox([&] { return OpenError(parent + file, O_RDONLY); }),
              EACCES)
        << file;
  }
  EXPECT_EQ(InSandbox([] { return OpenError("/proc/self/status", O_RDONLY); }),
            0);
  EXPECT_EQ(InSandbox([] { return OpenError("/proc/self/comm", O_RDWR); }), 0);
}

TEST_F(SandboxTest, LeavesOtherProcessesAlone) {
  const pid_t parent = getpid();
  EXPECT_EQ(InSandbox([=] { return ErrorOf(kill(parent, 0)); }), EPERM);
  EXPECT_EQ(InSandbox([] { return ErrorOf(kill(getpid(), 0)); }), 0);
  EXPECT_EQ(InSandbox([=] {
              return ErrorOf(ptrace(PTRACE_SEIZE, parent, nullptr, nullptr));
            }),
            EPERM);
  EXPECT_EQ(InSandbox([=] {
              char byte = 0;
              iovec local = {&byte, 1};
              return ErrorOf(process_vm_readv(parent, &local, 1, &local, 1, 0));
            }),
            EPERM);
  EXPECT_EQ(InSandbox([=] {
              rlimit limit{};
              return ErrorOf(prlimit(parent, RLIMIT_NOFILE, nullptr, &limit));
            }),
            EPERM);
  EXPECT_EQ(InSandbox([=] {
              return ErrorOf(
                  setpriority(PRIO_PROCESS, static_cast<id_t>(parent), 19));
            }),
            EPERM);
}

TEST_F(SandboxTest, ReachesNoNetwork) {
  for (const int family : {AF_INET, AF_INET6, AF_NETLINK}) {
    EXPECT_EQ(InSandbox([=] { return ErrorOf(socket(family, SOCK_DGRAM, 0)); }),
              EPERM);
  }
}

// CUDA's driver binds one and ends with its error 304 if it cannot.
TEST_F(SandboxTest, LetsUnixSocketsBeBoundAndNotConnected) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, (scratch() + "/s").c_str(),
               sizeof(address.sun_path) - 1);
  const auto* where = reinterpret_cast<const sockaddr*>(&address);
  const auto with = [&](auto call) {
    return InSandbox([&] {
      const int one = socket(AF_UNIX, SOCK_STREAM, 0);
      return one < 0 ? errno : ErrorOf(call(one, where, sizeof(address)));
    });
  };
  EXPECT_EQ(with([](auto... all) { return bind(all...); }), 0);
  EXPECT_EQ(with([](auto... all) { return connect(all...); }), EPERM);
}

TEST_F(SandboxTest, StartsNoProgramAndNoProcess) {
  EXPECT_EQ(InSandbox([] {
              char* const nothing[] = {nullptr};
              return ErrorOf(execve("/bin/true", nothing, nothing));
            }),
            EPERM);
  EXPECT_EQ(InSandbox([] { return ErrorOf(fork()); }), EPERM);
  EXPECT_EQ(InSandbox([] { return ErrorOf(syscall(SYS_vfork)); }), EPERM);
  EXPECT_EQ(
      InSandbox([] {
        clone_args arguments{};
        arguments.exit_signal = SIGCHLD;
        return ErrorOf(syscall(SYS_clone3, &arguments, sizeof(arguments)));
      }),
      ENOSYS);
}

TEST_F(SandboxTest, StartsThreads) {
  EXPECT_EQ(InSandbox([] {
              int answer = 1;
              std::thread([&answer] { answer = 0; }).join();
              return answer;
            }),
            0);
}

TEST_F(SandboxTest, HoldsTheThreadsStartedLater) {
  EXPECT_EQ(
      InSandbox([] {
        int error = 0;
        std::thread([&] { error = OpenError("/etc/passwd", O_RDONLY); }).join();
        return error;
      }),
      EACCES);
}

TEST_F(SandboxTest, ChangesNoModesAndNoViewOfFiles) {
  EXPECT_EQ(InSandbox([&] { return ErrorOf(chmod(model().c_str(), 0777)); }),
            EPERM);
  EXPECT_EQ(InSandbox([] { return ErrorOf(unshare(CLONE_NEWUSER)); }), EPERM);
  EXPECT_EQ(InSandbox([] {
              // Were it let through, it would end in the new root.
              return ErrorOf(chroot("/") != 0 ? -1 : chdir("/"));
            }),
            EPERM);
}

TEST_F(SandboxTest, CutsFilesNotLives) {
  EXPECT_EQ(InSandbox([&] {
              const int file = open((scratch() + "/big").c_str(),
                                    O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
              return file < 0 ? errno
                              : ErrorOf(ftruncate(file, int64_t{2} << 30));
            }),
            EFBIG);
}

TEST_F(SandboxTest, LeavesOutWhatIsAllowed) {
  EXPECT_EQ(InSandbox([] { return ErrorOf(socket(AF_INET, SOCK_DGRAM, 0)); },
                      {"network"}),
            0);
  EXPECT_EQ(InSandbox([] { return OpenError("/proc/1/cmdline", O_RDONLY); },
                      {"proc"}),
            0);
}

// The others would stay outside: that is told, not passed over.
TEST_F(SandboxTest, TellsThatAnotherThreadRunsAlready) {
  const pid_t child = fork();
  if (child == 0) {
    std::thread([] { pause(); }).detach();
    const auto layers = EnterSandbox(subject_, {});
    const auto missing = CoreLayersMissing(layers);
    const bool told = missing.size() == 1 &&
                      missing[0].find("2 threads run") != std::string::npos;
    _exit(told ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
}

TEST(SandboxLayersTest, CoreLayersThatAreNotInForceAreNamed) {
  EXPECT_THAT(
      CoreLayersMissing({{"no_new_privileges", LayerState::kInForce, ""},
                         {"landlock", LayerState::kMissing, "no Landlock"},
                         {"resource_limits", LayerState::kMissing, "x"}}),
      ::testing::ElementsAre("landlock: no Landlock", "seccomp: not told"));
}

}  // namespace
}  // namespace memplan::gpu
