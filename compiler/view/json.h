/* Writing JSON that may stand inside of a <script> element: no '<' occurs in it, and whatever bytes
 * the strings have, the text is UTF-8.  Commas come by themselves:
 *    tl_view_json_open(out, '{');
 *    tl_view_json_int(out, "line", 3);            an object's field
 *    tl_view_json_open_field(out, "at", '[');
 *    tl_view_json_int(out, NULL, 7);              an array's element
 *    tl_view_json_close(out, ']');
 *    tl_view_json_close(out, '}'); */
#ifndef TL_VIEW_JSON_H
#define TL_VIEW_JSON_H

#include "base/str.h"

#include <stdint.h>

void tl_view_json_open(TlSb *out, char bracket);
void tl_view_json_open_field(TlSb *out, const char *key, char bracket);
void tl_view_json_close(TlSb *out, char bracket);
/* key NULL: an element of an array. */
void tl_view_json_int(TlSb *out, const char *key, int64_t value);
void tl_view_json_bool(TlSb *out, const char *key, bool value);
void tl_view_json_text(TlSb *out, const char *key, const char *text); /* NULL becomes null */
void tl_view_json_mem(TlSb *out, const char *key, const char *text, size_t len);

#endif
