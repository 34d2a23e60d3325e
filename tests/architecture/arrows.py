"""Which folder may include what: the arrows of docs/design.md, as rules.

    client -> proto <- server -> planner <- cuda/worker -> torch
    server -> cuda/nvml -> planner, client -> planner/base

A rule names, for the files below a folder, our own folders that they may include
and the families of headers from outside. The longest matching folder's rule
holds. No two folders may include each other, not even in a circle over others.
"""

import dataclasses
import pathlib
import re

# The folders that hold C++ of ours. Includes are written from the root.
FOLDERS = ("planner", "cuda", "server", "client", "tests")

# Families of headers from outside, the first match wins. Standard headers that
# touch clocks, threads, files or terminals are a family of their own.
FAMILIES = (
    ("absl", r"absl/"),
    ("torch", r"(torch|ATen|c10|caffe2)/"),
    ("cuda", r"cu(da|dnn|blas|solver|sparse|fft|rand)\w*(/.*)?\.h"),
    ("nvml", r"nvml\.h"),
    ("grpc", r"(grpc|grpcpp)/"),
    ("protobuf", r"google/protobuf/"),
    ("prometheus", r"prometheus/"),
    ("sqlite", r"SQLiteCpp/|sqlite3\.h"),
    ("http", r"httplib\.h"),
    ("command_line", r"CLI/"),
    ("log", r"spdlog/"),
    ("json", r"nlohmann/"),
    ("openssl", r"openssl/"),
    ("toml", r"toml\+\+/"),
    ("zlib", r"zlib\.h"),
    ("lzma", r"lzma\.h"),
    ("benchmark", r"benchmark/"),
    ("test", r"(gtest|gmock|rapidcheck)(/|\.h)"),
    ("system", r"(chrono|condition_variable|filesystem|fstream|future|iostream|mutex|"
               r"semaphore|shared_mutex|stop_token|thread|ctime|csignal)$"),
    ("standard", r"[a-z_0-9]+$"),
    ("systemd", r"systemd/"),
    ("system", r"(sys|linux|net|netinet|arpa|asm)/\w+\.h"),
    ("system", r"[a-z_0-9]+\.h"),
)

PURE = ("standard", "absl")
RPC = PURE + ("system", "grpc", "protobuf")
CUDA = PURE + ("system", "torch", "cuda", "json")
DAEMON = RPC + ("prometheus", "sqlite", "http", "command_line", "log", "json", "openssl", "toml",
                "systemd", "zlib")
NO_TORCH = DAEMON + ("test",)


@dataclasses.dataclass(frozen=True)
class Rule:
    folder: str
    ours: tuple[str, ...]
    families: tuple[str, ...]


RULES = (
    Rule("planner/base", ("planner/base",), PURE),
    Rule("planner", ("planner",), PURE),
    Rule("cuda/nvml", ("planner", "cuda/nvml"), PURE + ("system", "nvml")),
    Rule("cuda/worker/messages", ("planner", "cuda/worker/messages"), PURE + ("system", "json")),
    Rule("cuda/.", ("planner", "cuda/."), PURE + ("system", "cuda")),
    Rule("cuda/worker", ("planner", "cuda/.", "cuda/worker"), CUDA),
    Rule("server", ("server", "planner", "cuda/nvml", "cuda/worker/messages", "proto"), DAEMON),
    Rule("client", ("client", "planner/base", "proto"),
         RPC + ("command_line", "json", "openssl", "zlib")),
    Rule("client/trace_file", ("client/trace_file", "planner/base"), PURE + ("system", "lzma")),
    Rule("tests/planner", ("planner", "tests/planner", "tests/support"),
         PURE + ("system", "test")),
    Rule("tests/bench", ("planner", "server", "client/trace_file", "proto", "tests/bench",
                         "tests/planner", "tests/support"), NO_TORCH + ("benchmark",)),
    Rule("tests/fuzz", ("planner", "tests/planner", "tests/support"), PURE + ("system", "test")),
    Rule("tests/cuda", ("planner", "cuda", "tests/cuda", "tests/planner", "tests/support"),
         CUDA + ("nvml", "test")),
    Rule("tests/server", ("server", "planner", "cuda/nvml", "cuda/worker/messages", "proto",
                          "tests/server", "tests/support"), NO_TORCH),
    Rule("tests/client", ("client", "planner/base", "proto", "tests/client", "tests/support"),
         NO_TORCH + ("lzma",)),
    Rule("tests/support", ("planner", "cuda/nvml", "cuda/worker/messages", "cuda/worker/trial",
                           "server", "client", "proto", "tests/support"), NO_TORCH),
    Rule("tests/integration", ("planner", "cuda/nvml", "cuda/worker/messages", "server", "client",
                               "proto", "tests/integration", "tests/support"), NO_TORCH),
    Rule("tests/gpu", ("cuda/.", "cuda/worker/messages"), PURE + ("cuda",)),
    Rule("tests/package", ("client",), PURE),
)

