#include "server/workers/child_process.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <fstream>

#include "tests/server/core/memory_file.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"

namespace memplan {
namespace {

using ::memplan::testing::IsOk;
using ::memplan::testing::MemoryFile;
using ::memplan::testing::StatusIs;
using ::memplan::testing::TempDir;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Optional;

std::chrono::steady_clock::time_point Later() {
  return std::chrono::steady_clock::now() + std::chrono::seconds(30);
}

class ChildProcessTest : public ::testing::Test {
 protected:
  // An executable shell script.
  std::string Script(const std::string& text) {
    const std::string path = temp_.Path("script");
    std::ofstream(path) << "#!/bin/sh\n" << text << "\n";
    chmod(path.c_str(), 0700);
    return path;
  }
  // Starts `program` with its output in `output_` and `more` from 3 on.
  std::unique_ptr<ChildProcess> Start(const std::string& program,
                                      const std::vector<int>& more = {}) {
    ChildCommand command{program, {"PATH=/usr/bin:/bin", "A=b"}, {}};
    command.descriptors = {nothing_.get(), output_.get(), output_.get()};
    command.descriptors.insert(command.descriptors.end(), more.begin(),
                               more.end());
    auto child = ChildProcess::Start(command);
    EXPECT_THAT(child, IsOk());
    return *std::move(child);
  }
  std::string Output() {
    std::string text(4096, '\0');
    const ssize_t count = pread(output_.get(), text.data(), text.size(), 0);
    text.resize(static_cast<size_t>(std::max<ssize_t>(count, 0)));
    return text;
  }
  // Runs a script to its end and gives what it printed.
  std::string OutputOf(const std::string& script,
                       const std::vector<int>& more = {}) {
    EXPECT_THAT(Start(Script(script), more)->WaitUntil(Later()),
                Optional(ChildEnd{false, 0}));
    return Output();
  }

  TempDir temp_;
  Descriptor nothing_{open("/dev/null", O_RDONLY | O_CLOEXEC)};
  Descriptor output_ = MemoryFile("");
};

TEST_F(ChildProcessTest, TellsTheExitCode) {
  EXPECT_THAT(Start(Script("exit 3"))->WaitUntil(Later()),
              Optional(ChildEnd{false, 3}));
}

TEST_F(ChildProcessTest, TellsTheSignalThatEndedIt) {
  EXPECT_THAT(Start(Script("kill -SEGV $$"))->WaitUntil(Later()),
              Optional(ChildEnd{true, SIGSEGV}));
}

TEST_F(ChildProcessTest, TellsTheSameEndAgain) {
  const auto child = Start(Script("exit 3"));
  EXPECT_THAT(child->WaitUntil(Later()), Optional(ChildEnd{false, 3}));
  EXPECT_THAT(child->WaitUntil(Later()), Optional(ChildEnd{false, 3}));
  EXPECT_EQ(child->Kill(), (ChildEnd{false, 3}));
}

TEST_F(ChildProcessTest, SaysThatAProgramCannotBeStarted) {
  const auto start = [](const std::string& program) {
    return ChildProcess::Start({program, {}, {}}).status();
  };
  EXPECT_THAT(start(temp_.Path("missing")),
              StatusIs(absl::StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr(temp_.Path("missing")),
                             HasSubstr("No such file"))));
  const std::string script = Script("exit 0");
  chmod(script.c_str(), 0600);
  EXPECT_THAT(start(script), StatusIs(absl::StatusCode::kFailedPrecondition,
                                      HasSubstr("Permission denied")));
  std::ofstream(temp_.Path("garbage")) << "\x01garbage";
  chmod(temp_.Path("garbage").c_str(), 0700);
  EXPECT_THAT(start(temp_.Path("garbage")),
              StatusIs(absl::StatusCode::kFailedPrecondition));
}

TEST_F(ChildProcessTest, HasTheGivenEnvironmentAlone) {
  ASSERT_THAT(Start("/usr/bin/env")->WaitUntil(Later()),
              Optional(ChildEnd{false, 0}));
  EXPECT_EQ(Output(), "PATH=/usr/bin:/bin\nA=b\n");
}

TEST_F(ChildProcessTest, HasTheGivenDescriptorsWhateverTheirNumbersWere) {
  // The ones that the child has as 3 and 4 are 4 and 3 here.
  Descriptor first = MemoryFile("first ");
  Descriptor second = MemoryFile("second");
  lseek(first.get(), 0, SEEK_SET);
  lseek(second.get(), 0, SEEK_SET);
  const Descriptor spare_3(fcntl(3, F_DUPFD_CLOEXEC, 100));
  const Descriptor spare_4(fcntl(4, F_DUPFD_CLOEXEC, 100));
  const Descriptor copy_1(fcntl(first.get(), F_DUPFD_CLOEXEC, 100));
  const Descriptor copy_2(fcntl(second.get(), F_DUPFD_CLOEXEC, 100));
  const Descriptor copy_nothing(fcntl(nothing_.get(), F_DUPFD_CLOEXEC, 100));
  const Descriptor copy_output(fcntl(output_.get(), F_DUPFD_CLOEXEC, 100));
  const std::string script = Script("cat <&3; cat <&4");
  dup3(copy_1.get(), 4, O_CLOEXEC);
  dup3(copy_2.get(), 3, O_CLOEXEC);
  auto child = ChildProcess::Start(
      {script,
       {"PATH=/usr/bin:/bin"},
       {copy_nothing.get(), copy_output.get(), copy_output.get(), 4, 3}});
  if (spare_3.is_open()) dup3(spare_3.get(), 3, O_CLOEXEC);
  if (spare_4.is_open()) dup3(spare_4.get(), 4, O_CLOEXEC);
  ASSERT_THAT(child, IsOk());
  EXPECT_THAT((*child)->WaitUntil(Later()), Optional(ChildEnd{false, 0}));
  std::string text(100, '\0');
  text.resize(static_cast<size_t>(
      pread(copy_output.get(), text.data(), text.size(), 0)));
  EXPECT_EQ(text, "first second");
}

TEST_F(ChildProcessTest, HasNoneOfTheOtherDescriptors) {
  // One that forgot to close itself on exec.
  const Descriptor leaked(dup2(nothing_.get(), 77));
  EXPECT_EQ(OutputOf("[ -e /proc/$$/fd/3 ] && echo three\n"
                     "[ -e /proc/$$/fd/77 ] && echo leaked\n"
                     "true",
                     {nothing_.get()}),
            "three\n");
}

TEST_F(ChildProcessTest, HasDefaultSignals) {
  sigset_t blocked;
  sigset_t before;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &blocked, &before);
  const auto pipe_handler = std::signal(SIGPIPE, SIG_IGN);
  // The last seven digits are the signals up to 28; above 31 the C library
  // ignores two that it keeps for itself.
  const std::string output = OutputOf(
      "exec sed -n 's/^Sig\\(Blk\\|Ign\\):.*\\(.......\\)$/\\1 \\2/p' "
      "/proc/self/status");
  std::signal(SIGPIPE, pipe_handler);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  EXPECT_EQ(output, "Blk 0000000\nIgn 0000000\n");
}

