# cmake -D BUILD=... -D CONSUMER=... -D COMPONENTS=core,... -D GENERATOR=... -D CXX=... [-D FLAGS=...] -P run.cmake
# Installs a build tree, then configures, builds and runs the consumers against it, as strangers without a CUDA toolkit would.
cmake_minimum_required(VERSION 3.25)
set(work ${BUILD}/install_test)
file(REMOVE_RECURSE ${work})

string(REPLACE "," ";" programs "${COMPONENTS}")

function(run)
  execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY WORKING_DIRECTORY ${BUILD})
endfunction()

run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${work}/prefix)
run(${CMAKE_COMMAND} -S ${CONSUMER} -B ${work}/build -G ${GENERATOR} -D CMAKE_BUILD_TYPE=Release -D CMAKE_CXX_COMPILER=${CXX}
  -D CMAKE_CXX_FLAGS=${FLAGS} -D CMAKE_PREFIX_PATH=${work}/prefix -D COMPONENTS=${COMPONENTS}
  -D CMAKE_DISABLE_FIND_PACKAGE_CUDAToolkit=ON --no-warn-unused-cli)
run(${CMAKE_COMMAND} --build ${work}/build)
foreach(program IN LISTS programs)
  run(${work}/build/${program}/use_${program})
endforeach()

# A stranger's ten lines write the bytes that the programs write.
if("io" IN_LIST programs)
  set(together ${work}/build/together)
  file(MAKE_DIRECTORY ${work}/files)
  function(run_there)
    execute_process(COMMAND ${ARGN} COMMAND_ERROR_IS_FATAL ANY WORKING_DIRECTORY ${work}/files)
  endfunction()
  run_there(${together}/make_images)
  foreach(pair IN ITEMS flow,fluidreg ffd,ffdreg)
    string(REPLACE "," ";" pair ${pair})
    list(GET pair 0 model)
    list(GET pair 1 program)
    run_there(${together}/use_together fixed.nii moving.nii ${model}_ ${model})
    run_there(${work}/prefix/bin/${program} -f fixed.nii -m moving.nii -o ${program}_ --device cpu -q)
    foreach(file IN ITEMS 0GenericAffine.mat 1Warp.nii.gz)
      run_there(${CMAKE_COMMAND} -E compare_files ${model}_${file} ${program}_${file})
    endforeach()
  endforeach()
endif()

# Archives and config must hold on another machine: no path of this build, none of its CUDA toolkit.
file(GLOB_RECURSE written ${work}/prefix/*.cmake)
foreach(file IN LISTS written)
  file(STRINGS ${file} traces REGEX "${BUILD}|/cuda[-/]|/usr/local")
  if(traces)
    message(FATAL_ERROR "${file} mentions a folder of the machine that built it:\n${traces}")
  endif()
endforeach()
