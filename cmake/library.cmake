# memplan_library(NAME SOURCES … HEADERS … PUBLIC … PRIVATE …): one folder's
# library `memplan_NAME` with its alias `memplan::NAME`. HEADERS go into a file
# set; PUBLIC has only what the headers include.
function(memplan_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;HEADERS;PUBLIC;PRIVATE")
  add_library(memplan_${name} STATIC)
  add_library(memplan::${name} ALIAS memplan_${name})
  target_sources(memplan_${name}
    PRIVATE ${arg_SOURCES}
    PUBLIC FILE_SET HEADERS BASE_DIRS ${PROJECT_SOURCE_DIR} FILES ${arg_HEADERS})
  target_compile_features(memplan_${name} PUBLIC cxx_std_20)
  target_link_libraries(memplan_${name}
    PUBLIC ${arg_PUBLIC}
    PRIVATE $<BUILD_INTERFACE:memplan::warnings> ${arg_PRIVATE})
  set_target_properties(memplan_${name} PROPERTIES EXPORT_NAME ${name})
endfunction()
