# freeflow_compile_options(target): the flags that the promise "same bits everywhere" rests on, and the warnings.
# -ffp-contract=off and -fmad=false: a fused multiply-add happens only where the source says fma_() (core/portable_math.h).
# max-unswitch-insns: where a body asks whether there is a displacement at all, the loop is doubled; g++ would else ask by masked loads, slow
# where the answer is no.
function(freeflow_compile_options target)
  target_compile_options(${target} PRIVATE
    $<$<COMPILE_LANGUAGE:CXX>:-Wall -Wextra -Wno-unknown-pragmas -ffp-contract=off -fno-math-errno -fno-trapping-math>
    $<$<COMPILE_LANG_AND_ID:CXX,GNU>:--param=max-unswitch-insns=1000>
    $<$<COMPILE_LANGUAGE:CUDA>:-std=c++20 -fmad=false -diag-suppress=554 --expt-relaxed-constexpr -Xcompiler=-Wall,-Wno-unknown-pragmas,-ffp-contract=off>)
  if(FREEFLOW_WERROR)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Werror> $<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings -Xcompiler=-Werror>)
  endif()
  if(FREEFLOW_NATIVE)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-march=native>)
  elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-march=x86-64-v3>)
  endif()
  # CMake 3.25 knows no CUDA20; the flag above says it.
  set_target_properties(${target} PROPERTIES CUDA_STANDARD_REQUIRED OFF)
  target_compile_definitions(${target} PRIVATE FREEFLOW_CUDA=$<BOOL:${FREEFLOW_HAS_CUDA}>)
endfunction()

# freeflow_compile_alone(FILES ...): sources of this folder that share a local name with a neighbour, which a unity build (that of
# .ci/run) would compile as one with them.
function(freeflow_compile_alone)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

# freeflow_uses_regex(FILES ...): g++ 12 takes std::regex for uninitialized where it optimises with sanitizers.
function(freeflow_uses_regex)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON COMPILE_OPTIONS -Wno-maybe-uninitialized)
endfunction()

# The include root: <freeflow/room/header.h> is one spelling in the tree and after installation.
set(freeflow_include_root ${PROJECT_BINARY_DIR}/include)
file(MAKE_DIRECTORY ${freeflow_include_root}/freeflow)

# freeflow_room(name HEADERS ... SOURCES ... [CUDA ...] [LINK ...]): the folder of the library whose CMakeLists.txt calls it, as one static
# target FreeFlow::name. HEADERS are those that are installed; a header that is not among them is private to the library.
function(freeflow_room name)
  cmake_parse_arguments(ROOM "" "" "HEADERS;SOURCES;CUDA;LINK" ${ARGN})
  set(target freeflow_${name})
  file(CREATE_LINK ${CMAKE_CURRENT_SOURCE_DIR} ${freeflow_include_root}/freeflow/${name} SYMBOLIC)
  add_library(${target} STATIC ${ROOM_SOURCES})
  add_library(FreeFlow::${name} ALIAS ${target})
  list(TRANSFORM ROOM_HEADERS PREPEND ${freeflow_include_root}/freeflow/${name}/)
  target_sources(${target} PUBLIC FILE_SET HEADERS BASE_DIRS ${freeflow_include_root} FILES ${ROOM_HEADERS})
  if(TARGET freeflow_emulation)
    freeflow_emulate(${target} ${ROOM_CUDA})
    target_link_libraries(${target} PUBLIC freeflow_emulation)
  elseif(FREEFLOW_HAS_CUDA)
    target_sources(${target} PRIVATE ${ROOM_CUDA})
    target_link_libraries(${target} PUBLIC $<BUILD_INTERFACE:CUDA::cudart_static> $<INSTALL_INTERFACE:FreeFlow::cudart>)
    target_include_directories(${target} PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
  endif()
  freeflow_compile_options(${target})
  target_compile_features(${target} PUBLIC cxx_std_20)
  # Eigen aligns fixed-size matrices by the instruction set of whoever compiles; our structs hold some, so their layout must not follow it.
  target_compile_definitions(${target} PUBLIC EIGEN_MAX_STATIC_ALIGN_BYTES=16)
  target_link_libraries(${target} PUBLIC ${ROOM_LINK})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  set_property(GLOBAL APPEND PROPERTY FREEFLOW_ROOMS ${target})
endfunction()
