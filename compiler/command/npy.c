/* Reader and writer of .npy.  The header is a Python dict literal; exactly the keys descr,
 * fortran_order and shape are taken, in any order.  Every length is checked against the file. */
#include "command/npy.h"
#include "command/nearby.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct {
   const char *descr;
   TlDtype dtype;
} descr_table[] = {
   {"<f2", TL_FP16}, {"<f4", TL_FP32}, {"<f8", TL_FP64}, {"|i1", TL_I8},
   {"<i2", TL_I16},  {"<i4", TL_I32},  {"<i8", TL_I64},  {"|u1", TL_U8},
   {"<u2", TL_U16},  {"<u4", TL_U32},  {"<u8", TL_U64},  {"|b1", TL_I1},
};

bool
tl_array_alloc(TlArray *a)
{
   assert(!a->data && a->rank <= sizeof a->shape / sizeof a->shape[0]);
   uint64_t elems = 1;
   for (unsigned i = 0; i < a->rank; i++)
      if (__builtin_mul_overflow(elems, a->shape[i], &elems) || elems > (1ull << 40))
         return false;
   a->elems = elems;
   a->bytes = elems * tl_dtype_info[a->dtype].bytes;
   size_t room = (a->bytes + 63) / 64 * 64;
   a->data = aligned_alloc(64, room ? room : 64);
   return a->data != NULL;
}

void
tl_array_free(TlArray *a)
{
   free(a->data);
   a->data = NULL;
}

typedef struct Header {
   const char *p, *end;
   char descr[16];
   bool fortran, has_descr, has_order, has_shape, is_record;
   TlArray *array;
} Header;

static void
skip_space(Header *h)
{
   while (h->p < h->end && isspace((unsigned char)*h->p))
      h->p++;
}

static bool
take(Header *h, char c)
{
   skip_space(h);
   if (h->p >= h->end || *h->p != c)
      return false;
   h->p++;
   return true;
}

static bool
take_string(Header *h, char *out, size_t room)
{
   skip_space(h);
   if (h->p >= h->end || (*h->p != '\'' && *h->p != '"'))
      return false;
   char quote = *h->p++;
   size_t n = 0;
   while (h->p < h->end && *h->p != quote && n + 1 < room)
      out[n++] = *h->p++;
   out[n] = 0;
   return h->p < h->end && *h->p++ == quote;
}

static bool
take_word(Header *h, const char *word)
{
   skip_space(h);
   size_t n = strlen(word);
   if ((size_t)(h->end - h->p) < n || memcmp(h->p, word, n) != 0)
      return false;
   h->p += n;
   return true;
}

static bool
take_shape(Header *h)
{
   if (!take(h, '('))
      return false;
   h->array->rank = 0;
   while (!take(h, ')')) {
      skip_space(h);
      if (h->array->rank == 32 || h->p >= h->end || !isdigit((unsigned char)*h->p))
         return false;
      uint64_t v = 0;
      while (h->p < h->end && isdigit((unsigned char)*h->p))
         if (__builtin_mul_overflow(v, 10u, &v) ||
             __builtin_add_overflow(v, (uint64_t)(*h->p++ - '0'), &v))
            return false;
      h->array->shape[h->array->rank++] = v;
      if (!take(h, ',')) {
         if (!take(h, ')'))
            return false;
         break;
      }
   }
   return true;
}

static bool
parse_header(Header *h)
{
   if (!take(h, '{'))
      return false;
   while (!take(h, '}')) {
      char key[32];
      if (!take_string(h, key, sizeof key) || !take(h, ':'))
         return false;
      if (strcmp(key, "descr") == 0 && !h->has_descr) {
         h->is_record = take(h, '[');
         h->has_descr = !h->is_record && take_string(h, h->descr, sizeof h->descr);
         if (!h->has_descr)
            return false;
      } else if (strcmp(key, "fortran_order") == 0 && !h->has_order)
         h->has_order = (h->fortran = take_word(h, "True")) || take_word(h, "False");
      else if (strcmp(key, "shape") == 0 && !h->has_shape)
         h->has_shape = take_shape(h);
      else
         return false;
      if (!take(h, ',') && !take(h, '}'))
         return false;
      else if (h->p[-1] == '}')
         break;
   }
   return h->has_descr && h->has_order && h->has_shape;
}

static bool
dtype_of(const char *descr, TlDtype *out)
{
   for (size_t i = 0; i < sizeof descr_table / sizeof descr_table[0]; i++)
      if (strcmp(descr_table[i].descr, descr) == 0 ||
          (descr[0] == '=' && strcmp(descr_table[i].descr + 1, descr + 1) == 0)) {
         *out = descr_table[i].dtype;
         return true;
      }
   return false;
}

