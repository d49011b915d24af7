# unit_runtime: everything of runtime/core against a stand-in libcuda.so.1 (tests/support/fakecuda).
# unit_runtime_jit: runtime/jit against a stand-in compiler, so that it runs without LLVM.
set(fake_dir "${CMAKE_CURRENT_SOURCE_DIR}/../tests/support/fakecuda")
set(unit_dir "${CMAKE_CURRENT_SOURCE_DIR}/../tests/unit/runtime")
add_library(fakecuda MODULE "${fake_dir}/fakecuda.c")
add_library(fakecuda_broken MODULE "${fake_dir}/fakecuda.c")
target_compile_definitions(fakecuda_broken PRIVATE FAKE_OMIT_EVENTS)
foreach(fake fakecuda fakecuda_broken)
  target_link_libraries(${fake} PRIVATE Threads::Threads)
endforeach()

# The same shape as tl_unit of tests/CMakeLists.txt, which is read after this file.
function(runtime_unit name)
  cmake_parse_arguments(A "" "" "SOURCES;LIBS" ${ARGN})
  set(protos "")
  set(calls "")
  foreach(source ${A_SOURCES})
    get_filename_component(stem "${source}" NAME_WE)
    if(stem MATCHES "^test_")
      string(APPEND protos "int ${stem}(void);\n")
      string(APPEND calls "   failed += ${stem}();\n")
    endif()
  endforeach()
  set(main "${CMAKE_CURRENT_BINARY_DIR}/main_${name}.c")
  file(CONFIGURE OUTPUT "${main}" CONTENT
       "${protos}int main(void);\nint\nmain(void)\n{\n   int failed = 0;\n${calls}   return failed != 0;\n}\n")
  add_executable(unit_${name} ${A_SOURCES} "${main}")
  if(TILEC_SANITIZE OR TILEC_COVERAGE) # the longest tests take fewer of their cases
    target_compile_definitions(unit_${name} PRIVATE TL_INSTRUMENTED)
  endif()
  target_link_libraries(unit_${name} PRIVATE ${A_LIBS} cmocka)
  target_include_directories(unit_${name} PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}" "${unit_dir}"
                             "${fake_dir}")
  target_compile_definitions(unit_${name} PRIVATE
    FAKE_DRIVER="$<TARGET_FILE:fakecuda>" BROKEN_DRIVER="$<TARGET_FILE:fakecuda_broken>")
  add_dependencies(unit_${name} fakecuda fakecuda_broken)
  add_test(NAME unit.${name} COMMAND unit_${name})
endfunction()

file(GLOB core_tests CONFIGURE_DEPENDS "${unit_dir}/test_*.c")
list(FILTER core_tests EXCLUDE REGEX "test_(jit|cache|options|tune|faults|fork|misuse)\\.c$")
runtime_unit(runtime SOURCES ${core_tests} LIBS tilec_core)
# test_memory.c fails each of our allocations in turn
target_link_options(unit_runtime PRIVATE -Wl,--wrap=malloc,--wrap=calloc)
# The JIT with another compiler behind it; of the real one it needs the hash alone.
add_library(runtime_jit_mock OBJECT ${jit_sources} "${unit_dir}/mock_compiler.c"
            "${CMAKE_CURRENT_SOURCE_DIR}/../compiler/compile/digest.c")
target_include_directories(runtime_jit_mock PRIVATE . "${CMAKE_CURRENT_SOURCE_DIR}/../compiler")
target_link_libraries(runtime_jit_mock PUBLIC tilec_core tl_codegen "${TILEC_SQLITE}" m)
runtime_unit(runtime_jit SOURCES "${unit_dir}/test_jit.c" "${unit_dir}/test_cache.c"
             "${unit_dir}/test_options.c"
             LIBS runtime_jit_mock)
set_target_properties(unit_runtime_jit PROPERTIES LINKER_LANGUAGE CXX)
# counts what a launch takes from the allocator and how often it locks
target_link_options(unit_runtime_jit PRIVATE
  -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=pthread_mutex_lock)

# Processes and threads on one small disk cache, some of them killed.  The long forms are
#    cache_stress --seconds=20        cache_stress --kills=500
add_executable(cache_stress "${unit_dir}/cache_stress.c" jit/cache.c
               "${CMAKE_CURRENT_SOURCE_DIR}/../compiler/compile/digest.c")