TEST_F(ChildProcessTest, WaitsNoLongerThanItIsTold) {
  const auto child = Start(Script("exec sleep 1000"));
  EXPECT_EQ(child->WaitUntil(std::chrono::steady_clock::now()), std::nullopt);
  const Descriptor readable = MemoryFile("x");
  EXPECT_EQ(child->WaitUntil(Later(), readable.get()), std::nullopt);
  EXPECT_EQ(child->Kill(), (ChildEnd{true, SIGKILL}));
}

TEST_F(ChildProcessTest, LeadsAGroupOfItsOwn) {
  const auto child = Start(Script("exec sleep 1000"));
  EXPECT_EQ(getpgid(child->pid()), child->pid());
}

// The writing end of a pipe, which grandchildren hold as long as they live.
class PipeToGrandchildren {
 public:
  PipeToGrandchildren() {
    std::array<int, 2> ends{};
    EXPECT_EQ(pipe2(ends.data(), O_CLOEXEC), 0);
    read_ = Descriptor(ends[0]);
    write_ = Descriptor(ends[1]);
  }
  int write() const { return write_.get(); }
  // What they wrote until the last of them was gone.
  std::string ReadUntilGone() {
    write_.Close();
    std::string text;
    char byte = 0;
    while (::read(read_.get(), &byte, 1) == 1) text += byte;
    return text;
  }
  // Waits until somebody wrote a line.
  void ReadLine() {
    char byte = 0;
    while (::read(read_.get(), &byte, 1) == 1 && byte != '\n') {
    }
  }

 private:
  Descriptor read_;
  Descriptor write_;
};

TEST_F(ChildProcessTest, TakesItsGroupWithItWhenItEnds) {
  PipeToGrandchildren pipe;
  const auto child =
      Start(Script("sleep 1000 & sleep 1000 & exit 0"), {pipe.write()});
  EXPECT_THAT(child->WaitUntil(Later()), Optional(ChildEnd{false, 0}));
  EXPECT_EQ(pipe.ReadUntilGone(), "");
}

TEST_F(ChildProcessTest, IsKilledWithItsGroupWhenDestroyed) {
  PipeToGrandchildren pipe;
  auto child =
      Start(Script("sleep 1000 & echo >&3; exec sleep 1000"), {pipe.write()});
  pipe.ReadLine();
  const pid_t pid = child->pid();
  child.reset();
  EXPECT_EQ(pipe.ReadUntilGone(), "");
  EXPECT_EQ(waitpid(pid, nullptr, WNOHANG), -1) << "no zombie is left";
}

}  // namespace
}  // namespace memplan
