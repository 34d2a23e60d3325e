# CUDA's compiler for the few kernels of ours: a toolkit's, else that of its
# wheels (scripts/setup). Included after torch, whose runtime library is used.
# Without one, MEMPLAN_CUDA_CODE is off and what needs kernels is left out.
find_program(MEMPLAN_NVCC nvcc NO_DEFAULT_PATH
  PATHS $ENV{CUDA_HOME}/bin /usr/local/cuda/bin ENV PATH
        ${site_packages}/nvidia/cu13/bin)
set(MEMPLAN_CUDA_CODE OFF)
if(MEMPLAN_NVCC)
  set(MEMPLAN_CUDA_CODE ON)
  set(CMAKE_CUDA_COMPILER ${MEMPLAN_NVCC} CACHE FILEPATH "CUDA's compiler")
  set(CMAKE_CUDA_ARCHITECTURES 80 90 CACHE STRING "Kinds of GPU to make code for")
  set(CMAKE_CUDA_RUNTIME_LIBRARY None)
  set(CMAKE_CUDA_STANDARD 17)
  enable_language(CUDA)
endif()

# memplan_cuda(TARGET): what a target with CUDA sources compiles with.
function(memplan_cuda target)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
  target_include_directories(${target} SYSTEM PRIVATE ${MEMPLAN_CUDA_INCLUDE})
  target_compile_options(${target} PRIVATE
    $<$<BOOL:${MEMPLAN_WARNINGS_AS_ERRORS}>:--Werror=all-warnings>
    -Xcompiler=-Wall,-Wextra)
  target_link_libraries(${target} PRIVATE ${MEMPLAN_CUDART})
  set_target_properties(${target} PROPERTIES UNITY_BUILD OFF)
endfunction()