/* bf16 may come as uint16 or int16, fp8 kinds as one-byte integers; else the types must agree. */
static bool
may_read_as(TlDtype file, TlDtype want)
{
   if (file == want)
      return true;
   if (want == TL_BF16)
      return file == TL_U16 || file == TL_I16;
   bool is_fp8 = tl_dtype_is_float(want) && tl_dtype_info[want].bits == 8;
   return is_fp8 && (file == TL_U8 || file == TL_I8);
}

/* What a file is that begins otherwise, and how it becomes one. */
static const char *
not_npy(const unsigned char *first, size_t n)
{
   if (n == 0)
      return "it is empty; numpy.save(file, array) writes a .npy file";
   if (n > 4 && memcmp(first, "PK\x03\x04", 4) == 0)
      return "it is an archive, .npz or a file of torch.save, and no .npy file: save one array "
             "with "
             "numpy.save(file, array)";
   for (size_t i = 0; i < n; i++)
      if (first[i] >= 0x80 || (first[i] < ' ' && !isspace(first[i])))
         return "it is not a .npy file (the first bytes are not \\x93NUMPY); numpy.save(file, "
                "array) "
                "writes one";
   return "it is text and not a .npy file (the first bytes are not \\x93NUMPY); "
          "numpy.save(file, numpy.loadtxt(text, numpy.float32, delimiter=\",\")) makes one of "
          "numbers";
}

/* How the array gets elements of a type: the one that is wanted, or the parameter's. */
static const char *
converted(TlArena *arena, TlDtype want)
{
   if (want == TL_DTYPE_COUNT)
      return "array.astype(..) of the parameter's type, numpy.int32 for *i32, numpy.float32 for "
             "*fp32";
   return tl_arena_printf(arena, "array.astype(numpy.%s)", tl_dtype_info[want].triton_name);
}

/* ": how", of elements that no kernel has. */
static const char *
other_elements(TlArena *arena, const char *descr, TlDtype want)
{
   switch (descr[0] == '>' ? '>' : descr[0] ? descr[1] : 0) {
   case '>':
      return ": its bytes are in the other order; save array.astype(array.dtype.newbyteorder('='))";
   case 'O':
      return tl_arena_printf(arena,
                             ": these are Python objects; save %s, and of rows of unequal lengths "
                             "array = numpy.concatenate(array) before",
                             converted(arena, want));
   case 'c':
      return ": these are complex; save real and imaginary parts, array.view(numpy.float32) of "
             "'<c8'";
   case 'U':
   case 'S':
      return tl_arena_printf(arena, ": these are texts; kernels take numbers: save %s",
                             converted(arena, want));
   case 'M':
   case 'm':
      return ": these are times; save array.astype(numpy.int64)";
   default:
      return "; save array.astype(numpy.float32), or another of fp16, fp32, fp64, i8 to i64, u8 to "
             "u64 and bool";
   }
}

static bool
read_header(TlArena *arena, FILE *f, TlDtype want, TlArray *out, uint64_t *data_at,
            const char **why)
{
   unsigned char fixed[12];
   size_t got = fread(fixed, 1, 10, f);
   if (got < 6 || memcmp(fixed, "\x93NUMPY", 6) != 0)
      return tl_not_taken(why, not_npy(fixed, got));
   if (got < 10)
      return tl_not_taken(why, "it ends inside the header");
   unsigned version = fixed[6];
   size_t len = fixed[8] | (size_t)fixed[9] << 8, at = 10;
   if (version == 2 || version == 3) {
      if (fread(fixed + 10, 1, 2, f) != 2)
         return tl_not_taken(why, "it ends inside the header");
      len |= (size_t)fixed[10] << 16 | (size_t)fixed[11] << 24;
      at = 12;
   } else if (version != 1) {
      return tl_not_taken(
         why, tl_arena_printf(arena,
                              "its format version %u is not 1, 2 or 3; write it again with "
                              "numpy.save(file, array)",
                              version));
   }
   if (len > 65536)
      return tl_not_taken(why, "its header is longer than 64 KiB");
   char *text = tl_arena_alloc(arena, len + 1);
   if (fread(text, 1, len, f) != len)
      return tl_not_taken(why, "it ends inside the header");
   *data_at = at + len;
   Header h = {.p = text, .end = text + len, .array = out};
   TlDtype file_dtype;
   bool is_read = parse_header(&h);
   if (h.is_record)
      return tl_not_taken(why, "its elements are records of several fields; save one field, "
                               "numpy.save(file, array['name'])");
   if (!is_read)
      return tl_not_taken(why,
                          "its header is not the dictionary of descr, fortran_order and shape; "
                          "write it again with numpy.save(file, array)");
   if (!dtype_of(h.descr, &file_dtype))
      return tl_not_taken(why, tl_arena_printf(arena, "its element type '%s' is not supported%s",
                                               h.descr, other_elements(arena, h.descr, want)));
   if (h.fortran && out->rank > 1)
      return tl_not_taken(why,
                          "it is stored in Fortran order; save numpy.ascontiguousarray(array)");
   out->dtype = want == TL_DTYPE_COUNT ? file_dtype : want;
   if (!may_read_as(file_dtype, out->dtype)) {
      out->fault = TL_ARRAY_OTHER_DTYPE;
      return tl_not_taken(
         why, tl_arena_printf(arena,
                              "it holds %s, but %s is expected: save array.astype(..) of that type",
                              tl_dtype_info[file_dtype].text, tl_dtype_info[want].text));
   }
   return true;
}

