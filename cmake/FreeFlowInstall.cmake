# What `cmake --install` and `cpack` take along.
#   development  headers, archives and the package config: find_package(FreeFlow COMPONENTS registration)
#   programs     the programs of apps/
#   package      programs, tests and benchmarks with the shared libraries they need, relocatable, and run_tests (cpack only)
include(CMakePackageConfigHelpers)
set(config_dir ${CMAKE_INSTALL_LIBDIR}/cmake/FreeFlow)

# --- development -----------------------------------------------------------------------------------------------------------------
# io has an export of its own, because only it needs ITK in the consumer.
get_property(rooms GLOBAL PROPERTY FREEFLOW_ROOMS)
foreach(room IN LISTS rooms)
  set(export Targets)
  if(room STREQUAL "freeflow_io")
    set(export IoTargets)
  endif()
  install(TARGETS ${room} EXPORT FreeFlow${export} ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development
    FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
  list(APPEND exports ${export})
endforeach()
list(REMOVE_DUPLICATES exports)
foreach(export IN LISTS exports)
  install(EXPORT FreeFlow${export} NAMESPACE FreeFlow:: DESTINATION ${config_dir} COMPONENT development)
endforeach()

# A consumer of archives with CUDA code links the static CUDA runtime. It comes along, so that a machine without the toolkit can do so:
# NVIDIA's licence (CUDA EULA, Attachment A) lets applications distribute libcudart_static.a. In a folder of its own it meets no other.
if(FREEFLOW_HAS_CUDA)
  get_target_property(cudart_static CUDA::cudart_static IMPORTED_LOCATION)
  file(REAL_PATH ${cudart_static} cudart_static)
  install(FILES ${cudart_static} DESTINATION ${CMAKE_INSTALL_LIBDIR}/freeflow RENAME libcudart_static.a COMPONENT development)
endif()

list(TRANSFORM rooms REPLACE "^freeflow_" "" OUTPUT_VARIABLE components)
configure_package_config_file(cmake/FreeFlowConfig.cmake.in ${PROJECT_BINARY_DIR}/FreeFlowConfig.cmake INSTALL_DESTINATION ${config_dir}
  PATH_VARS CMAKE_INSTALL_LIBDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/FreeFlowConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/FreeFlowConfig.cmake ${PROJECT_BINARY_DIR}/FreeFlowConfigVersion.cmake
  DESTINATION ${config_dir} COMPONENT development)

# --- programs and package --------------------------------------------------------------------------------------------------------
# freeflow_executables(result folder): every program that the CMakeLists.txt of a folder, and those below it, make by default.
function(freeflow_executables result folder)
  set(found)
  if(EXISTS ${PROJECT_SOURCE_DIR}/${folder}/CMakeLists.txt)
    get_property(targets DIRECTORY ${folder} PROPERTY BUILDSYSTEM_TARGETS)
    foreach(target IN LISTS targets)
      get_target_property(type ${target} TYPE)
      get_target_property(on_request ${target} EXCLUDE_FROM_ALL)
      if(type STREQUAL "EXECUTABLE" AND NOT on_request)
        list(APPEND found ${target})
      endif()
    endforeach()
    get_property(subfolders DIRECTORY ${folder} PROPERTY SUBDIRECTORIES)
    foreach(subfolder IN LISTS subfolders)
      file(RELATIVE_PATH subfolder ${PROJECT_SOURCE_DIR} ${subfolder})
      freeflow_executables(more ${subfolder})
      list(APPEND found ${more})
    endforeach()
  endif()
  set(${result} ${found} PARENT_SCOPE)
endfunction()

set(programs)
set(tests)
set(benchmarks)
set(experiments)
if(FREEFLOW_BUILD_APPS)
  freeflow_executables(programs apps)
  foreach(experiment IN ITEMS atlas large)  # measured where there is a GPU and nothing else
    freeflow_executables(found experiments/${experiment})
    list(APPEND experiments ${found})
  endforeach()
endif()
if(FREEFLOW_BUILD_TESTS)
  freeflow_executables(tests tests)
endif()
if(FREEFLOW_BUILD_BENCHMARKS)
  freeflow_executables(benchmarks benchmarks)
endif()

if(programs)
  install(TARGETS ${programs} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT programs)
endif()
# Manual pages and completion, of the options that the programs print.
find_package(Python3 COMPONENTS Interpreter)
if(programs AND Python3_FOUND AND NOT CMAKE_CROSSCOMPILING)
  set(manual ${PROJECT_BINARY_DIR}/manual)
  add_custom_command(OUTPUT ${manual}/man1/regtool.1
    COMMAND Python3::Interpreter -B ${PROJECT_SOURCE_DIR}/scripts/manual_pages $<TARGET_FILE_DIR:regtool> ${manual}
    DEPENDS ${programs} ${PROJECT_SOURCE_DIR}/scripts/manual_pages COMMENT "Writing manual pages" VERBATIM)
  add_custom_target(manual ALL DEPENDS ${manual}/man1/regtool.1)
  install(DIRECTORY ${manual}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT programs)
  install(DIRECTORY ${manual}/completions/ DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT programs)
endif()
foreach(program IN LISTS programs tests benchmarks experiments)
  # DT_RPATH and not DT_RUNPATH: it also holds for the libraries that the libraries need, and Debian's name no path of their own.
  set_target_properties(${program} PROPERTIES INSTALL_RPATH "$ORIGIN/../lib")
  target_link_options(${program} PRIVATE LINKER:--disable-new-dtags)
  install(TARGETS ${program} RUNTIME_DEPENDENCY_SET packaged RUNTIME DESTINATION bin COMPONENT package EXCLUDE_FROM_ALL)
endforeach()
if(programs OR tests OR benchmarks)
  # Every Linux with a C++ program on it has these, and the GPU's driver brings its own.
  set(on_every_machine "^(ld-linux.*|lib(c|m|dl|rt|pthread|resolv|util|gcc_s|stdc\\+\\+|cuda|nvidia.*))\\.so")
  install(RUNTIME_DEPENDENCY_SET packaged PRE_EXCLUDE_REGEXES ${on_every_machine}
    LIBRARY DESTINATION lib COMPONENT package EXCLUDE_FROM_ALL)
  install(FILES LICENSE DESTINATION . COMPONENT package EXCLUDE_FROM_ALL)
  if(experiments)
    foreach(experiment IN ITEMS atlas large)
      install(PROGRAMS experiments/${experiment}/measure DESTINATION . RENAME measure_${experiment} COMPONENT package EXCLUDE_FROM_ALL)
    endforeach()
  endif()
  list(JOIN tests " " test_names)
  configure_file(cmake/run_tests.in ${PROJECT_BINARY_DIR}/run_tests @ONLY)
  install(PROGRAMS ${PROJECT_BINARY_DIR}/run_tests DESTINATION . COMPONENT package EXCLUDE_FROM_ALL)
endif()

# cmake --build BUILD --target package
set(CPACK_GENERATOR TGZ)
set(CPACK_PACKAGE_FILE_NAME freeflow-${PROJECT_VERSION}-${CMAKE_SYSTEM_NAME}-${CMAKE_SYSTEM_PROCESSOR})
set(CPACK_COMPONENTS_ALL package)
set(CPACK_ARCHIVE_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_COMPONENT_INCLUDE_TOPLEVEL_DIRECTORY ON)
set(CPACK_STRIP_FILES ON)
include(CPack)

# --- the test of all this --------------------------------------------------------------------------------------------------------
# Not under sanitizers or for another processor: what it asserts is of the build files, and test_outside is a stranger's program there.
if(FREEFLOW_BUILD_TESTS AND NOT CMAKE_CROSSCOMPILING AND NOT CMAKE_CXX_FLAGS MATCHES "-fsanitize")
  list(JOIN components "," joined)
  add_test(NAME install.consumer
    COMMAND ${CMAKE_COMMAND} -D BUILD=${PROJECT_BINARY_DIR} -D CONSUMER=${PROJECT_SOURCE_DIR}/tests/install -D COMPONENTS=${joined}
      -D "GENERATOR=${CMAKE_GENERATOR}" -D CXX=${CMAKE_CXX_COMPILER} -D "FLAGS=${CMAKE_CXX_FLAGS}"
      -P ${PROJECT_SOURCE_DIR}/tests/install/run.cmake)
endif()
