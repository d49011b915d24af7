/* See safetensors.h.  Three steps: JSON tokens, the header built of them, and checks of the whole.
 * Every function returns false after the first mistake, which `fail` has described. */
#include "safetensors.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LENGTH_BYTES = 8, MAX_HEADER = 100 << 20 };

typedef struct Reader {
   const unsigned char *begin, *at, *end; /* of the header */
   StFile *file;
   size_t strings_used; /* of file->strings */
   bool has_metadata;
   char *error;
   size_t error_bytes;
} Reader;

static const struct {
   const char *name;
   TilecDtype dtype;
} dtypes[] = {{"BOOL", TILEC_I1},  {"I8", TILEC_I8},           {"U8", TILEC_U8},
              {"I16", TILEC_I16},  {"U16", TILEC_U16},         {"I32", TILEC_I32},
              {"U32", TILEC_U32},  {"I64", TILEC_I64},         {"U64", TILEC_U64},
              {"F16", TILEC_FP16}, {"BF16", TILEC_BF16},       {"F32", TILEC_FP32},
              {"F64", TILEC_FP64}, {"F8_E4M3", TILEC_FP8E4NV}, {"F8_E5M2", TILEC_FP8E5}};

static const unsigned char dtype_bytes[TILEC_DTYPE_COUNT] = {
#define BYTES(id, number, text, bytes, kind) [number] = bytes,
   TILEC_DTYPE_TABLE(BYTES)
#undef BYTES
};

static bool
fail(Reader *r, const char *format, ...)
{
   va_list ap;
   va_start(ap, format);
   vsnprintf(r->error, r->error_bytes, format, ap);
   va_end(ap);
   return false;
}

static bool
fail_here(Reader *r, const char *expected)
{
   unsigned long long byte = (unsigned long long)(r->at - r->begin) + LENGTH_BYTES;
   if (r->at == r->end)
      return fail(r, "byte %llu: the header ends where %s was expected", byte, expected);
   return fail(r, "byte %llu: expected %s, found 0x%02x", byte, expected, *r->at);
}

/* ---- JSON ---- */
static void
skip_space(Reader *r)
{
   while (r->at < r->end && *r->at && strchr(" \t\r\n", *r->at))
      r->at++;
}

/* Takes `c` if it comes next. */
static bool
accept(Reader *r, char c)
{
   skip_space(r);
   bool found = r->at < r->end && *r->at == (unsigned char)c;
   r->at += found;
   return found;
}

static bool
expect(Reader *r, char c)
{
   char what[] = {'\'', c, '\'', 0};
   return accept(r, c) || fail_here(r, what);
}

static void
put(Reader *r, unsigned byte)
{
   r->file->strings[r->strings_used++] = (char)byte;
}

static void
put_utf8(Reader *r, uint32_t c)
{
   if (c < 0x80) {
      put(r, c);
      return;
   }
   unsigned more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
   put(r, (0xF00u >> (more + 1) & 0xFF) | c >> 6 * more);
   while (more--)
      put(r, 0x80 | (c >> 6 * more & 0x3F));
}

static bool
hex4(Reader *r, uint32_t *value)
{
   *value = 0;
   for (int i = 0; i < 4; i++, r->at++) {
      static const char digits[] = "0123456789abcdef0123456789ABCDEF";
      const char *digit = r->at < r->end && *r->at ? strchr(digits, *r->at) : NULL;
      if (!digit)
         return fail_here(r, "a hexadecimal digit");
      *value = *value << 4 | (uint32_t)((digit - digits) & 15);
   }
   return true;
}

/* After "\u": one code point, or the two halves of a surrogate pair. */
static bool
unicode_escape(Reader *r)
{
   uint32_t c, low = 0;
   if (!hex4(r, &c))
      return false;
   if (c >= 0xD800 && c < 0xDC00) {
      if (r->end - r->at < 2 || r->at[0] != '\\' || r->at[1] != 'u')
         return fail_here(r, "the second half of a surrogate pair");
      r->at += 2;
      if (!hex4(r, &low))
         return false;
      c = 0x10000 + ((c & 0x3FF) << 10) + (low & 0x3FF);
   }
   bool is_paired = low >= 0xDC00 && low < 0xE000;
   if (c == 0 || (c >= 0xDC00 && c < 0xE000) || (c >= 0x10000 && !is_paired))
      return fail_here(r, "an escape that stands for a character other than NUL");
   put_utf8(r, c);
   return true;
}