static bool
read_data(TlArena *arena, FILE *f, uint64_t data_at, TlArray *out, const char **why)
{
   /* The file's size is checked before memory is taken for what the header claims. */
   uint64_t need = tl_dtype_info[out->dtype].bytes;
   for (unsigned i = 0; i < out->rank; i++)
      if (__builtin_mul_overflow(need, out->shape[i], &need))
         return tl_not_taken(why, "its shape overflows 64 bits");
   if (fseeko(f, 0, SEEK_END) != 0)
      return tl_not_taken(why, strerror(errno));
   uint64_t have = (uint64_t)ftello(f) - data_at;
   if (have != need)
      return tl_not_taken(
         why, tl_arena_printf(
                 arena,
                 "it is %s: %llu bytes of data from byte %llu on, its shape needs %llu; write it "
                 "again with numpy.save(file, array)",
                 have < need ? "truncated" : "too long", (unsigned long long)have,
                 (unsigned long long)data_at, (unsigned long long)need));
   fseeko(f, (off_t)data_at, SEEK_SET);
   if (!tl_array_alloc(out)) {
      out->fault = TL_ARRAY_NO_MEMORY;
      return tl_not_taken(why, "there is not enough memory for it");
   }
   if (fread(out->data, 1, out->bytes, f) != out->bytes) {
      *why = "it cannot be read to its end";
      tl_array_free(out);
      out->fault = TL_ARRAY_UNREADABLE;
      return false;
   }
   return true;
}

bool
tl_npy_read(TlArena *arena, const char *path, TlDtype want, TlArray *out, const char **why)
{
   *out = (TlArray){.fault = TL_ARRAY_UNREADABLE};
   struct stat st;
   if (stat(path, &st) == 0 && !S_ISREG(st.st_mode)) /* a pipe may block */
      return tl_not_taken(why, S_ISDIR(st.st_mode) ? "it is a folder; name a .npy file"
                                                   : "it is not a regular file");
   FILE *f = fopen(path, "rb");
   if (!f) {
      static const char *const arrays[] = {".npy", NULL};
      int failed = errno;
      return tl_not_taken(
         why, tl_arena_printf(arena, "%s%s", strerror(failed),
                              failed == ENOENT ? tl_not_there(arena, path, arrays) : ""));
   }
   uint64_t data_at;
   out->fault = TL_ARRAY_NO_NPY;
   bool ok =
      read_header(arena, f, want, out, &data_at, why) && read_data(arena, f, data_at, out, why);
   fclose(f);
   if (ok)
      out->fault = TL_ARRAY_NO_FAULT;
   return ok;
}

static const char *
descr_of(TlDtype t)
{
   if (t == TL_BF16)
      return "<u2";
   if (tl_dtype_is_float(t) && tl_dtype_info[t].bits == 8)
      return "|u1";
   for (size_t i = 0; i < sizeof descr_table / sizeof descr_table[0]; i++)
      if (descr_table[i].dtype == t)
         return descr_table[i].descr;
   return "|u1";
}

void
tl_npy_head(const TlArray *a, TlSb *out)
{
   TlSb head;
   tl_sb_init(&head, out->arena);
   tl_sb_printf(&head, "{'descr': '%s', 'fortran_order': False, 'shape': (", descr_of(a->dtype));
   for (unsigned i = 0; i < a->rank; i++)
      tl_sb_printf(&head, "%llu%s", (unsigned long long)a->shape[i],
                   a->rank == 1      ? ","
                   : i + 1 < a->rank ? ", "
                                     : "");
   tl_sb_str(&head, "), }");
   while ((10 + head.len + 1) % 64)
      tl_sb_char(&head, ' ');
   tl_sb_char(&head, '\n');
   assert((10 + head.len) % 64 == 0); /* the data is aligned */
   static const char magic[] = {(char)0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0};
   for (size_t i = 0; i < sizeof magic; i++)
      tl_sb_char(out, magic[i]);
   tl_sb_char(out, (char)(head.len & 255));
   tl_sb_char(out, (char)(head.len >> 8));
   tl_sb_mem(out, head.data, head.len);
}
