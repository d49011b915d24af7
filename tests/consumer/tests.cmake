# aot.*: kernels compiled ahead of time.  aot_check goes to bin/, to be copied to a machine with a GPU.
if(NOT TARGET tilec OR NOT TARGET fakecuda)
  return()
endif()
include("${CMAKE_SOURCE_DIR}/cmake/tilecKernels.cmake")
include("${CMAKE_CURRENT_SOURCE_DIR}/consumer/cmake/kernels.cmake")
set(KERNELS "${CMAKE_SOURCE_DIR}/dsl_examples")
find_package(Threads REQUIRED)
add_executable(aot_check consumer/aot_check.c)
target_link_libraries(aot_check PRIVATE m)
consumer_kernels(aot_check)
add_test(NAME gpu.aot COMMAND aot_check)
set_tests_properties(gpu.aot PROPERTIES SKIP_RETURN_CODE 77)

# What a launch costs beyond cuLaunchKernel: it includes the source that aot_check made.
add_executable(aot_time consumer/aot_time.c)
target_include_directories(aot_time PRIVATE "${CMAKE_CURRENT_BINARY_DIR}/tilec/aot_check")
target_link_libraries(aot_time PRIVATE Threads::Threads ${CMAKE_DL_LIBS})
add_dependencies(aot_time aot_check)

# The example of docs/ahead-of-time.md that needs no library at all.
set(elu "${CMAKE_BINARY_DIR}/out/bare_driver_elu")
add_executable(bare_driver "${KERNELS}/aot/bare_driver.c")
target_link_libraries(bare_driver PRIVATE ${CMAKE_DL_LIBS} m)
add_test(NAME gpu.bare_driver
         COMMAND sh -c "'$<TARGET_FILE:tilec>' build '${KERNELS}/elu.tile' -o '${elu}.ptx' && exec '$<TARGET_FILE:bare_driver>' '${elu}.ptx' '${elu}.json'")
set_tests_properties(gpu.bare_driver PROPERTIES SKIP_RETURN_CODE 77)

# The generated C against the stand-in driver, which stands under the name of the real one.
add_executable(aot_paths consumer/aot_paths.c)
consumer_kernels(aot_paths OPTIONS --ptxas=none)
set(fake "${CMAKE_BINARY_DIR}/out/fakecuda")
file(MAKE_DIRECTORY "${fake}")
add_custom_command(TARGET aot_paths POST_BUILD
  COMMAND "${CMAKE_COMMAND}" -E create_symlink "$<TARGET_FILE:fakecuda>" "${fake}/libcuda.so.1")
add_dependencies(aot_paths fakecuda)
add_test(NAME unit.aot COMMAND aot_paths)
set_tests_properties(unit.aot PROPERTIES ENVIRONMENT "LD_LIBRARY_PATH=${fake}")

# The transformer example on the stand-in driver, which computes nothing: its launches, compiled now and
# ahead of time, and one recorded graph of them.
foreach(engine example_transformer transformer_aot)
  if(TARGET ${engine})
    add_test(NAME unit.${engine} COMMAND ${engine} --on cuda --time 3)
    set_tests_properties(unit.${engine} PROPERTIES ENVIRONMENT "LD_LIBRARY_PATH=${fake}"
                         PASS_REGULAR_EXPRESSION "decode by one graph")
  endif()
endforeach()

# Installed into a clean prefix, moved, used by other projects; sizes and symbols of what is shipped.
if(TILEC_STATIC_LLVM AND NOT TILEC_SANITIZE AND CMAKE_BUILD_TYPE STREQUAL Release)
  add_test(NAME install.consumers
           COMMAND "${CMAKE_CURRENT_SOURCE_DIR}/consumer/run.sh" "${CMAKE_BINARY_DIR}"
                   "$<TARGET_FILE:fakecuda>" "${CMAKE_C_COMPILER}" "${CMAKE_CXX_COMPILER}")
  # The packages, made twice, installed in a bare Debian root and used there.
  add_test(NAME install.packages
           COMMAND "${CMAKE_CURRENT_SOURCE_DIR}/package/run.sh" "${CMAKE_BINARY_DIR}"
                   "${CMAKE_C_COMPILER}" "${CMAKE_CXX_COMPILER}")
  set_tests_properties(install.packages PROPERTIES SKIP_RETURN_CODE 77 RESOURCE_LOCK build_folder)
endif()
