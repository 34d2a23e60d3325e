# Every package from outside, found once.

# The Python environment that scripts/setup makes, with libtorch and the tests'
# tools: MEMPLAN_VENV in the environment, or .venv in the tree.
set(default_venv $ENV{MEMPLAN_VENV})
if(NOT default_venv)
  set(default_venv ${PROJECT_SOURCE_DIR}/.venv)
endif()
set(MEMPLAN_VENV ${default_venv} CACHE PATH "The environment that scripts/setup made")

find_package(Threads REQUIRED)
find_package(absl REQUIRED)
find_package(Protobuf REQUIRED)  # Debian 12 has no config file for it
find_package(gRPC CONFIG REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(ZLIB REQUIRED)
find_package(LibLZMA REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(SQLiteCpp CONFIG REQUIRED)
find_package(CLI11 CONFIG REQUIRED)
find_package(spdlog CONFIG REQUIRED)
find_package(prometheus-cpp CONFIG REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(nlohmann_json REQUIRED IMPORTED_TARGET nlohmann_json)
pkg_check_modules(systemd REQUIRED IMPORTED_TARGET libsystemd)
# Only its headers, so that nothing more is needed where the daemon runs.
find_path(MEMPLAN_TOML_INCLUDE toml++/toml.h REQUIRED)
pkg_check_modules(seccomp REQUIRED IMPORTED_TARGET libseccomp)
pkg_check_modules(httplib REQUIRED IMPORTED_TARGET cpp-httplib)
if(MEMPLAN_BUILD_TESTS)
  find_package(GTest CONFIG REQUIRED)
  find_package(benchmark CONFIG REQUIRED)
endif()
