# tl_re2c(target file.re), tl_bison(target file.y): C sources made by the generators, in the build tree
# under generated/<target>/, added to the target; the parser's header is private to it.
find_program(TL_RE2C re2c REQUIRED)
find_program(TL_BISON bison REQUIRED)

function(tl_generated_dir target out)
  set(dir "${CMAKE_BINARY_DIR}/generated/${target}")
  file(MAKE_DIRECTORY "${dir}")
  target_include_directories(${target} PRIVATE "${dir}")
  set(${out} "${dir}" PARENT_SCOPE)
endfunction()

function(tl_re2c target source)
  tl_generated_dir(${target} dir)
  get_filename_component(stem "${source}" NAME_WE)
  set(c "${dir}/${stem}.c")
  add_custom_command(OUTPUT "${c}" DEPENDS "${source}"
    COMMAND "${TL_RE2C}" -W -Werror -i -o "${c}" "${source}" VERBATIM)
  target_sources(${target} PRIVATE "${c}")
  if(TILEC_FUZZ) # its thousands of branches, each counted, take clang 40 s with -O1, 3 s without
    set_source_files_properties("${c}" PROPERTIES COMPILE_OPTIONS -O0)
  endif()
endfunction()

function(tl_bison target source)
  tl_generated_dir(${target} dir)
  get_filename_component(stem "${source}" NAME_WE)
  set(c "${dir}/${stem}.c")
  set(h "${dir}/${stem}.h")
  add_custom_command(OUTPUT "${c}" "${h}" DEPENDS "${source}"
    COMMAND "${TL_BISON}" -Wall -Werror --no-lines "--defines=${h}" -o "${c}" "${source}" VERBATIM)
  target_sources(${target} PRIVATE "${c}" "${h}")
endfunction()