INCLUDE = re.compile(r'^\s*#\s*include\s+(<([^>]+)>|"([^"]+)")', re.MULTILINE)


@dataclasses.dataclass(frozen=True)
class Include:
    file: str  # from the root
    header: str
    quoted: bool

    def __str__(self) -> str:
        return f"{self.file} includes {self.header}"


def sources(root: pathlib.Path) -> list[pathlib.Path]:
    """Every C++ file of ours below `root`."""
    return sorted(file for folder in FOLDERS for file in (root / folder).rglob("*")
                  if file.suffix in (".h", ".cc", ".cu", ".cuh"))


def includes(root: pathlib.Path) -> list[Include]:
    return [Include(str(file.relative_to(root)), system or quoted, bool(quoted))
            for file in sources(root)
            for _, system, quoted in INCLUDE.findall(file.read_text())]


def folder_of_ours(header: str) -> str | None:
    """The folder of a header of ours; "proto" for generated ones; else None."""
    if header.endswith(".pb.h") and header.startswith(("memplan/", "google/rpc/")):
        return "proto"
    if header.startswith(tuple(f"{folder}/" for folder in FOLDERS)):
        return header.rpartition("/")[0]
    return None


def family(header: str) -> str:
    return next((name for name, pattern in FAMILIES if re.match(pattern, header)), "unknown")


def within(folder: str, allowed: tuple[str, ...]) -> bool:
    """Below one of the folders; "a/." means a alone."""
    return any(folder == each.removesuffix("/.") or folder.startswith(each + "/")
               for each in allowed)


def rule_of(file: str) -> Rule | None:
    rules = [rule for rule in RULES if within(file.rpartition("/")[0], (rule.folder,))]
    return max(rules, key=lambda rule: len(rule.folder), default=None)


def forbidden(include: Include, rule: Rule | None) -> str | None:
    """Why the include is forbidden, or None if it is not."""
    if rule is None:
        return f"{include.file} is in no folder that the rules know"
    folder = folder_of_ours(include.header)
    if folder is None and include.quoted and "/" not in include.header.strip("./"):
        return f"{include}, which is not written from the root"
    if folder is not None:
        if within(folder, rule.ours):
            return None
        return f"{include}, but {rule.folder} may include only {', '.join(rule.ours)}"
    kind = family(include.header)
    if kind in rule.families:
        return None
    return f"{include}, of the family {kind}, but {rule.folder} may include only " \
           f"{', '.join(rule.families)}"


def folder_graph(found: list[Include]) -> dict[str, set[str]]:
    graph: dict[str, set[str]] = {}
    for include in found:
        source, target = include.file.rpartition("/")[0], folder_of_ours(include.header)
        if target is not None and target != source:
            graph.setdefault(source, set()).add(target)
    return graph


def circle(graph: dict[str, set[str]]) -> list[str]:
    """A path of folders that ends where it began, or nothing."""
    finished: set[str] = set()

    def walk(folder: str, path: list[str]) -> list[str]:
        if folder in path:
            return path[path.index(folder):] + [folder]
        if folder in finished:
            return []
        for target in sorted(graph.get(folder, ())):
            if found := walk(target, path + [folder]):
                return found
        finished.add(folder)
        return []

    for folder in sorted(graph):
        if found := walk(folder, []):
            return found
    return []


def faults(root: pathlib.Path) -> list[str]:
    """Everything in the tree that is against the rules, one line each."""
    found = includes(root)
    lines = [why for include in found if (why := forbidden(include, rule_of(include.file)))]
    if path := circle(folder_graph(found)):
        lines.append("folders include each other: " + " -> ".join(path))
    return lines
