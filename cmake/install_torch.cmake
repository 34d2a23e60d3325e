# memplan_install_torch(PROGRAM): lets the installed PROGRAM find libtorch in the
# same prefix, wherever that is moved, and else where it was built. The component
# `torch` puts it there, 3.7 GB, and only when asked for:
#
#   cmake --install BUILD --prefix PREFIX --component torch
#
# torch's libraries look for NVIDIA's at ../../nvidia, so both keep their places.
function(memplan_install_torch program)
  set(folder ${CMAKE_INSTALL_LIBDIR}/memplan)
  cmake_path(SET bin NORMALIZE /${CMAKE_INSTALL_BINDIR})
  cmake_path(SET libraries NORMALIZE /${folder})
  cmake_path(RELATIVE_PATH libraries BASE_DIRECTORY ${bin})
  # What the builder asks for comes first, as tests/gpu/package does.
  set_target_properties(${program} PROPERTIES
    INSTALL_RPATH "${CMAKE_INSTALL_RPATH};$ORIGIN/${libraries}/torch/lib;$ORIGIN/${libraries}/nvidia/cu13/lib"
    INSTALL_RPATH_USE_LINK_PATH ON)
  cmake_path(GET MEMPLAN_TORCH_DIR PARENT_PATH site_packages)
  file(GLOB library_folders RELATIVE ${site_packages}
    ${MEMPLAN_TORCH_DIR}/lib ${site_packages}/nvidia/*/lib)
  foreach(library_folder IN LISTS library_folders)
    install(DIRECTORY ${site_packages}/${library_folder}/
      DESTINATION ${folder}/${library_folder}
      USE_SOURCE_PERMISSIONS COMPONENT torch EXCLUDE_FROM_ALL
      FILES_MATCHING PATTERN "lib*.so*" PATTERN "libtorch_python.so" EXCLUDE
                     PATTERN "libshm*" EXCLUDE)
  endforeach()
endfunction()
