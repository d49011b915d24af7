# cmake -DFILE=text -DNAME=symbol -DOUT=text.c -P embed_text.cmake: the file as `const char symbol[]`.
file(READ "${FILE}" hex HEX)
string(REGEX REPLACE "(................................)" "\\1\n" hex "${hex}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," hex "${hex}")
file(WRITE "${OUT}" "/* Made by embed_text.cmake. */
extern const char ${NAME}[];
const char ${NAME}[] = {
${hex}0};
")
