/* The launch record as JSON: one table of fields per record serves the writer and the reader.
 * Invariant of the reader: it never reads beyond `end`, recurses at most JSON_DEPTH deep, and what
 * it accepts can be launched without further checks of presence or type. */
#include "tilec/kernel_info.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { JSON_DEPTH = 32, MAX_RECORDS = 4096 };

typedef enum FieldKind {
   FIELD_TEXT, /* const char *; null or absence = NULL when optional */
   FIELD_U32,
   FIELD_BOOL,
   FIELD_DTYPE,   /* TilecDtype, spelled as in signatures */
   FIELD_HIDDEN,  /* TilecHiddenKind, spelled */
   FIELD_U32S,    /* uint32_t[count] */
   FIELD_TEXTS,   /* const char *[count]; trailing NULLs are left out */
   FIELD_RECORDS, /* pointer to records of `sub`, their number at count_at */
} FieldKind;

typedef struct RecordKind RecordKind;

typedef struct Field {
   const char *name;
   FieldKind kind;
   bool optional;   /* may be absent: then zero or NULL */
   size_t at;       /* offset in the struct */
   unsigned count;  /* U32S, TEXTS: array length */
   size_t count_at; /* RECORDS: offset of the uint32_t that counts them */
   const RecordKind *sub;
} Field;

struct RecordKind {
   const char *name; /* for messages */
   size_t bytes;     /* of the struct */
   const Field *fields;
   unsigned num_fields;
};

#define F(T, field, kind_, opt)                                                                    \
   {                                                                                               \
      .name = #field, .kind = kind_, .optional = opt, .at = offsetof(T, field)                     \
   }
