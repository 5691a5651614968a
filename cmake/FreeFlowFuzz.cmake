# All that a build with FREEFLOW_FUZZ has: the room that parses files, under sanitizers and libFuzzer's counters, the targets that feed it
# (tests/fuzz), and the rooms that it links, as they compile fastest.
if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  message(FATAL_ERROR "FREEFLOW_FUZZ needs clang, whose libFuzzer it uses: cmake --preset fuzz")
endif()
foreach(room IN ITEMS core deform denoise)
  add_subdirectory(${room})
  target_compile_options(freeflow_${room} PRIVATE -O0)
endforeach()

# float-cast-overflow: a number of a file that no integer holds is as undefined as any overflow. vptr: needs what ITK's libraries hide.
set(sanitizers -fsanitize=address,undefined,float-cast-overflow -fno-sanitize=vptr -fno-sanitize-recover=all)
add_compile_options(${sanitizers} -fsanitize=fuzzer-no-link -fno-omit-frame-pointer
  "$<$<COMPILE_LANGUAGE:CXX>:SHELL:-include ${PROJECT_SOURCE_DIR}/scripts/itk_for_clang.h>")
add_link_options(${sanitizers})
add_subdirectory(io)
add_subdirectory(tests/fuzz)
