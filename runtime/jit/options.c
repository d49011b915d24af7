/* Expansions of tilec/compile_options.def. */
#include "jit/options.h"

#include <stdio.h>
#include <string.h>

/* ---- a row for each field -------------------------------------------------------------------- */

/* With a field that has no row these have an initializer too few, which is an error. */
__attribute__((unused)) static const TilecCompileOptions each_option_has_a_row = {
   0, /* struct_size */
#define TILEC_FIELD(field, result, source) 0,
#define TILEC_FIELDS(field, count, result, source) 0, 0,
#include "tilec/compile_options.def"
};

#define IN_SOURCE(...) __VA_ARGS__
#define IN_SPLIT(...) __VA_ARGS__
#define IN_OWN(...)
__attribute__((unused)) static const TilecSource each_field_has_a_row = {
   0, /* struct_size */
#define TILEC_FIELD(field, result, source) IN_##source(0, )
#define TILEC_FIELDS(field, count, result, source) IN_##source(0, 0, )
#include "tilec/compile_options.def"
   0, /* tune: not of the compiler */
};

/* ---- copies ---------------------------------------------------------------------------------- */

#define SAME_SOURCE(...) __VA_ARGS__
#define SAME_SPLIT(...)
#define SAME_OWN(...)

TilecCompileOptions
tl_options_of_source(const TilecSource *s)
{
   TilecCompileOptions o = {.struct_size = sizeof o};
#define TILEC_FIELD(field, result, source) SAME_##source(o.field = s->field;)
#define TILEC_FIELDS(field, count, result, source)                                                 \
   SAME_##source(o.field = s->field; o.count = s->count;)
#include "tilec/compile_options.def"
   return o;
}

TilecSource
tl_source_of_options(const TilecCompileOptions *o)
{
   TilecSource s = {.struct_size = sizeof s};
#define TILEC_FIELD(field, result, source) SAME_##source(s.field = o->field;)
#define TILEC_FIELDS(field, count, result, source)                                                 \
   SAME_##source(s.field = o->field; s.count = o->count;)
#include "tilec/compile_options.def"
   return s;
}

static bool
keep_text(TlTexts *texts, const char **text, size_t *len)
{
   bool ok = true;
   if (*text && *len == TILEC_STRLEN)
      *len = strlen(*text);
   *text = tl_texts_keep(texts, *text, *len, &ok);
   return ok;
}

static bool
keep_string(TlTexts *texts, const char **text)
{
   bool ok = true;
   *text = tl_texts_keep(texts, *text, TILEC_STRLEN, &ok);
   return ok;
}

static bool
keep_number(TlTexts *texts, const void *number)
{
   return texts && number;
}

static bool
keep_list(TlTexts *texts, const char *const **list, const size_t *count)
{
   return texts && list && count; /* the caller's */
}

bool
tl_source_keep_texts(TilecSource *s, TlTexts *texts)
{
   bool ok = true;
#define KEEP(at) _Generic((at), const char **: keep_string, default: keep_number)(texts, at)
#define KEEP_LIST(at, count)                                                                       \
   _Generic((at), const char **: keep_text, default: keep_list)(texts, at, count)
#define TILEC_FIELD(field, result, source) SAME_##source(ok &= KEEP(&s->field);)
#define TILEC_FIELDS(field, count, result, source)                                                 \
   SAME_##source(ok &= KEEP_LIST(&s->field, &s->count);)
#include "tilec/compile_options.def"
   return ok;
}

/* ---- the key of the cache -------------------------------------------------------------------- */

static void
add_string(TlBytes *b, const char *text)
{
   tl_bytes_text(b, text, TILEC_STRLEN);
}

static void
add_strings(TlBytes *b, const char *const *list, size_t count)
{
   tl_bytes_number(b, count);
   for (size_t i = 0; i < count; i++)
      add_string(b, list[i]);
}

static void
add_defines(TlBytes *b, const TilecDefine *list, size_t count)
{
   tl_bytes_number(b, count);
   for (size_t i = 0; i < count; i++) {
      add_string(b, list[i].name);
      add_string(b, list[i].value);
   }
}

void
tl_options_key(const TilecCompileOptions *o, TlBytes *b)
{
#define ADD(value) _Generic((value), const char *: add_string, default: tl_bytes_number)(b, value)
#define ADD_LIST(list, count)                                                                      \
   _Generic((list), const char *: tl_bytes_text, const char *const *: add_strings,                 \
      const TilecDefine *: add_defines)(b, list, count)
#define KEY_CODE(...) __VA_ARGS__
#define KEY_IMAGE(...) __VA_ARGS__
#define KEY_SHOWN(...)
#define KEY_NEITHER(...)
#define TILEC_FIELD(field, result, source) KEY_##result(ADD(o->field);)
#define TILEC_FIELDS(field, count, result, source) KEY_##result(ADD_LIST(o->field, o->count);)
#include "tilec/compile_options.def"
}

/* ---- the key of the tuner -------------------------------------------------------------------- */

uint64_t
tl_mix_text(uint64_t h, const char *text)
{
   for (; text && *text; text++)
      h = (h ^ (unsigned char)*text) * 0x100000001b3u;
   return (h ^ 0xff) * 0x100000001b3u;
}

/* Numbers go in as one text, after the others. */
typedef struct Mix {
   uint64_t hash;
   size_t len;
   char numbers[256];
} Mix;

static void
mix_string(Mix *m, const char *text)
{
   m->hash = tl_mix_text(m->hash, text);
}

static void
mix_strings(Mix *m, const char *const *list, size_t count)
{
   for (size_t i = 0; i < count; i++)
      mix_string(m, list[i]);
}

static void
mix_number(Mix *m, uint64_t v)
{
   m->len += (size_t)snprintf(m->numbers + m->len, sizeof m->numbers - m->len, "%s%llu",
                              m->len ? " " : "", (unsigned long long)v);
}

uint64_t
tl_source_hash(const TilecSource *s, uint64_t hash)
{
   Mix m = {.hash = hash};
#define MIX(value) _Generic((value), const char *: mix_string, default: mix_number)(&m, value)
#define TUNE_CODE(...) __VA_ARGS__
#define TUNE_IMAGE(...)
#define TUNE_SHOWN(...)
#define TUNE_NEITHER(...)
#define TILEC_FIELD(field, result, source) TUNE_##result(MIX(s->field);)
#define TILEC_FIELDS(field, count, result, source)                                                 \
   TUNE_##result(mix_strings(&m, s->field, s->count);)
#include "tilec/compile_options.def"
   return tl_mix_text(m.hash, m.numbers);
}