#define FN(T, field, kind_, n, opt)                                                                \
   {.name = #field, .kind = kind_, .optional = opt, .at = offsetof(T, field), .count = n}
#define FR(T, field, sub_)                                                                         \
   {.name = #field, .kind = FIELD_RECORDS, .at = offsetof(T, field),                               \
    .count_at = offsetof(T, num_##field), .sub = &sub_}
#define RECORD(T, id, word)                                                                        \
   static const RecordKind id = {word, sizeof(T), id##_fields,                                     \
                                 sizeof id##_fields / sizeof id##_fields[0]}

static const Field arg_fields[] = {
   F(TilecArgInfo, name, FIELD_TEXT, false),    F(TilecArgInfo, type, FIELD_TEXT, false),
   F(TilecArgInfo, value, FIELD_TEXT, true),    F(TilecArgInfo, is_constexpr, FIELD_BOOL, true),
   F(TilecArgInfo, is_const, FIELD_BOOL, true), F(TilecArgInfo, divisible, FIELD_U32, true),
};
RECORD(TilecArgInfo, arg, "argument");

static const Field hidden_fields[] = {
   F(TilecHiddenArg, kind, FIELD_HIDDEN, false),
   F(TilecHiddenArg, base, FIELD_TEXT, true),
   F(TilecHiddenArg, dtype, FIELD_DTYPE, false),
   F(TilecHiddenArg, rank, FIELD_U32, true),
   FN(TilecHiddenArg, dims, FIELD_TEXTS, TILEC_TENSOR_MAP_RANK, false),
   FN(TilecHiddenArg, strides, FIELD_TEXTS, TILEC_TENSOR_MAP_RANK, true),
   FN(TilecHiddenArg, box, FIELD_U32S, TILEC_TENSOR_MAP_RANK, true),
   F(TilecHiddenArg, swizzle_bytes, FIELD_U32, true),
   F(TilecHiddenArg, fill_nan, FIELD_BOOL, true),
};
RECORD(TilecHiddenArg, hidden, "hidden argument");

static const Field kernel_fields[] = {
   F(TilecKernelInfo, name, FIELD_TEXT, false),
   F(TilecKernelInfo, entry, FIELD_TEXT, false),
   F(TilecKernelInfo, file, FIELD_TEXT, true),
   F(TilecKernelInfo, line, FIELD_U32, true),
   F(TilecKernelInfo, num_warps, FIELD_U32, false),
   F(TilecKernelInfo, num_stages, FIELD_U32, true),
   F(TilecKernelInfo, threads, FIELD_U32, false),
   F(TilecKernelInfo, shared_bytes, FIELD_U32, false),
   FN(TilecKernelInfo, cluster, FIELD_U32S, 3, false),
   F(TilecKernelInfo, cooperative, FIELD_BOOL, true),
   F(TilecKernelInfo, programmatic, FIELD_BOOL, true),
   FN(TilecKernelInfo, grid, FIELD_TEXTS, 3, true),
   FN(TilecKernelInfo, launch_grid, FIELD_TEXTS, 3, true),
   F(TilecKernelInfo, when, FIELD_TEXT, true),
   F(TilecKernelInfo, short_when, FIELD_TEXT, true),
   F(TilecKernelInfo, few_per_sm, FIELD_U32, true),
   FR(TilecKernelInfo, args, arg),
   FR(TilecKernelInfo, hidden, hidden),
};
RECORD(TilecKernelInfo, kernel, "kernel");

static const Field image_fields[] = {
   F(TilecImageInfo, format, FIELD_U32, false),    F(TilecImageInfo, producer, FIELD_TEXT, true),
   F(TilecImageInfo, arch, FIELD_TEXT, false),     F(TilecImageInfo, ptx_version, FIELD_U32, false),
   F(TilecImageInfo, line_info, FIELD_BOOL, true), FR(TilecImageInfo, kernels, kernel),
};
RECORD(TilecImageInfo, image, "image");

static const char *const dtype_names[TILEC_DTYPE_COUNT] = {[TILEC_DTYPE_NONE] = "none",
#define ROW(id, number, text, bytes, kind) [TILEC_##id] = text,
                                                           TILEC_DTYPE_TABLE(ROW)
#undef ROW
};
static const char *const hidden_names[] = {
   [0] = "",
   [TILEC_HIDDEN_TENSOR_MAP] = "tensor_map",
   [TILEC_HIDDEN_EXPR] = "expr",
};
#define LENGTH(a) (sizeof(a) / sizeof((a)[0]))

/* ---- Writing --------------------------------------------------------------------------------- */

typedef struct Writer {
   bool (*put)(void *user, const char *text, size_t len);
   void *user;
   bool ok; /* false once put refused */
} Writer;

static void
put(Writer *w, const char *text, size_t len)
{
   if (w->ok && len)
      w->ok = w->put(w->user, text, len);
}

static void __attribute__((format(printf, 2, 3)))
putf(Writer *w, const char *format, ...)
{
   char line[64];
   va_list ap;
   va_start(ap, format);
   int n = vsnprintf(line, sizeof line, format, ap);
   va_end(ap);
   assert(n >= 0 && (size_t)n < sizeof line);
   put(w, line, (size_t)n);
}

static void
put_text(Writer *w, const char *s)
{
   if (!s) {
      put(w, "null", 4);
      return;
   }
   put(w, "\"", 1);
   while (*s) {
      size_t n = strcspn(s, "\"\\");
      for (size_t i = 0; i < n; i++)
         if ((unsigned char)s[i] < 0x20)
            n = i;
      put(w, s, n);
      s += n;
      if (*s) {
         if (*s == '"' || *s == '\\')
            putf(w, "\\%c", *s);
         else
            putf(w, "\\u%04x", (unsigned)(unsigned char)*s);
         s++;
      }
   }
   put(w, "\"", 1);
}

static void write_record(Writer *w, const RecordKind *kind, const char *record, unsigned depth);

static void
write_array(Writer *w, const Field *f, const char *at, const char *record, unsigned depth)
{
   if (f->kind == FIELD_RECORDS) {
      uint32_t n;
      const char *items;
      memcpy(&n, record + f->count_at, sizeof n);
      memcpy(&items, at, sizeof items);
      put(w, "[", 1);
      for (uint32_t i = 0; i < n; i++) {
         putf(w, "%s\n%*s", i ? "," : "", (int)(depth * 2 + 2), "");
         write_record(w, f->sub, items + i * f->sub->bytes, depth + 1);
      }
      put(w, "]", 1);
      return;
   }
   put(w, "[", 1);
   for (unsigned i = 0; i < f->count; i++) {
      if (f->kind == FIELD_U32S) {
         putf(w, "%s%u", i ? ", " : "", ((const uint32_t *)(const void *)at)[i]);
      } else {
         const char *text = ((const char *const *)(const void *)at)[i];
         bool more = false;
         for (unsigned k = i; k < f->count; k++)
            more |= ((const char *const *)(const void *)at)[k] != NULL;
         if (!more)
            break;
         if (i)
            put(w, ", ", 2);
         put_text(w, text);
      }
   }
   put(w, "]", 1);
}

static void
write_field(Writer *w, const Field *f, const char *record, unsigned depth)
{
   const char *at = record + f->at;
   uint32_t u;
   const char *s;
   int e;
   switch (f->kind) {
   case FIELD_TEXT:
      memcpy(&s, at, sizeof s);
      put_text(w, s);
      break;
   case FIELD_U32:
      memcpy(&u, at, sizeof u);
      putf(w, "%u", u);
      break;
   case FIELD_BOOL:
      putf(w, "%s", *(const bool *)(const void *)at ? "true" : "false");
      break;
   case FIELD_DTYPE:
      memcpy(&e, at, sizeof e);
      put_text(w, dtype_names[e]);
      break;
   case FIELD_HIDDEN:
      memcpy(&e, at, sizeof e);
      put_text(w, hidden_names[e]);
      break;
   case FIELD_U32S:
   case FIELD_TEXTS:
   case FIELD_RECORDS:
      write_array(w, f, at, record, depth);
   }
}

static void
write_record(Writer *w, const RecordKind *kind, const char *record, unsigned depth)
{
   put(w, "{", 1);
   for (unsigned i = 0; i < kind->num_fields; i++) {
      putf(w, "%s\n%*s\"%s\": ", i ? "," : "", (int)(depth * 2 + 2), "", kind->fields[i].name);
      write_field(w, &kind->fields[i], record, depth + 1);
   }
   putf(w, "\n%*s}", (int)(depth * 2), "");
}

TilecStatus
tilec_image_write_json(const TilecImageInfo *info,
                       bool (*put_fn)(void *user, const char *text, size_t len), void *user)
{
   if (!info || !put_fn)
      return TILEC_BAD_ARGUMENT;
   Writer w = {put_fn, user, true};
   write_record(&w, &image, (const char *)info, 0);
   put(&w, "\n", 1);
   return w.ok ? TILEC_OK : TILEC_IO;
}

/* ---- Reading --------------------------------------------------------------------------------- */

typedef struct Chunk {
   struct Chunk *next;
   _Alignas(16) char bytes[];
} Chunk;

typedef struct Owned {
   TilecImageInfo info; /* first: its address is what the caller holds */
   Chunk *chunks;
} Owned;

typedef struct Reader {
   const char *begin, *at, *end;
   unsigned depth; /* of nesting now */
   Owned *owned;
   TilecStatus status; /* TILEC_OK until the first mistake */
   char *error;
   size_t error_bytes;
} Reader;

static bool read_value(Reader *r, const Field *f, char *record);
static bool skip_value(Reader *r);

static bool __attribute__((format(printf, 2, 3)))
bad(Reader *r, const char *format, ...)
{
   if (r->status != TILEC_OK)
      return false;
   r->status = TILEC_BAD_IMAGE;
   unsigned line = 1;
   for (const char *p = r->begin; p < r->at; p++)
      line += *p == '\n';
   char text[160];
   va_list ap;
   va_start(ap, format);
   vsnprintf(text, sizeof text, format, ap);
   va_end(ap);
   if (r->error_bytes)
      snprintf(r->error, r->error_bytes, "launch record, line %u: %s", line, text);
   return false;
}

static void *
grab(Reader *r, size_t bytes)
{
   Chunk *c = calloc(1, sizeof *c + bytes);
   if (!c) {
      r->status = TILEC_NO_MEMORY;
      return NULL;
   }
   c->next = r->owned->chunks;
   r->owned->chunks = c;
   return c->bytes;
}

static void
skip_space(Reader *r)
{
   while (r->at < r->end && (*r->at == ' ' || *r->at == '\n' || *r->at == '\t' || *r->at == '\r'))
      r->at++;
}

static bool
take(Reader *r, const char *text)
{
   size_t n = strlen(text);
   skip_space(r);
   assert(r->at <= r->end);
   if ((size_t)(r->end - r->at) < n || memcmp(r->at, text, n) != 0)
      return false;
   r->at += n;
   return true;
}

static int
hex4(const char *p)
{
   int v = 0;
   for (int i = 0; i < 4; i++) {
      const char *digits = "0123456789abcdef0123456789ABCDEF", *d = p[i] ? strchr(digits, p[i]) : 0;
      if (!d)
         return -1;
      v = v * 16 + (int)((d - digits) % 16);
   }
   return v;
}

/* One \uXXXX escape without surrogate pairs (the writer never makes them) as UTF-8. */
static bool
read_unicode(Reader *r, char **out)
{
   int c = r->end - r->at >= 4 ? hex4(r->at) : -1;
   if (c <= 0 || (c >= 0xd800 && c < 0xe000))
      return bad(r, "bad \\u escape");
   r->at += 4;
   char *o = *out;
   if (c < 0x80) {
      *o++ = (char)c;
   } else if (c < 0x800) {
      *o++ = (char)(0xc0 | c >> 6);
      *o++ = (char)(0x80 | (c & 0x3f));
   } else {
      *o++ = (char)(0xe0 | c >> 12);
      *o++ = (char)(0x80 | (c >> 6 & 0x3f));
      *o++ = (char)(0x80 | (c & 0x3f));
   }
   *out = o;
   return true;
}

/* A string into a fresh block; escapes only shrink, so the raw length is enough. */
static bool
read_text(Reader *r, const char **out)
{
   if (!take(r, "\""))
      return bad(r, "a string is expected");
   const char *close = r->at;
   while (close < r->end && *close != '"')
      close += *close == '\\' && r->end - close > 1 ? 2 : 1;
   if (close >= r->end)
      return bad(r, "string without end");
   char *text = grab(r, (size_t)(close - r->at) + 1), *o = text;
   if (!text)
      return false;
   while (r->at < close) {
      char c = *r->at++;
      if ((unsigned char)c < 0x20)
         return bad(r, "control character in a string");
      if (c != '\\') {
         *o++ = c;
         continue;
      }
      static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
      c = *r->at++;
      const char *found = c ? strchr(from, c) : NULL;
      if (found)
         *o++ = to[found - from];
      else if (c != 'u' || !read_unicode(r, &o))
         return bad(r, "bad escape in a string");
   }
   assert(r->at == close && close < r->end);
   r->at = close + 1;
   *out = text;
   return true;
}

static bool
read_u32(Reader *r, uint32_t *out)
{
   uint64_t v = 0;
   skip_space(r);
   const char *first = r->at;
   while (r->at < r->end && *r->at >= '0' && *r->at <= '9' && v <= UINT32_MAX)
      v = v * 10 + (uint64_t)(*r->at++ - '0');
   bool ends = r->at >= r->end || strchr(",]} \n\r\t", *r->at);
   if (r->at == first || v > UINT32_MAX || !ends || (*first == '0' && r->at - first > 1))
      return bad(r, "a whole number below 2^32 is expected");
   *out = (uint32_t)v;
   return true;
}

static bool
read_word(Reader *r, const char *const *names, size_t num, const char *what, int *out)
{
   const char *text;
   if (!read_text(r, &text))
      return false;
   for (size_t i = 0; i < num; i++)
      if (names[i] && strcmp(names[i], text) == 0) {
         *out = (int)i;
         return true;
      }
   return bad(r, "unknown %s '%.40s'", what, text);
}

static bool
enter(Reader *r)
{
   return ++r->depth <= JSON_DEPTH || bad(r, "nested too deeply");
}

static bool
skip_members(Reader *r, bool keyed, const char *close)
{
   const char *key;
   if (!enter(r))
      return false;
   if (!take(r, close)) {
      do {
         if (keyed && (!read_text(r, &key) || (!take(r, ":") && !bad(r, "':' expected"))))
            return false;
         if (!skip_value(r))
            return false;
      } while (take(r, ","));
      if (!take(r, close))
         return bad(r, "'%s' expected", close);
   }
   assert(r->depth > 0);
   r->depth--;
   return true;
}

/* Any JSON value, for fields that a newer writer added. */
static bool
skip_value(Reader *r)
{
   const char *text;
   if (take(r, "{"))
      return skip_members(r, true, "}");
   if (take(r, "["))
      return skip_members(r, false, "]");
   if (take(r, "true") || take(r, "false") || take(r, "null"))
      return true;
   if (r->at < r->end && *r->at == '"')
      return read_text(r, &text);
   const char *first = r->at;
   while (r->at < r->end && *r->at && strchr("+-.eE0123456789", *r->at))
      r->at++;
   return r->at > first || bad(r, "a value is expected");
}

static bool
read_record(Reader *r, const RecordKind *kind, char *record)
{
   uint64_t seen = 0;
   assert(kind->num_fields <= 64); /* bits of `seen` */
   if (!enter(r))
      return false;
   if (!take(r, "{"))
      return bad(r, "'{' expected for a %s", kind->name);
   if (!take(r, "}")) {
      do {
         const char *key;
         if (!read_text(r, &key))
            return false;
         if (!take(r, ":"))
            return bad(r, "':' expected");
         unsigned f = 0;
         while (f < kind->num_fields && strcmp(kind->fields[f].name, key) != 0)
            f++;
         if (f == kind->num_fields) {
            if (!skip_value(r))
               return false;
            continue;
         }
         if (seen >> f & 1)
            return bad(r, "'%s' is given twice", key);
         seen |= (uint64_t)1 << f;
         if (!read_value(r, &kind->fields[f], record))
            return bad(r, "bad '%s'", key);
      } while (take(r, ","));
      if (!take(r, "}"))
         return bad(r, "'}' or ',' expected");
   }
   for (unsigned f = 0; f < kind->num_fields; f++)
      if (!kind->fields[f].optional && !(seen >> f & 1))
         return bad(r, "%s without '%s'", kind->name, kind->fields[f].name);
   r->depth--;
   return true;
}

/* Counts by skipping ahead, then reads into one exact block. */
static bool
read_records(Reader *r, const Field *f, char *record)
{
   uint32_t n = 0;
   if (!take(r, "["))
      return bad(r, "'[' expected");
   const char *first = r->at;
   if (take(r, "]")) {
      memcpy(record + f->count_at, &n, sizeof n);
      return true;
   }
   do {
      if (++n > MAX_RECORDS)
         return bad(r, "more than %d records", MAX_RECORDS);
      if (!skip_value(r))
         return false;
   } while (take(r, ","));
   r->at = first;
   char *items = grab(r, n * f->sub->bytes);
   if (!items)
      return false;
   for (uint32_t i = 0; i < n; i++)
      if ((i && !take(r, ",")) || !read_record(r, f->sub, items + i * f->sub->bytes))
         return bad(r, "bad list of %ss", f->sub->name);
   memcpy(record + f->at, &items, sizeof items);
   memcpy(record + f->count_at, &n, sizeof n);
   return take(r, "]") || bad(r, "']' expected");
}

static bool
read_texts(Reader *r, const Field *f, char *at)
{
   const char **texts = (const char **)(void *)at;
   if (!take(r, "["))
      return bad(r, "'[' expected");
   if (take(r, "]"))
      return true;
   unsigned i = 0;
   do {
      if (i == f->count)
         return bad(r, "more than %u elements", f->count);
      if (!take(r, "null") && !read_text(r, &texts[i]))
         return false;
      i++;
   } while (take(r, ","));
   return take(r, "]") || bad(r, "']' expected");
}

static bool
read_u32s(Reader *r, const Field *f, char *at)
{
   uint32_t *numbers = (uint32_t *)(void *)at;
   if (!take(r, "["))
      return bad(r, "'[' expected");
   for (unsigned i = 0; i < f->count; i++)
      if ((i && !take(r, ",")) || !read_u32(r, &numbers[i]))
         return bad(r, "%u numbers are expected", f->count);
   return take(r, "]") || bad(r, "%u numbers are expected", f->count);
}

static bool
read_value(Reader *r, const Field *f, char *record)
{
   char *at = record + f->at;
   switch (f->kind) {
   case FIELD_TEXT:
      if (f->optional && take(r, "null"))
         return true;
      return read_text(r, (const char **)(void *)at);
   case FIELD_U32:
      return read_u32(r, (uint32_t *)(void *)at);
   case FIELD_BOOL:
      *(bool *)(void *)at = take(r, "true");
      return *(bool *)(void *)at || take(r, "false") || bad(r, "true or false is expected");
   case FIELD_DTYPE:
      return read_word(r, dtype_names, LENGTH(dtype_names), "type", (int *)(void *)at);
   case FIELD_HIDDEN:
      return read_word(r, hidden_names, LENGTH(hidden_names), "hidden argument", (int *)(void *)at);
   case FIELD_U32S:
      return read_u32s(r, f, at);
   case FIELD_TEXTS:
      return read_texts(r, f, at);
   case FIELD_RECORDS:
      return read_records(r, f, record);
   }
   return false;
}

TilecStatus
tilec_image_read_json(const char *json, size_t len, TilecImageInfo **out, char *error,
                      size_t error_bytes)
{
   if (out)
      *out = NULL;
   if (!json || !out)
      return TILEC_BAD_ARGUMENT;
   if (len == (size_t)-1)
      len = strlen(json);
   Owned *owned = calloc(1, sizeof *owned);
   if (!owned)
      return TILEC_NO_MEMORY;
   Reader r = {.begin = json,
               .at = json,
               .end = json + len,
               .owned = owned,
               .error = error,
               .error_bytes = error ? error_bytes : 0};
   if (error && error_bytes)
      error[0] = 0;
   if (read_record(&r, &image, (char *)&owned->info)) {
      skip_space(&r);
      if (r.at != r.end)
         bad(&r, "text after the record");
      else if (owned->info.format != TILEC_IMAGE_FORMAT)
         bad(&r, "format %u; this runtime reads %u", owned->info.format, TILEC_IMAGE_FORMAT);
   }
   if (r.status == TILEC_OK)
      *out = &owned->info;
   else
      tilec_image_info_free(&owned->info);
   return r.status;
}

void
tilec_image_info_free(TilecImageInfo *info)
{
   if (!info)
      return;
   Owned *owned = (Owned *)(void *)info;
   for (Chunk *c = owned->chunks, *next; c; c = next) {
      next = c->next;
      free(c);
   }
   free(owned);
}
