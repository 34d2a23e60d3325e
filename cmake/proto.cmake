# memplan_proto_library(NAME FILES …): C++ messages and gRPC services of .proto
# files below proto/. Hides that Debian 12's Protobuf has no config file.
function(memplan_proto_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "FILES")
  add_library(memplan_${name} STATIC)
  add_library(memplan::${name} ALIAS memplan_${name})
  set(root ${PROJECT_SOURCE_DIR}/proto)
  set(out ${PROJECT_BINARY_DIR}/proto_generated)
  file(MAKE_DIRECTORY ${out})
  foreach(file IN LISTS arg_FILES)
    cmake_path(REMOVE_EXTENSION file OUTPUT_VARIABLE stem)
    set(generated ${out}/${stem}.pb.cc ${out}/${stem}.pb.h
                  ${out}/${stem}.grpc.pb.cc ${out}/${stem}.grpc.pb.h)
    add_custom_command(
      OUTPUT ${generated}
      COMMAND protobuf::protoc -I${root} --cpp_out=${out} --grpc_out=${out}
              --plugin=protoc-gen-grpc=$<TARGET_FILE:gRPC::grpc_cpp_plugin> ${root}/${file}
      DEPENDS ${root}/${file} protobuf::protoc
      COMMENT "Generating ${file}" VERBATIM)
    target_sources(memplan_${name} PRIVATE ${generated})
  endforeach()
  target_include_directories(memplan_${name} SYSTEM PUBLIC $<BUILD_INTERFACE:${out}>)
  set_target_properties(memplan_${name} PROPERTIES
    EXPORT_NAME ${name} UNITY_BUILD OFF)  # its files share names
  target_compile_features(memplan_${name} PUBLIC cxx_std_20)
  target_link_libraries(memplan_${name} PUBLIC gRPC::grpc++ protobuf::libprotobuf)
  if(MEMPLAN_SANITIZE)
    target_compile_options(memplan_${name} PRIVATE -fsanitize=${MEMPLAN_SANITIZE})
  endif()
endfunction()