static bool
escape(Reader *r)
{
   static const char letters[] = "\"\\/bfnrt", meaning[] = "\"\\/\b\f\n\r\t";
   if (r->at < r->end && *r->at == 'u') {
      r->at++;
      return unicode_escape(r);
   }
   const char *letter = r->at < r->end && *r->at ? strchr(letters, *r->at) : NULL;
   if (!letter)
      return fail_here(r, "one of \" \\ / b f n r t u after a backslash");
   r->at++;
   put(r, (unsigned char)meaning[letter - letters]);
   return true;
}

/* How many bytes the UTF-8 sequence at `at` has; 0 when it is none. */
static unsigned
utf8_length(const unsigned char *at, const unsigned char *end)
{
   static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
   unsigned n = *at < 0x80 ? 1 : *at >> 5 == 6 ? 2 : *at >> 4 == 14 ? 3 : *at >> 3 == 30 ? 4 : 0;
   if (n < 2 || end - at < n)
      return n < 2 ? n : 0;
   uint32_t c = *at & (0x7Fu >> n);
   for (unsigned i = 1; i < n; i++) {
      if (at[i] >> 6 != 2)
         return 0;
      c = c << 6 | (at[i] & 0x3F);
   }
   bool is_surrogate = c >= 0xD800 && c < 0xE000;
   return c < least[n] || c > 0x10FFFF || is_surrogate ? 0 : n;
}

/* Decoded, ended by NUL.  It is never longer than its text with the quotes, so that `strings`, as
 * large as the header, holds all of them. */
static bool
string(Reader *r, const char **out)
{
   *out = r->file->strings + r->strings_used;
   if (!accept(r, '"'))
      return fail_here(r, "a string");
   while (r->at < r->end && *r->at != '"') {
      unsigned n = utf8_length(r->at, r->end);
      if (*r->at < 0x20 || n == 0)
         return fail_here(r, "a character in UTF-8");
      if (*r->at == '\\') {
         r->at++;
         if (!escape(r))
            return false;
      } else {
         while (n--)
            put(r, *r->at++);
      }
   }
   put(r, 0);
   return expect(r, '"');
}

static bool
whole_number(Reader *r, uint64_t *out)
{
   skip_space(r);
   const unsigned char *first = r->at;
   *out = 0;
   for (; r->at < r->end && *r->at >= '0' && *r->at <= '9'; r->at++) {
      if (*out > (UINT64_MAX - 9) / 10 || (r->at > first && *first == '0'))
         return fail_here(r, "a whole number below 2^64 without leading zeros");
      *out = *out * 10 + (uint64_t)(*r->at - '0');
   }
   return r->at > first || fail_here(r, "a whole number");
}

/* [n, n, ..] of at most `max` numbers. */
static bool
number_list(Reader *r, uint64_t *out, unsigned max, unsigned *count)
{
   *count = 0;
   if (!expect(r, '['))
      return false;
   if (accept(r, ']'))
      return true;
   do {
      if (*count == max)
         return fail_here(r, "']': the list is too long");
      if (!whole_number(r, &out[(*count)++]))
         return false;
   } while (accept(r, ','));
   return expect(r, ']');
}

/* {"key": .., ..}: `member` reads what follows each colon. */
static bool
object(Reader *r, bool (*member)(Reader *r, const char *key, void *user), void *user)
{
   const char *key;
   if (!expect(r, '{'))
      return false;
   if (accept(r, '}'))
      return true;
   do {
      if (!string(r, &key) || !expect(r, ':') || !member(r, key, user))
         return false;
   } while (accept(r, ','));
   return expect(r, '}');
}

/* ---- the header ---- */

/* One more element: arrays double when their length is a power of two. */
static void *
grow(Reader *r, void *array, size_t count, size_t size)
{
   if (count & (count - 1))
      return array;
   void *more = realloc(array, (count ? 2 * count : 1) * size);
   if (!more)
      fail(r, "out of memory");
   return more;
}

static bool
metadata_member(Reader *r, const char *key, void *user)
{
   (void)user;
   StFile *f = r->file;
   StPair pair = {.key = key};
   if (!string(r, &pair.text))
      return false;
   StPair *more = grow(r, f->metadata, f->num_metadata, sizeof pair);
   if (!more)
      return false;
   f->metadata = more;
   f->metadata[f->num_metadata++] = pair;
   return true;
}

