/* Strings of host code by their characters: text.c.  Positions and lengths count characters. */
#ifndef TL_SEMA_TEXT_H
#define TL_SEMA_TEXT_H

#include "sema/sema.h"

#include "base/str.h"

typedef enum TlAnswer { TL_NO, TL_YES, TL_UNKNOWN } TlAnswer;

/* What [lower:upper:step] takes of a sequence: `len` items, the first at `from`. */
typedef struct TlSlice {
   int64_t from, step;
   size_t len;
} TlSlice;

size_t tl_text_len(TlSema *s, TlText t);
/* Bytes before this character, or all of them where there are fewer. */
size_t tl_text_offset(TlSema *s, TlText t, size_t at);
TlSv tl_text_item(TlSema *s, TlText t, size_t at);
void tl_text_items(TlSema *s, TlText t, TlSv **items, size_t *len);
TlSv tl_text_slice(TlSema *s, TlText t, const TlSlice *slice);
bool tl_is_space(uint32_t c);
/* repr() shows the character as it is; it is not known of what Unicode may yet assign. */
TlAnswer tl_is_printable(uint32_t c);
void tl_put_escape(TlSb *out, uint32_t c); /* \x85, \u200b */
TlSv tl_text_ascii(TlSema *s, TlText t);   /* other characters as escapes */

/* ---- format.c ---- */
/* format(v, spec), after text in out; false after an error. */
bool tl_format_value(TlSema *s, const TlSv *v, TlText spec, TlRange range, TlSb *out);
/* fmt % arg */
TlSv tl_percent_format(TlSema *s, TlText fmt, const TlSv *arg, TlRange range);
/* Python's text of a float. */
void tl_float_repr(TlSb *out, double f);

#endif