target_include_directories(cache_stress PRIVATE . "${CMAKE_CURRENT_SOURCE_DIR}/../compiler")
target_link_libraries(cache_stress PRIVATE tilec_core tl_codegen)
set_target_properties(cache_stress PROPERTIES LINKER_LANGUAGE CXX)
add_test(NAME cache.stress COMMAND cache_stress --seconds=5)
add_test(NAME cache.kill COMMAND cache_stress --seconds=2 --processes=4 --kills=50)

if(TARGET tilec_shared)
  # Threads that compile and launch; a data race is seen where the build has the thread sanitizer.
  add_executable(jit_threads "${unit_dir}/jit_threads.c")
  add_executable(tensor_args "${unit_dir}/tensor_args.c")
  target_link_libraries(tensor_args PRIVATE cmocka)
  add_executable(start_check "${unit_dir}/start_check.c")
  add_executable(soak "${unit_dir}/soak.c")
  foreach(program start_check soak)
    target_compile_definitions(${program} PRIVATE FAKE_DRIVER="$<TARGET_FILE:fakecuda>")
    add_dependencies(${program} fakecuda)
  endforeach()
  target_include_directories(soak PRIVATE "${fake_dir}")
  target_link_libraries(soak PRIVATE ${CMAKE_DL_LIBS})
  add_executable(gpu_faults "${unit_dir}/gpu_faults.c")
  add_test(NAME gpu.faults COMMAND gpu_faults)
  set_tests_properties(gpu.faults PROPERTIES SKIP_RETURN_CODE 77)
  foreach(program jit_threads tensor_args start_check soak gpu_faults)
    target_include_directories(${program} PRIVATE include "${public_headers}")
    target_link_libraries(${program} PRIVATE tilec_shared Threads::Threads)
    set_target_properties(${program} PROPERTIES BUILD_RPATH_USE_ORIGIN ON)
  endforeach()
  add_test(NAME unit.tensor_args COMMAND tensor_args)
  add_test(NAME threads.jit COMMAND jit_threads 200)
  # Sanitizers keep freed memory for a while.  The long form is `soak` without arguments.
  if(NOT TILEC_SANITIZE)
    add_test(NAME soak COMMAND soak 400 40000)
  endif()
  add_test(NAME cache.start
           COMMAND start_check "${CMAKE_CURRENT_SOURCE_DIR}/../dsl_examples/elu.tile")
  add_test(NAME cache.command
           COMMAND "${CMAKE_CURRENT_SOURCE_DIR}/../tests/support/check_cache.sh"
                   "$<TARGET_FILE:tilec>" "$<TARGET_FILE:fakecuda>"
                   "${CMAKE_CURRENT_SOURCE_DIR}/../dsl_examples/elu.tile")
  set_tests_properties(cache.stress cache.kill threads.jit cache.start PROPERTIES RUN_SERIAL ON)
endif()

runtime_unit(runtime_tune SOURCES "${unit_dir}/test_tune.c" LIBS runtime_jit_mock)
set_target_properties(unit_runtime_tune PROPERTIES LINKER_LANGUAGE CXX)

# Every driver call, symbol and allocation fails in turn.
runtime_unit(runtime_faults SOURCES "${unit_dir}/test_faults.c" "${unit_dir}/test_fork.c"
             "${unit_dir}/test_misuse.c"
             LIBS runtime_jit_mock)
set_target_properties(unit_runtime_faults PROPERTIES LINKER_LANGUAGE CXX)
target_link_options(unit_runtime_faults PRIVATE
  -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=strdup,--wrap=dlsym)

add_executable(api_cxx "${unit_dir}/api.cc")
target_link_libraries(api_cxx PRIVATE tilec_core)
target_compile_features(api_cxx PRIVATE cxx_std_17)
add_test(NAME unit.runtime_cxx COMMAND api_cxx)

add_test(NAME unit.headers
         COMMAND "${CMAKE_CURRENT_SOURCE_DIR}/../tests/support/check_headers.sh" "${CMAKE_SOURCE_DIR}")

add_test(NAME unit.options
         COMMAND "${CMAKE_CURRENT_SOURCE_DIR}/../tests/support/check_options.sh"
                 "${CMAKE_C_COMPILER}" "${CMAKE_SOURCE_DIR}")

