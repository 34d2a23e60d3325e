# memplan_test(NAME SOURCES … LINK … [LABEL unit|integration|gpu] [TIMEOUT s]):
# one GoogleTest program; each of its cases is a ctest test.
include(GoogleTest)

function(memplan_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "LABEL;TIMEOUT" "SOURCES;LINK;DEPENDS")
  if(NOT arg_LABEL)
    set(arg_LABEL unit)
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 60)
  endif()
  add_executable(${name} ${arg_SOURCES})
  set_target_properties(${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  target_link_libraries(${name} PRIVATE
    memplan::warnings ${arg_LINK} GTest::gmock GTest::gtest_main)
  if(arg_DEPENDS)
    add_dependencies(${name} ${arg_DEPENDS})
  endif()
  set(environment)
  if(MEMPLAN_SANITIZE MATCHES thread)
    # Debian's gRPC, Protobuf and Abseil are not instrumented.
    set(environment ENVIRONMENT
      TSAN_OPTIONS=ignore_noninstrumented_modules=1:suppressions=${PROJECT_SOURCE_DIR}/tests/support/tsan.supp)
  endif()
  gtest_discover_tests(${name}
    DISCOVERY_TIMEOUT 60
    PROPERTIES LABELS ${arg_LABEL} TIMEOUT ${arg_TIMEOUT} ${environment})
endfunction()
