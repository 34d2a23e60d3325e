# What was configured, in a few lines.
message(STATUS "memplan ${PROJECT_VERSION}")
message(STATUS "  build type    ${CMAKE_BUILD_TYPE}")
message(STATUS "  sanitizers    ${MEMPLAN_SANITIZE}")
message(STATUS "  worker        ${MEMPLAN_BUILD_WORKER}")
message(STATUS "  tests         ${MEMPLAN_BUILD_TESTS}")
message(STATUS "  gRPC          ${gRPC_VERSION}, Protobuf ${Protobuf_VERSION}")
message(STATUS "  programs in   ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}")