add_executable(runtime_gpu_check "${unit_dir}/gpu_check.c")
target_link_libraries(runtime_gpu_check PRIVATE tilec_core)
add_test(NAME gpu.runtime COMMAND runtime_gpu_check)
set_tests_properties(gpu.runtime PROPERTIES SKIP_RETURN_CODE 77)

# The Python binding over the mock compiler.  A sanitizer's runtime cannot be loaded into python; what
# it would load is built all the same, so that one build by clang shows its warnings of every file.
add_library(tilec_mock SHARED ${core_objects} $<TARGET_OBJECTS:runtime_jit_mock>
            "${unit_dir}/mock_setup.c")
target_include_directories(tilec_mock PRIVATE include "${public_headers}" .
                           "${CMAKE_CURRENT_SOURCE_DIR}/../compiler")
target_link_libraries(tilec_mock PRIVATE tl_codegen "${TILEC_SQLITE}" Threads::Threads ${CMAKE_DL_LIBS} m)
set_target_properties(tilec_mock PROPERTIES LINKER_LANGUAGE CXX)
target_link_options(tilec_mock PRIVATE "-Wl,--version-script=${exports}")
add_library(fakecublas MODULE "${fake_dir}/../fakecublas.c")
find_package(Python3 COMPONENTS Interpreter QUIET)
if(Python3_FOUND AND NOT TILEC_SANITIZE)
  add_test(NAME unit.runtime_python
           COMMAND Python3::Interpreter "${unit_dir}/check_python.py"
                   "${CMAKE_CURRENT_SOURCE_DIR}/python" "$<TARGET_FILE:tilec_mock>"
                   "$<TARGET_FILE:fakecuda>")
  if(TARGET tilec_shared)
    # RUN_SERIAL: it holds a bound on what a launch costs.
    add_test(NAME python.arrays
             COMMAND Python3::Interpreter "${unit_dir}/check_python_arrays.py"
                     "${CMAKE_CURRENT_SOURCE_DIR}/python" "$<TARGET_FILE:tilec_shared>"
                     "$<TARGET_FILE:fakecuda>")
    set_tests_properties(python.arrays PROPERTIES RUN_SERIAL ON)
    add_test(NAME python.triton
             COMMAND Python3::Interpreter "${unit_dir}/check_python_triton.py"
                     "${CMAKE_CURRENT_SOURCE_DIR}/python" "$<TARGET_FILE:tilec_shared>")
    add_test(NAME python.mistakes
             COMMAND Python3::Interpreter "${unit_dir}/check_python_mistakes.py"
                     "${CMAKE_CURRENT_SOURCE_DIR}/python" "$<TARGET_FILE:tilec_shared>")
    add_test(NAME python.profiler
             COMMAND Python3::Interpreter "${unit_dir}/check_python_profiler.py"
                     "${CMAKE_CURRENT_SOURCE_DIR}/python" "$<TARGET_FILE:tilec_shared>"
                     "$<TARGET_FILE:fakecuda>" "$<TARGET_FILE:fakecublas>")
    set_tests_properties(python.triton python.mistakes python.profiler PROPERTIES SKIP_RETURN_CODE 77)
    # The meanings of Triton's language, row by row, through tilec.triton.
    foreach(executor cpu sim)
      set(name "conformance.${executor}")
      add_test(NAME "${name}"
               COMMAND Python3::Interpreter "${CMAKE_SOURCE_DIR}/tests/conformance/conform.py" --on "${executor}")
      set_tests_properties("${name}" PROPERTIES SKIP_RETURN_CODE 77 ENVIRONMENT
        "PYTHONPATH=${CMAKE_CURRENT_SOURCE_DIR}/python;TILEC_LIBRARY=$<TARGET_FILE:tilec_shared>;PYTHONDONTWRITEBYTECODE=1")
    endforeach()
    add_test(NAME conformance.page
             COMMAND Python3::Interpreter "${CMAKE_SOURCE_DIR}/tests/support/conformance.py"
                     "${CMAKE_SOURCE_DIR}/docs/conformance.json" --check "${CMAKE_SOURCE_DIR}/docs/conformance.md")
  endif()
endif()
