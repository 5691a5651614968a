# cmake -D BUILD=... -D CONSUMER=... -D GENERATOR=... -D CXX=... [-D FLAGS=...] -P run.cmake
# Installs a build tree, then configures, builds and runs the consumer against it, as a stranger would.
set(work ${BUILD}/install_test)
file(REMOVE_RECURSE ${work})

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${work}/prefix)
run(${CMAKE_COMMAND} -S ${CONSUMER} -B ${work}/build -G ${GENERATOR} -D CMAKE_BUILD_TYPE=Release -D CMAKE_CXX_COMPILER=${CXX}
  -D CMAKE_CXX_FLAGS=${FLAGS} -D CMAKE_PREFIX_PATH=${work}/prefix)
run(${CMAKE_COMMAND} --build ${work}/build)
run(${work}/build/consumer)

file(GLOB written ${work}/build/CMakeCache.txt ${work}/build/build.ninja ${work}/build/CMakeFiles/consumer.dir/link.txt)
foreach(file IN LISTS written)
  file(STRINGS ${file} traces REGEX "(ITK|itk)[A-Z_-]")
  if(traces)
    message(FATAL_ERROR "${file} mentions ITK, which a consumer of registration must not need:\n${traces}")
  endif()
endforeach()