enum { HAS_DTYPE = 1, HAS_SHAPE = 2, HAS_OFFSETS = 4, HAS_ALL = 7 };

typedef struct Entry {
   StTensor tensor;
   unsigned has;
} Entry;

static bool
dtype_named(Reader *r, TilecDtype *out)
{
   const char *name;
   if (!string(r, &name))
      return false;
   for (size_t i = 0; i < sizeof dtypes / sizeof dtypes[0]; i++)
      if (strcmp(dtypes[i].name, name) == 0) {
         *out = dtypes[i].dtype;
         return true;
      }
   return fail(r, "byte %llu: there is no type '%s'",
               (unsigned long long)(r->at - r->begin) + LENGTH_BYTES, name);
}

static bool
entry_member(Reader *r, const char *key, void *user)
{
   Entry *e = user;
   uint64_t offsets[2] = {0};
   unsigned count = 0, field = strcmp(key, "dtype") == 0          ? HAS_DTYPE
                               : strcmp(key, "shape") == 0        ? HAS_SHAPE
                               : strcmp(key, "data_offsets") == 0 ? HAS_OFFSETS
                                                                  : 0;
   if (!field || e->has & field)
      return fail(r, "tensor '%s': '%s' is %s", e->tensor.name, key,
                  field ? "there twice" : "no field of a tensor");
   e->has |= field;
   if (field == HAS_DTYPE)
      return dtype_named(r, &e->tensor.dtype);
   if (field == HAS_SHAPE)
      return number_list(r, e->tensor.shape, ST_MAX_RANK, &e->tensor.rank);
   if (!number_list(r, offsets, 2, &count))
      return false;
   e->tensor.begin = offsets[0];
   e->tensor.end = offsets[1];
   return count == 2 || fail(r, "tensor '%s': data_offsets are two numbers", e->tensor.name);
}

/* The bytes that shape and type ask for are those between the offsets. */
static bool
check_size(Reader *r, const StTensor *t)
{
   uint64_t bytes = dtype_bytes[t->dtype];
   for (unsigned i = 0; i < t->rank; i++) {
      if (t->shape[i] && bytes > UINT64_MAX / t->shape[i])
         return fail(r, "tensor '%s': its shape asks for more than 2^64 bytes", t->name);
      bytes *= t->shape[i];
   }
   if (t->end < t->begin || t->end - t->begin != bytes)
      return fail(r, "tensor '%s': its shape asks for %llu bytes, its offsets are %llu and %llu",
                  t->name, (unsigned long long)bytes, (unsigned long long)t->begin,
                  (unsigned long long)t->end);
   return true;
}

static bool
header_member(Reader *r, const char *key, void *user)
{
   (void)user;
   StFile *f = r->file;
   if (strcmp(key, "__metadata__") == 0) {
      if (r->has_metadata)
         return fail(r, "the name '__metadata__' is there twice");
      r->has_metadata = true;
      return object(r, metadata_member, NULL);
   }
   Entry e = {.tensor = {.name = key}};
   if (!object(r, entry_member, &e))
      return false;
   if (e.has != HAS_ALL)
      return fail(r, "tensor '%s' lacks dtype, shape or data_offsets", key);
   if (!check_size(r, &e.tensor))
      return false;
   StTensor *more = grow(r, f->tensors, f->num_tensors, sizeof *more);
   if (!more)
      return false;
   f->tensors = more;
   f->tensors[f->num_tensors++] = e.tensor;
   return true;
}

/* ---- the whole ---- */
static int
by_place(const void *a, const void *b)
{
   const StTensor *x = a, *y = b;
   if (x->begin != y->begin)
      return x->begin < y->begin ? -1 : 1;
   return (x->end > y->end) - (x->end < y->end);
}

