# FREEFLOW_CUDA=EMULATED, for tests where there is no GPU: the CUDA sources, translated to C++ (tests/emulation/translate.py), run on a device
# whose thread blocks are fibers. Every suite then runs on it too, with the very schemes that a GPU would run, and slowly.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
find_package(Boost 1.74 REQUIRED COMPONENTS context)
find_package(OpenMP REQUIRED COMPONENTS CXX)
set(freeflow_emulation ${PROJECT_SOURCE_DIR}/tests/emulation)
set(freeflow_translated ${PROJECT_BINARY_DIR}/emulated)

add_library(freeflow_emulation STATIC ${freeflow_emulation}/block.cpp ${freeflow_emulation}/runtime.cpp)
target_include_directories(freeflow_emulation PUBLIC ${freeflow_emulation}/include PRIVATE ${freeflow_emulation})
target_compile_definitions(freeflow_emulation PUBLIC FREEFLOW_EMULATED=1)
target_link_libraries(freeflow_emulation PUBLIC Boost::context OpenMP::OpenMP_CXX)

# freeflow_translate(source out): now, and again where the source or the translator has changed.
function(freeflow_translate source out)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source} ${freeflow_emulation}/translate.py)
  if(${source} IS_NEWER_THAN ${out} OR ${freeflow_emulation}/translate.py IS_NEWER_THAN ${out})
    execute_process(COMMAND ${Python3_EXECUTABLE} -B ${freeflow_emulation}/translate.py ${source} ${out} COMMAND_ERROR_IS_FATAL ANY)
  endif()
endfunction()

# freeflow_emulate(target SOURCES...): the CUDA sources of the calling folder as part of a target.
function(freeflow_emulate target)
  target_include_directories(${target} BEFORE PRIVATE ${freeflow_translated}/include)
  foreach(source IN LISTS ARGN)
    get_filename_component(path ${source} ABSOLUTE)
    file(RELATIVE_PATH name ${PROJECT_SOURCE_DIR} ${path})
    set(out ${freeflow_translated}/${name}.cpp)
    freeflow_translate(${path} ${out})
    target_sources(${target} PRIVATE ${out})
    set_source_files_properties(${out} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON
      COMPILE_OPTIONS "-w;-include;${freeflow_emulation}/cuda_language.h" INCLUDE_DIRECTORIES "${freeflow_emulation};${PROJECT_SOURCE_DIR}")
  endforeach()
  file(GLOB_RECURSE headers RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cuh)
  foreach(header IN LISTS headers)
    freeflow_translate(${PROJECT_SOURCE_DIR}/${header} ${freeflow_translated}/include/freeflow/${header})
  endforeach()
endfunction()
