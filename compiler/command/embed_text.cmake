# cmake "-DFILES=a.md|b.md" -DPREFIX=tl_page_ -DOUT=text.c -P embed_text.cmake
# Each file as `const char PREFIXa[]`, named for the file without its extensions.
string(REPLACE "|" ";" files "${FILES}")
set(arrays "")
foreach(file ${files})
  get_filename_component(name "${file}" NAME_WE)
  file(READ "${file}" hex HEX)
  string(REGEX REPLACE "(................................)" "\\1\n" hex "${hex}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," hex "${hex}")
  string(APPEND arrays "extern const char ${PREFIX}${name}[];\n"
                       "const char ${PREFIX}${name}[] = {\n${hex}0};\n")
endforeach()
file(WRITE "${OUT}" "/* Made by embed_text.cmake. */\n${arrays}")
