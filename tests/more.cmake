# Golden tests, example PTX, documentation snippets: everything that runs whole programs.
tl_unit(support)

add_executable(tilecheck "${CMAKE_CURRENT_SOURCE_DIR}/support/tilecheck.c")
set(tilecheck_tmp "${CMAKE_BINARY_DIR}/out/golden")
file(MAKE_DIRECTORY "${tilecheck_tmp}")

if(TARGET tilec)
  # A library that a profiler would inject gets a range of the kernel's name.
  add_library(fakenvtx MODULE "${CMAKE_CURRENT_SOURCE_DIR}/support/fakenvtx.c")
  add_test(NAME command.nvtx
           COMMAND "${CMAKE_COMMAND}" -E env "NVTX_INJECTION64_PATH=$<TARGET_FILE:fakenvtx>"
                   "$<TARGET_FILE:tilec>" run "${CMAKE_SOURCE_DIR}/dsl_examples/elu.tile" --on=cpu --profile
                   --arg x=zeros:fp32[8] --arg y=zeros:fp32[8] --arg n=8 --flops=3*n)
  set_tests_properties(command.nvtx PROPERTIES PASS_REGULAR_EXPRESSION
                       "nvtx: elu begins\nnvtx: depth 0 ends")
  # One test per folder of golden/ that has RUN lines (the others are read by unit tests).
  file(GLOB folders CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/golden/*")
  foreach(folder ${folders})
    get_filename_component(name "${folder}" NAME)
    file(GLOB_RECURSE files CONFIGURE_DEPENDS "${folder}/*")
    set(runs "")
    foreach(file ${files})
      file(STRINGS "${file}" found LIMIT_COUNT 1 REGEX "RUN:")
      list(APPEND runs ${found})
    endforeach()
    if(runs)
      file(MAKE_DIRECTORY "${tilecheck_tmp}/${name}")
      set(part "")
      if(name STREQUAL run AND TILEC_SANITIZE) # whole kernels on both executors: minutes
        set(part --one-in 8)
      endif()
      add_test(NAME golden.${name}
               COMMAND tilecheck --tilec "$<TARGET_FILE:tilec>" --tmp "${tilecheck_tmp}/${name}"
                       ${part} "${folder}")
      list(APPEND golden_tests golden.${name})
    endif()
  endforeach()

  # PTX of every example configuration for every target, then through ptxas where there is one.
  set(support "${CMAKE_CURRENT_SOURCE_DIR}/support")
  set(ptx_dir "${CMAKE_BINARY_DIR}/out/examples")
  add_test(NAME ptx.emit COMMAND "${support}/emit_ptx.sh" "$<TARGET_FILE:tilec>" "${ptx_dir}")
  set_tests_properties(ptx.emit PROPERTIES FIXTURES_SETUP ptx)
  add_test(NAME ptx.assemble COMMAND "${support}/assemble_ptx.sh" "${CMAKE_BINARY_DIR}/out")
  set_tests_properties(ptx.assemble PROPERTIES FIXTURES_REQUIRED ptx SKIP_RETURN_CODE 77
                       DEPENDS "${golden_tests}")

  # Four times the elements take about four times as long to compile.
  add_test(NAME compile.linear COMMAND "${CMAKE_CURRENT_SOURCE_DIR}/bench/compile_time.sh"
                                       "$<TARGET_FILE:tilec>" --check)

  # So do long sources: no step looks at everything for each of its parts.
  add_test(NAME compile.growth COMMAND "${CMAKE_CURRENT_SOURCE_DIR}/bench/growth.sh"
                                       "$<TARGET_FILE:tilec>")

  # Small sources that would take hours or gigabytes end within their limits.
  if(python_for_tests AND NOT TILEC_SANITIZE)
    add_test(NAME compile.bombs COMMAND "${python_for_tests}" "${support}/bombs.py"
                                        "$<TARGET_FILE:tilec>")
    add_test(NAME compile.bombs.files COMMAND "${python_for_tests}" "${support}/bombs_files.py"
                                              "$<TARGET_FILE:tilec>")
    set_tests_properties(compile.bombs compile.bombs.files PROPERTIES RUN_SERIAL ON)
  endif()

  # Sessions with the language server; sanitizers take their time.  What slips are answered with.
  tl_unit(lsp tl_lsp)
  target_link_options(unit_lsp PRIVATE -Wl,--wrap=tl_check) # test_server.c
  if(python_for_tests)
    set(key_press_ms 50)
    if(TILEC_SANITIZE)
      set(key_press_ms 2000)
    endif()
    add_test(NAME lsp.session COMMAND "${python_for_tests}" "${support}/lsp_session.py"
                                      "$<TARGET_FILE:tilec>" 1 6 ${key_press_ms})
    add_test(NAME support.progress COMMAND "${python_for_tests}" "${support}/check_progress.py"
                                           "${support}/setup.sh")
    add_test(NAME errors.mistakes COMMAND "${python_for_tests}" "${support}/mistakes.py"
                                          "$<TARGET_FILE:tilec>")
    add_test(NAME errors.values COMMAND "${python_for_tests}" "${support}/wrong_values.py"
                                        "$<TARGET_FILE:tilec>")
    if(NOT TILEC_SANITIZE) # thousands of runs
      add_test(NAME errors.kinds COMMAND "${python_for_tests}" "${support}/wrong_kinds.py"
                                         "$<TARGET_FILE:tilec>")
      add_test(NAME errors.slips COMMAND "${python_for_tests}" "${support}/slips_by_rule.py"
                                         "$<TARGET_FILE:tilec>")
    endif()
    if(TARGET tilec_shared AND NOT TILEC_SANITIZE)
      add_test(NAME errors.unseen COMMAND "${python_for_tests}" "${support}/mistakes.py" --unseen
                                          "$<TARGET_FILE:tilec>")
      set_tests_properties(errors.unseen PROPERTIES ENVIRONMENT "CC=${CMAKE_C_COMPILER}")
    endif()
    add_test(NAME lsp.syntax COMMAND "${python_for_tests}" "${support}/check_syntax_files.py"
                                     "${CMAKE_SOURCE_DIR}/editors")
  endif()

  add_test(NAME lsp.editor COMMAND "${support}/check_nvim.sh" "$<TARGET_FILE:tilec>")
  set_tests_properties(lsp.editor PROPERTIES SKIP_RETURN_CODE 77)

  # Pages and pictures of `tilec view`: their data, and in a browser where there is one.
  if(python_for_tests)
    set(pages "${CMAKE_BINARY_DIR}/out/view")
    add_test(NAME view.pages COMMAND "${python_for_tests}" "${support}/check_view.py"
                                     "$<TARGET_FILE:tilec>" "${CMAKE_SOURCE_DIR}" --pages "${pages}")
    add_test(NAME view.browser COMMAND "${python_for_tests}" "${support}/check_view_browser.py"
                                       "${pages}")
    set_tests_properties(view.pages PROPERTIES FIXTURES_SETUP view)
    set_tests_properties(view.browser PROPERTIES FIXTURES_REQUIRED view SKIP_RETURN_CODE 77)
  endif()

  # Completion in shells, the manual page, the width of help.
  add_test(NAME cli.shell COMMAND "${support}/check_shell.sh" "$<TARGET_FILE:tilec>")

  # The two commands of README.md print little when all is well, and what matters when it is not.
  add_test(NAME house.commands COMMAND "${support}/check_commands.sh" "${CMAKE_SOURCE_DIR}")

  # The formatter's output is the tree.
  add_test(NAME house.format COMMAND "${support}/check_format.sh")
  set_tests_properties(house.format PROPERTIES SKIP_RETURN_CODE 77)

  # Each pass has small golden files.
  add_test(NAME house.goldens COMMAND "${support}/check_goldens.sh")

  # Every diagnostic has a page for `tilec explain`, whose examples do what it says.
  if(python_for_tests)
    foreach(family E01 E02 E03 E04 E05 E06 W R N)
      add_test(NAME docs.explain.${family}
               COMMAND "${python_for_tests}" "${support}/check_explain.py" "$<TARGET_FILE:tilec>"
                       "${CMAKE_SOURCE_DIR}" ${family})
    endforeach()
  endif()

  # The examples of the language reference; docs/reference is made from them.
  if(python_for_tests)
    add_test(NAME docs.reference COMMAND "${python_for_tests}" "${support}/check_reference.py"
                                         "$<TARGET_FILE:tilec>" "${CMAKE_SOURCE_DIR}")
  endif()

  # The checks of the lessons: their solutions pass, their exercises do not.
  if(python_for_tests)
    add_test(NAME docs.lessons COMMAND "${python_for_tests}" "${support}/check_lessons.py"
                                       "$<TARGET_FILE:tilec>" "${CMAKE_SOURCE_DIR}")
  endif()

  # The files that the architecture page names for each kind of addition are those of the tree.
  add_test(NAME docs.files COMMAND "${support}/check_files.sh" "${CMAKE_SOURCE_DIR}")

  # Code in README.md and docs/ is compiled.
  add_test(NAME docs.snippets
           COMMAND "${support}/check_snippets.sh" "$<TARGET_FILE:tilec>" "${CMAKE_C_COMPILER}"
                   "$<TARGET_FILE:tilec_shared>")
endif()

# The GPU, and its simulator, against the CPU executor; the GPU part is skipped without one.
if(TARGET tilec_shared)
  add_executable(gpu_test "${CMAKE_CURRENT_SOURCE_DIR}/gpu/gpu_test.c")
  target_include_directories(gpu_test PRIVATE "${CMAKE_SOURCE_DIR}/runtime/include"
                             "${CMAKE_SOURCE_DIR}/compiler/include")
  target_link_libraries(gpu_test PRIVATE tilec_shared m)
  set_target_properties(gpu_test PROPERTIES BUILD_RPATH_USE_ORIGIN ON)
  add_executable(accuracy "${CMAKE_CURRENT_SOURCE_DIR}/gpu/accuracy.c")
  target_include_directories(accuracy PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}"
                             "${CMAKE_SOURCE_DIR}/runtime/include"
                             "${CMAKE_SOURCE_DIR}/compiler/include")
  target_compile_definitions(accuracy PRIVATE TL_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  target_link_libraries(accuracy PRIVATE tilec_shared pthread m)
  set_target_properties(accuracy PROPERTIES BUILD_RPATH_USE_ORIGIN ON)
  # 65,536 arguments of each function here; 2^28, or with ACCURACY_STRIDE=1 all, by gpu/run.sh.
  add_test(NAME sim.accuracy COMMAND accuracy --on sim --stride 65521)
  # The same functions against MPFR, of which 4.2 is the first with sinpi; without it there is no test.
  find_library(mpfr_library mpfr)
  find_path(mpfr_headers mpfr.h)
  if(mpfr_library AND mpfr_headers)
    file(STRINGS "${mpfr_headers}/mpfr.h" mpfr_version REGEX "define MPFR_VERSION_STRING")
    string(REGEX MATCH "[0-9]+[.][0-9]+" mpfr_version "${mpfr_version}")
  endif()
  if(mpfr_version VERSION_GREATER_EQUAL 4.2)
    add_executable(accuracy_mpfr "${CMAKE_CURRENT_SOURCE_DIR}/gpu/accuracy_mpfr.c")
    target_include_directories(accuracy_mpfr PRIVATE "${CMAKE_CURRENT_SOURCE_DIR}"
                               "${CMAKE_SOURCE_DIR}/runtime/include"
                               "${CMAKE_SOURCE_DIR}/compiler/include")
    target_link_libraries(accuracy_mpfr PRIVATE tilec_shared "${mpfr_library}" gmp m)
    set_target_properties(accuracy_mpfr PROPERTIES BUILD_RPATH_USE_ORIGIN ON)
    foreach(type fp64 fp32)
      add_test(NAME accuracy.mpfr.${type}
               COMMAND accuracy_mpfr --type ${type} --count 4096
                       --table "${CMAKE_SOURCE_DIR}/docs/accuracy.md")
    endforeach()
  endif()
  add_test(NAME sim.differential COMMAND gpu_test --on sim)
  add_test(NAME gpu.differential COMMAND gpu_test)
  set_tests_properties(gpu.differential PROPERTIES SKIP_RETURN_CODE 77)

  # What a launch costs: on a GPU beside the bare driver, else with one that does nothing.
  add_executable(launch_time "${CMAKE_CURRENT_SOURCE_DIR}/gpu/launch_time.c")
  target_include_directories(launch_time PRIVATE "${CMAKE_SOURCE_DIR}/runtime/include"
                             "${CMAKE_SOURCE_DIR}/compiler/include")
  target_link_libraries(launch_time PRIVATE tilec_shared ${CMAKE_DL_LIBS})
  set_target_properties(launch_time PROPERTIES BUILD_RPATH_USE_ORIGIN ON)
  if(TARGET fakecuda AND NOT TILEC_SANITIZE)
    add_test(NAME launch.time COMMAND launch_time --driver "$<TARGET_FILE:fakecuda>" --limit 2)
    add_test(NAME example.order
             COMMAND "${CMAKE_SOURCE_DIR}/tests/support/check_case_order.sh" "$<TARGET_FILE:example_layers>"
                     "$<TARGET_FILE:fakecuda>")
    set_tests_properties(launch.time PROPERTIES RUN_SERIAL ON)
  endif()

  # From the start of a process to a result; likewise.
  add_executable(bare_context "${CMAKE_CURRENT_SOURCE_DIR}/gpu/bare_context.c")
  target_link_libraries(bare_context PRIVATE ${CMAKE_DL_LIBS})
  add_executable(first_result "${CMAKE_CURRENT_SOURCE_DIR}/gpu/first_result.c")
  target_include_directories(first_result PRIVATE "${CMAKE_SOURCE_DIR}/runtime/include"
                             "${CMAKE_SOURCE_DIR}/compiler/include")
  target_link_libraries(first_result PRIVATE tilec_shared m)
  set_target_properties(first_result PROPERTIES BUILD_RPATH_USE_ORIGIN ON)
  add_dependencies(first_result bare_context)
  if(TARGET fakecuda AND NOT TILEC_SANITIZE)
    add_test(NAME launch.first COMMAND first_result "${CMAKE_SOURCE_DIR}/dsl_examples/elu.tile"
             --driver "$<TARGET_FILE:fakecuda>" --no-check --repeats 5 --limit 400,200)
    set_tests_properties(launch.first PROPERTIES RUN_SERIAL ON)
  endif()

  # Random programs; without a GPU those of the simulator only.
  add_executable(gpu_programs "${CMAKE_CURRENT_SOURCE_DIR}/gpu/gpu_programs.c")
  target_link_libraries(gpu_programs PRIVATE tests_programs tilec_shared m)
  set_target_properties(gpu_programs PROPERTIES BUILD_RPATH_USE_ORIGIN ON BUILD_RPATH "$ORIGIN")
  add_test(NAME sim.programs COMMAND gpu_programs --on sim --count 3000 --jobs 2)
  add_test(NAME sim.programs.roles COMMAND gpu_programs --on sim --arch sm_90a --seed 1000000
           --count 120 --jobs 2)
  add_test(NAME sim.programs.boxes COMMAND gpu_programs --on sim --arch sm_90a --seed 1000000
           --count 120 --jobs 2 --tma)
  add_test(NAME sim.programs.turns COMMAND gpu_programs --on sim --arch sm_90a --seed 2000000
           --count 120 --jobs 2 --tma)
  set_tests_properties(sim.programs sim.programs.roles sim.programs.boxes sim.programs.turns
                       PROPERTIES PROCESSORS 2)

  # Some of them as PTX of several targets, which ptx.assemble takes up.
  file(MAKE_DIRECTORY "${CMAKE_BINARY_DIR}/out/programs")
  add_test(NAME ptx.programs COMMAND gpu_programs --on sim --seed 40000 --count 100 --jobs 2
           --save "${CMAKE_BINARY_DIR}/out/programs")
  set_tests_properties(ptx.programs PROPERTIES FIXTURES_SETUP ptx)
endif()

tl_without_sanitizers(gpu_test accuracy accuracy_mpfr launch_time bare_context first_result gpu_programs
                      tests_programs sim_gpu_models planted)

tl_unit(compile tl_compile)
tl_unit(command tl_cli)

include(consumer/tests.cmake)

# Where no earlier run tells which tests are long, these begin first, so that at the end no core waits
# for one of them.
foreach(test ptx.emit ptx.programs ptx.assemble sim.accuracy unit.passes golden.run install.packages errors.unseen)
  if(TEST ${test})
    set_tests_properties(${test} PROPERTIES COST 50)
  endif()
endforeach()

# Every program that ctest runs, without the rest: what the sanitizer build needs; and those of the
# tests by which lines are counted quickly.
add_custom_target(tilec_test_programs)
add_custom_target(tilec_quick_programs)
string(CONCAT not_quick "^(accuracy|adding_op|aot_check|aot_time|bare_|cache_stress|first_result|gpu_|jit_threads|"
                        "launch_time|planted|runtime_gpu|sim_gpu|soak|start_check)")
foreach(dir "${CMAKE_CURRENT_SOURCE_DIR}" "${CMAKE_SOURCE_DIR}/runtime")
  get_property(targets DIRECTORY "${dir}" PROPERTY BUILDSYSTEM_TARGETS)
  foreach(target ${targets})
    get_target_property(type ${target} TYPE)
    if(type MATCHES "EXECUTABLE|MODULE_LIBRARY")
      add_dependencies(tilec_test_programs ${target})
      if(NOT target MATCHES "${not_quick}")
        add_dependencies(tilec_quick_programs ${target})
      endif()
    endif()
  endforeach()
endforeach()
foreach(target tilec example_transformer transformer_aot)
  if(TARGET ${target})
    add_dependencies(tilec_test_programs ${target})
    add_dependencies(tilec_quick_programs ${target})
  endif()
endforeach()
