# memplan_warnings: what every target of ours compiles with, and nothing that a
# user of our headers inherits.
option(MEMPLAN_WARNINGS_AS_ERRORS "Treat warnings as errors" ON)

add_library(memplan_warnings INTERFACE)
add_library(memplan::warnings ALIAS memplan_warnings)
target_compile_options(memplan_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual
  # GCC 12 sees overlapping copies in std::string's operator+ (its bug 105651).
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict>
  # A unity build includes sources, which GCC takes for headers.
  $<$<BOOL:${CMAKE_UNITY_BUILD}>:-Wno-subobject-linkage>
  $<$<BOOL:${MEMPLAN_WARNINGS_AS_ERRORS}>:-Werror>)

if(MEMPLAN_SANITIZE)
  target_compile_options(memplan_warnings INTERFACE
    -fsanitize=${MEMPLAN_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(memplan_warnings INTERFACE -fsanitize=${MEMPLAN_SANITIZE})
endif()
