# cmake --install: the programs, which their own folders install, what systemd,
# Prometheus and Grafana want to know of the daemon, and the client library for
# C++, which find_package(memplan) gives as memplan::client. Components: programs,
# worker, development, and torch on demand (install_torch.cmake). A prefix can be
# moved.
include(CMakePackageConfigHelpers)
install(FILES deploy/systemd/memplan-server.service
  DESTINATION lib/systemd/system COMPONENT programs)
install(FILES deploy/systemd/memplan.conf
  DESTINATION lib/sysusers.d COMPONENT programs)
install(DIRECTORY deploy/prometheus deploy/grafana
  DESTINATION ${CMAKE_INSTALL_DATADIR}/memplan COMPONENT programs
  FILES_MATCHING PATTERN "*.yml" PATTERN "*.json")

set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME development)
set(headers_folder ${CMAKE_INSTALL_INCLUDEDIR}/memplan)
set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/memplan)

install(TARGETS memplan_client memplan_planner_base memplan_proto
  EXPORT memplan
  FILE_SET HEADERS DESTINATION ${headers_folder}
  INCLUDES DESTINATION ${headers_folder})
install(DIRECTORY ${PROJECT_BINARY_DIR}/proto_generated/
  DESTINATION ${headers_folder} FILES_MATCHING PATTERN "*.h")
install(EXPORT memplan NAMESPACE memplan::
  FILE memplanTargets.cmake DESTINATION ${package_folder})

configure_package_config_file(
  cmake/memplanConfig.cmake.in ${PROJECT_BINARY_DIR}/memplanConfig.cmake
  INSTALL_DESTINATION ${package_folder})
write_basic_package_version_file(
  ${PROJECT_BINARY_DIR}/memplanConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/memplanConfig.cmake
              ${PROJECT_BINARY_DIR}/memplanConfigVersion.cmake
  DESTINATION ${package_folder})