/* Names are the first member of both structs. */
static int
by_name(const void *a, const void *b)
{
   return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool
check_data(Reader *r, uint64_t data_bytes)
{
   StFile *f = r->file;
   uint64_t next = 0;
   if (f->num_tensors)
      qsort(f->tensors, f->num_tensors, sizeof *f->tensors, by_place);
   for (size_t i = 0; i < f->num_tensors; i++) {
      StTensor *t = &f->tensors[i];
      if (t->begin != next || t->end > data_bytes)
         return fail(r, "tensor '%s' has bytes %llu to %llu; the next free one is %llu of %llu",
                     t->name, (unsigned long long)t->begin, (unsigned long long)t->end,
                     (unsigned long long)next, (unsigned long long)data_bytes);
      t->data = r->end + t->begin;
      next = t->end;
   }
   return next == data_bytes || fail(r, "the last %llu bytes belong to no tensor",
                                     (unsigned long long)(data_bytes - next));
}

static bool
sort_names(Reader *r, void *array, size_t count, size_t size)
{
   if (count)
      qsort(array, count, size, by_name);
   for (size_t i = 1; i < count; i++) {
      const void *one = (const char *)array + (i - 1) * size, *other = (const char *)one + size;
      if (by_name(one, other) == 0)
         return fail(r, "the name '%s' is there twice", *(const char *const *)one);
   }
   return true;
}

static bool
read_header(Reader *r, size_t data_bytes)
{
   StFile *f = r->file;
   f->strings = malloc((size_t)(r->end - r->begin) + 1);
   if (!f->strings)
      return fail(r, "out of memory");
   if (r->at == r->end || *r->at != '{')
      return fail_here(r, "'{', with which a header begins");
   if (!object(r, header_member, NULL))
      return false;
   skip_space(r);
   if (r->at != r->end)
      return fail_here(r, "the end of the header");
   return check_data(r, data_bytes) &&
          sort_names(r, f->tensors, f->num_tensors, sizeof *f->tensors) &&
          sort_names(r, f->metadata, f->num_metadata, sizeof *f->metadata);
}

bool
st_parse(StFile *f, const void *bytes, size_t size, char *error, size_t error_bytes)
{
   const unsigned char *first = bytes;
   Reader r = {.file = f, .error = error, .error_bytes = error_bytes};
   uint64_t length = 0;
   *f = (StFile){0};
   if (size < LENGTH_BYTES)
      return fail(&r, "the file has %zu bytes, too few for the length of its header", size);
   for (int i = LENGTH_BYTES; i-- > 0;)
      length = length << 8 | first[i];
   if (length > size - LENGTH_BYTES || length > MAX_HEADER)
      return fail(&r, "the header has %llu bytes; the file has %zu, and at most %d are allowed",
                  (unsigned long long)length, size, MAX_HEADER);
   r.begin = r.at = first + LENGTH_BYTES;
   r.end = r.begin + length;
   if (read_header(&r, size - LENGTH_BYTES - (size_t)length))
      return true;
   st_close(f);
   return false;
}

static unsigned char *
read_all(FILE *file, size_t *size)
{
   long bytes = fseek(file, 0, SEEK_END) == 0 ? ftell(file) : -1;
   unsigned char *all = bytes < 0 ? NULL : malloc((size_t)bytes + 1);
   *size = bytes < 0 ? 0 : (size_t)bytes;
   if (!all || fseek(file, 0, SEEK_SET) != 0 || fread(all, 1, *size, file) != *size) {
      free(all);
      return NULL;
   }
   return all;
}

bool
st_open(StFile *f, const char *path, char *error, size_t error_bytes)
{
   *f = (StFile){0};
   FILE *file = fopen(path, "rb");
   size_t size = 0;
   unsigned char *all = file ? read_all(file, &size) : NULL;
   if (file)
      fclose(file);
   if (!all) {
      snprintf(error, error_bytes, "cannot be read");
      return false;
   }
   if (!st_parse(f, all, size, error, error_bytes)) {
      free(all);
      return false;
   }
   f->owned = all;
   return true;
}

void
st_close(StFile *f)
{
   free(f->tensors);
   free(f->metadata);
   free(f->strings);
   free(f->owned);
   *f = (StFile){0};
}

const StTensor *
st_tensor(const StFile *f, const char *name)
{
   return f->num_tensors ? bsearch(&name, f->tensors, f->num_tensors, sizeof *f->tensors, by_name)
                         : NULL;
}

const char *
st_metadata(const StFile *f, const char *key)
{
   const StPair *pair =
      f->num_metadata ? bsearch(&key, f->metadata, f->num_metadata, sizeof *f->metadata, by_name)
                      : NULL;
   return pair ? pair->text : NULL;
}
