# cmake -DFILES=a.tile|b.tile -DOUT=stdlib_text.c -P embed_stdlib.cmake
# Writes one byte array for each file and the lookup function.
set(arrays "")
set(rows "")
string(REPLACE "|" ";" files "${FILES}")
foreach(file ${files})
  get_filename_component(name "${file}" NAME_WE)
  file(READ "${file}" hex HEX)
  string(LENGTH "${hex}" digits)
  math(EXPR bytes "${digits} / 2")
  string(REGEX REPLACE "(................................)" "\\1\n" hex "${hex}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," hex "${hex}")
  string(APPEND arrays "static const unsigned char text_${name}[] = {\n${hex}0};\n")
  string(APPEND rows "   {\"${name}\", text_${name}, ${bytes}},\n")
endforeach()
file(WRITE "${OUT}.new" "/* Made by embed_stdlib.cmake from stdlib/. */
#include \"sema/sema.h\"

#include <string.h>

${arrays}
static const struct {
   const char *name;
   const unsigned char *text;
   size_t len;
} row[] = {
${rows}   {NULL, NULL, 0},
};

const char *
tl_stdlib_text(const char *name, size_t *len)
{
   for (size_t i = 0; row[i].name; i++)
      if (strcmp(row[i].name, name) == 0) {
         *len = row[i].len;
         return (const char *)row[i].text;
      }
   return NULL;
}
")
execute_process(COMMAND "${CMAKE_COMMAND}" -E copy_if_different "${OUT}.new" "${OUT}")
file(TOUCH "${OUT}")
