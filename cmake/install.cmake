# cmake --install build/release --prefix P.  Nothing in the prefix names it: it may be moved.
include(CMakePackageConfigHelpers)
set(package lib/cmake/tilec)

install(TARGETS tilec EXPORT tilecTargets RUNTIME DESTINATION bin)
install(TARGETS tilec_shared tilec_runtime tilec_runtime_static EXPORT tilecTargets
        LIBRARY DESTINATION lib ARCHIVE DESTINATION lib INCLUDES DESTINATION include)
install(DIRECTORY "${CMAKE_SOURCE_DIR}/compiler/include/tilec"
                  "${CMAKE_SOURCE_DIR}/runtime/include/tilec"
        DESTINATION include FILES_MATCHING PATTERN "*.h")
install(FILES "${CMAKE_BINARY_DIR}/generated/version/tilec/version.h" DESTINATION include/tilec)
install(DIRECTORY "${CMAKE_SOURCE_DIR}/runtime/python/tilec" DESTINATION share/tilec/python
        FILES_MATCHING PATTERN "*.py" PATTERN METADATA)
install(FILES "${CMAKE_SOURCE_DIR}/README.md" "${CMAKE_SOURCE_DIR}/LICENSE"
        DESTINATION share/doc/tilec)
install(DIRECTORY "${CMAKE_SOURCE_DIR}/docs" DESTINATION share/doc/tilec # lessons and pictures, too
        FILES_MATCHING PATTERN "*.md" PATTERN "*.tile" PATTERN "*.npy" PATTERN "*.svg")
install(DIRECTORY "${CMAKE_SOURCE_DIR}/editors" DESTINATION share/doc/tilec)
install(DIRECTORY "${CMAKE_SOURCE_DIR}/compiler/base/explain" # docs/diagnostics.md links here
        DESTINATION share/doc/tilec/compiler/base)

# What the command says of itself, to where shells and man look.
install(CODE "
function(say words file)
  set(file \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/share/\${file}\")
  get_filename_component(dir \"\${file}\" DIRECTORY)
  file(MAKE_DIRECTORY \"\${dir}\")
  execute_process(COMMAND \"$<TARGET_FILE:tilec>\" \${words} OUTPUT_FILE \"\${file}\"
                  COMMAND_ERROR_IS_FATAL ANY)
endfunction()
say(\"completion;bash\" bash-completion/completions/tilec)
say(\"completion;zsh\" zsh/site-functions/_tilec)
say(\"completion;fish\" fish/vendor_completions.d/tilec.fish)
say(manual man/man1/tilec.1)")

install(EXPORT tilecTargets NAMESPACE tilec:: DESTINATION ${package})
configure_package_config_file("${CMAKE_SOURCE_DIR}/cmake/tilecConfig.cmake.in"
                              "${CMAKE_BINARY_DIR}/package/tilecConfig.cmake"
                              INSTALL_DESTINATION ${package} NO_SET_AND_CHECK_MACRO
                              NO_CHECK_REQUIRED_COMPONENTS_MACRO)
write_basic_package_version_file("${CMAKE_BINARY_DIR}/package/tilecConfigVersion.cmake"
                                 COMPATIBILITY SameMinorVersion)
install(FILES "${CMAKE_BINARY_DIR}/package/tilecConfig.cmake"
              "${CMAKE_BINARY_DIR}/package/tilecConfigVersion.cmake"
              "${CMAKE_SOURCE_DIR}/cmake/tilecKernels.cmake" DESTINATION ${package})
foreach(pc tilec tilec-runtime)
  configure_file("${CMAKE_SOURCE_DIR}/cmake/${pc}.pc.in" "${CMAKE_BINARY_DIR}/package/${pc}.pc"
                 @ONLY)
  install(FILES "${CMAKE_BINARY_DIR}/package/${pc}.pc" DESTINATION lib/pkgconfig)
endforeach()
