# memplan::torch: libtorch as pip's wheel of torch has it, headers and the few
# libraries that the worker names. The wheel's own CMake package is not used: it
# wants an installed CUDA compiler's own folders and links every CUDA library.
file(GLOB default_torch LIST_DIRECTORIES true ${MEMPLAN_VENV}/lib/python3*/site-packages/torch)
set(MEMPLAN_TORCH_DIR "${default_torch}" CACHE PATH
    "The torch package's folder, with include/ and lib/ in it")
if(NOT EXISTS ${MEMPLAN_TORCH_DIR}/include/torch/script.h)
  message(FATAL_ERROR
    "no libtorch in '${MEMPLAN_TORCH_DIR}': run scripts/setup, or set "
    "MEMPLAN_TORCH_DIR to the folder of an installed torch package, or "
    "configure with -DMEMPLAN_BUILD_WORKER=OFF")
endif()
cmake_path(GET MEMPLAN_TORCH_DIR PARENT_PATH site_packages)

# CUDA's headers: the runtime's wheel beside torch, else a toolkit. The wheel
# lacks crt/, which a toolkit, the compiler's wheel and triton have.
set(toolkits $ENV{CUDA_HOME} /usr/local/cuda)
list(TRANSFORM toolkits APPEND /include OUTPUT_VARIABLE toolkit_includes)
find_path(MEMPLAN_CUDA_INCLUDE cuda_runtime_api.h REQUIRED NO_DEFAULT_PATH
  PATHS ${site_packages}/nvidia/cu13/include ${toolkit_includes})
find_path(MEMPLAN_CUDA_CRT_INCLUDE crt/host_defines.h REQUIRED NO_DEFAULT_PATH
  PATHS ${site_packages}/nvidia/cu13/include ${toolkit_includes}
        ${site_packages}/triton/backends/nvidia/include)
find_library(MEMPLAN_CUDART NAMES libcudart.so.13 libcudart.so REQUIRED NO_DEFAULT_PATH
  PATHS ${site_packages}/nvidia/cu13/lib /usr/local/cuda/lib64)

foreach(name c10 c10_cuda torch_cpu)
  add_library(memplan_lib_${name} SHARED IMPORTED)
  set_target_properties(memplan_lib_${name} PROPERTIES
    IMPORTED_LOCATION ${MEMPLAN_TORCH_DIR}/lib/lib${name}.so)
endforeach()

add_library(memplan_torch INTERFACE)
add_library(memplan::torch ALIAS memplan_torch)
target_include_directories(memplan_torch SYSTEM INTERFACE
  ${MEMPLAN_TORCH_DIR}/include
  ${MEMPLAN_TORCH_DIR}/include/torch/csrc/api/include
  ${MEMPLAN_CUDA_INCLUDE} ${MEMPLAN_CUDA_CRT_INCLUDE})
# Some of torch's classes have one member more without NDEBUG, and the wheel was
# built with it.
target_compile_definitions(memplan_torch INTERFACE NDEBUG)
# No symbol of torch_cuda is named, but its operators register when it loads.
target_link_libraries(memplan_torch INTERFACE
  memplan_lib_torch_cpu
  -Wl,--push-state,--no-as-needed,${MEMPLAN_TORCH_DIR}/lib/libtorch_cuda.so,--pop-state
  memplan_lib_c10 memplan_lib_c10_cuda ${MEMPLAN_CUDART})
# The CUDA libraries that torch's own need are found by torch's own run paths.
target_link_options(memplan_torch INTERFACE -Wl,--allow-shlib-undefined)

# A Python that can import this torch: makes the models of the tests.
cmake_path(SET python NORMALIZE ${site_packages}/../../../bin/python3)
set(MEMPLAN_PYTHON ${python} CACHE FILEPATH "A Python that can import torch")
