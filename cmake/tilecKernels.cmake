# tilec_add_kernels(TARGET FILES a.tile [b.tile ..] [NAME name] [KERNELS k ..] [SIGNATURES s ..]
#                   [ARCHS sm_80 sm_90a ..] [DEFINES N=V ..] [INCLUDES dir ..] [OPTIONS o ..])
#
# Compiles kernels to C while TARGET is built and adds them to it: `#include "NAME.h"` gives
# NAME_launch.  NAME is the file's name without its suffix unless given.  KERNELS, SIGNATURES and
# NAME speak of one file: call once for each.  An edit of the file, or of a file that it imports,
# builds anew.  TARGET links the C library and nothing else; at run time it needs the NVIDIA driver.
function(tilec_add_kernels target)
  cmake_parse_arguments(PARSE_ARGV 1 A "" "NAME"
                        "FILES;KERNELS;SIGNATURES;ARCHS;DEFINES;INCLUDES;OPTIONS")
  set(keywords "NAME, FILES, KERNELS, SIGNATURES, ARCHS, DEFINES, INCLUDES and OPTIONS")
  if(A_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "tilec_add_kernels: '${A_UNPARSED_ARGUMENTS}' is behind no keyword; there are "
                        "${keywords}")
  elseif(NOT A_FILES)
    message(FATAL_ERROR "tilec_add_kernels: FILES is missing, the files of kernels, as in "
                        "tilec_add_kernels(${target} FILES elu.tile)")
  endif()
  if(NOT TARGET ${target})
    message(FATAL_ERROR "tilec_add_kernels: there is no target '${target}'; add_library or "
                        "add_executable makes one, before it is called")
  endif()
  foreach(file IN LISTS A_FILES)
    get_filename_component(source "${file}" ABSOLUTE)
    get_source_file_property(is_generated "${source}" GENERATED)
    if(NOT is_generated AND NOT EXISTS "${source}")
      set(why "'${source}' does not exist; a path begins at the folder of CMakeLists.txt")
      if(file MATCHES "^[A-Z]+$")
        set(why "'${file}' is no keyword; there are ${keywords}")
      endif()
      message(FATAL_ERROR "tilec_add_kernels: ${why}")
    endif()
  endforeach()
  list(LENGTH A_FILES num_files)
  if(num_files GREATER 1 AND (A_NAME OR A_KERNELS OR A_SIGNATURES))
    message(FATAL_ERROR "tilec_add_kernels: NAME, KERNELS and SIGNATURES belong to one file")
  endif()
  set(options ${A_OPTIONS})
  foreach(signature IN LISTS A_SIGNATURES) # before every -k: they go to all kernels
    list(APPEND options -s "${signature}")
  endforeach()
  foreach(kernel IN LISTS A_KERNELS)
    list(APPEND options -k "${kernel}")
  endforeach()
  foreach(define IN LISTS A_DEFINES)
    list(APPEND options -D "${define}")
  endforeach()
  foreach(dir IN LISTS A_INCLUDES)
    get_filename_component(dir "${dir}" ABSOLUTE)
    list(APPEND options -I "${dir}")
  endforeach()
  if(A_ARCHS)
    string(REPLACE ";" "," archs "${A_ARCHS}")
    list(APPEND options "--arch=${archs}")
  endif()
  set(dir "${CMAKE_CURRENT_BINARY_DIR}/tilec/${target}")
  file(MAKE_DIRECTORY "${dir}")
  foreach(file IN LISTS A_FILES)
    get_filename_component(source "${file}" ABSOLUTE)
    get_filename_component(name "${file}" NAME_WE)
    if(A_NAME)
      set(name "${A_NAME}")
    endif()
    set(out "${dir}/${name}.c")
    add_custom_command(
      OUTPUT "${out}" "${dir}/${name}.h"
      COMMAND tilec::tilec build "${source}" ${options} --emit=c -o "${out}"
              "--depfile=${out}.d"
      DEPENDS "${source}" tilec::tilec
      DEPFILE "${out}.d"
      COMMENT "Compiling kernels of ${file}"
      VERBATIM)
    if(NOT CMAKE_C_COMPILER_LOADED)
      set_source_files_properties("${out}" PROPERTIES LANGUAGE CXX)
    endif()
    target_sources(${target} PRIVATE "${out}" "${dir}/${name}.h")
  endforeach()
  # As properties: they go with target_link_libraries in either of its two styles.
  set_property(TARGET ${target} APPEND PROPERTY INCLUDE_DIRECTORIES "${dir}")
  set_property(TARGET ${target} APPEND PROPERTY LINK_LIBRARIES Threads::Threads ${CMAKE_DL_LIBS})
endfunction()
