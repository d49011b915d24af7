/* Writing JSON: whatever bytes the strings have, the text is UTF-8.  Commas come by themselves:
 *    tl_json_open(out, '{');
 *    tl_json_int(out, "line", 3);            an object's field
 *    tl_json_open_field(out, "at", '[');
 *    tl_json_int(out, NULL, 7);              an array's element
 *    tl_json_close(out, ']');
 *    tl_json_close(out, '}'); */
#ifndef TL_BASE_JSON_H
#define TL_BASE_JSON_H

#include "base/str.h"

#include <stdbool.h>
#include <stdint.h>

void tl_json_open(TlSb *out, char bracket);
void tl_json_open_field(TlSb *out, const char *key, char bracket);
void tl_json_close(TlSb *out, char bracket);
/* key NULL: an element of an array. */
void tl_json_int(TlSb *out, const char *key, int64_t value);
void tl_json_bool(TlSb *out, const char *key, bool value);
/* With so many digits; what is not finite becomes null. */
void tl_json_double(TlSb *out, const char *key, double value, int digits);
void tl_json_str(TlSb *out, const char *key, const char *text); /* NULL becomes null */
void tl_json_mem(TlSb *out, const char *key, const char *text, size_t len);

#endif
