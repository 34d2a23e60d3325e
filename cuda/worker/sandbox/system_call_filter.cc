#include "cuda/worker/sandbox/system_call_filter.h"

#include <sched.h>
#include <seccomp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <system_error>

#include "absl/strings/str_cat.h"

namespace memplan::gpu {
namespace {

constexpr std::string_view kPrograms[] = {"execve", "execveat", "fork",
                                          "vfork"};
constexpr std::string_view kConnect[] = {"connect"};
constexpr std::string_view kProcesses[] = {
    "ptrace",          "process_vm_readv", "process_vm_writev",
    "process_madvise", "process_mrelease", "kcmp",
    "pidfd_open",      "pidfd_getfd",      "pidfd_send_signal",
    "tkill",           "setsid",           "setpgid",
    "ioprio_set",      "migrate_pages"};
constexpr std::string_view kMounts[] = {"mount",
                                        "umount2",
                                        "pivot_root",
                                        "chroot",
                                        "unshare",
                                        "setns",
                                        "open_tree",
                                        "move_mount",
                                        "fsopen",
                                        "fsconfig",
                                        "fsmount",
                                        "fspick",
                                        "mount_setattr",
                                        "quotactl",
                                        "quotactl_fd",
                                        "fanotify_init",
                                        "open_by_handle_at",
                                        "swapon",
                                        "swapoff",
                                        "acct"};
constexpr std::string_view kKernel[] = {"bpf",
                                        "perf_event_open",
                                        "userfaultfd",
                                        "io_uring_setup",
                                        "io_uring_enter",
                                        "io_uring_register",
                                        "init_module",
                                        "finit_module",
                                        "delete_module",
                                        "kexec_load",
                                        "kexec_file_load",
                                        "reboot",
                                        "add_key",
                                        "request_key",
                                        "keyctl",
                                        "iopl",
                                        "ioperm",
                                        "syslog",
                                        "vhangup",
                                        "modify_ldt",
                                        "personality"};
constexpr std::string_view kClock[] = {"settimeofday",  "clock_settime",
                                       "clock_adjtime", "adjtimex",
                                       "sethostname",   "setdomainname"};
constexpr std::string_view kAttributes[] = {
    "chmod",       "fchmod",       "fchmodat",     "chown",     "fchown",
    "lchown",      "fchownat",     "setxattr",     "lsetxattr", "fsetxattr",
    "removexattr", "lremovexattr", "fremovexattr", "utime",     "utimes",
    "utimensat",   "futimesat",    "mknod",        "mknodat"};

constexpr RefusedCalls kGroups[] = {
    {"programs", "a model starts no program and no process", kPrograms},
    {"connect", "a unix socket of the host, the daemon's own, is a way out",
     kConnect},
    {"processes", "other processes are not its to read, stop or slow down",
     kProcesses},
    {"mounts", "other views of the file system lead around Landlock", kMounts},
    {"kernel", "seldom used parts of the kernel are where its faults are",
     kKernel},
    {"clock", "the host's settings", kClock},
    {"attributes", "modes and owners of files, which Landlock does not keep",
     kAttributes},
};

struct NumberedCall {
  std::string_view group;
  int number;
};
// Younger than this libseccomp; the same numbers on every architecture.
constexpr NumberedCall kYoungCalls[] = {
    {"attributes", 452},  // fchmodat2
    {"attributes", 463},  // setxattrat
    {"attributes", 466},  // removexattrat
    {"mounts", 467},      // open_tree_attr
    {"attributes", 469},  // file_setattr
};

using Filter = std::unique_ptr<void, void (*)(scmp_filter_ctx)>;

// Collects rules, and the first fault.
class Rules {
 public:
  explicit Rules(scmp_filter_ctx filter) : filter_(filter) {}

  void Refuse(int call) { Note(seccomp_rule_add(filter_, kEperm, call, 0)); }

  // Refuses `call` where its argument compares so.
  void RefuseIf(int call, scmp_arg_cmp argument, uint32_t action = kEperm) {
    Note(seccomp_rule_add(filter_, action, call, 1, argument));
  }

  void Answer(int call, int error) {
    Note(seccomp_rule_add(filter_, SCMP_ACT_ERRNO(error), call, 0));
  }

  void Note(int result) {
    if (fault_ == 0) fault_ = result;
  }

  int fault() const { return fault_; }

 private:
  static constexpr uint32_t kEperm = SCMP_ACT_ERRNO(EPERM);
  scmp_filter_ctx filter_;
  int fault_ = 0;
};

constexpr scmp_arg_cmp Argument(unsigned number, scmp_compare compare,
                                scmp_datum_t a, scmp_datum_t b = 0) {
  return {number, compare, a, b};
}

void RefuseByArguments(Rules& rules, const std::set<std::string>& allowed) {
  const auto self = static_cast<scmp_datum_t>(getpid());
  if (!allowed.contains("programs")) {
    rules.RefuseIf(SCMP_SYS(clone),
                   Argument(0, SCMP_CMP_MASKED_EQ, CLONE_THREAD, 0));
    rules.Answer(SCMP_SYS(clone3), ENOSYS);
  }
  if (!allowed.contains("network")) {
    rules.RefuseIf(SCMP_SYS(socket), Argument(0, SCMP_CMP_NE, AF_UNIX));
  }
  if (allowed.contains("processes")) return;
  for (const int call :
       {SCMP_SYS(kill), SCMP_SYS(tgkill), SCMP_SYS(rt_sigqueueinfo),
        SCMP_SYS(rt_tgsigqueueinfo)}) {
    rules.RefuseIf(call, Argument(0, SCMP_CMP_NE, self));
  }
  rules.RefuseIf(SCMP_SYS(prlimit64), Argument(0, SCMP_CMP_NE, 0));
  rules.RefuseIf(SCMP_SYS(setpriority), Argument(0, SCMP_CMP_NE, PRIO_PROCESS));
  rules.RefuseIf(SCMP_SYS(setpriority), Argument(1, SCMP_CMP_NE, 0));
}

}  // namespace

std::span<const RefusedCalls> RefusedGroups() { return kGroups; }

absl::Status RefuseSystemCalls(const std::set<std::string>& allowed) {
  const Filter filter(seccomp_init(SCMP_ACT_ALLOW), &seccomp_release);
  if (filter == nullptr) {
    return absl::UnavailableError("libseccomp makes no filter");
  }
  Rules rules(filter.get());
  rules.Note(seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_TSYNC, 1));
  // Calls of another architecture, such as the 32-bit one of int 0x80.
  rules.Note(seccomp_attr_set(filter.get(), SCMP_FLTATR_ACT_BADARCH,
                              SCMP_ACT_ERRNO(EPERM)));
  for (const RefusedCalls& group : kGroups) {
    if (allowed.contains(std::string(group.group))) continue;
    for (const std::string_view name : group.names) {
      const int call = seccomp_syscall_resolve_name(std::string(name).c_str());
      // This architecture has no such call, as arm64 has no fork.
      if (call != __NR_SCMP_ERROR) rules.Refuse(call);
    }
  }
  for (const NumberedCall& call : kYoungCalls) {
    if (!allowed.contains(std::string(call.group))) rules.Refuse(call.number);
  }
  RefuseByArguments(rules, allowed);
  if (rules.fault() == 0) rules.Note(seccomp_load(filter.get()));
  if (rules.fault() == 0) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("the filter of system calls cannot be set: ",
                   std::generic_category().message(-rules.fault())));
}

}  // namespace memplan::gpu
