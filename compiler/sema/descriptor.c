/* Tensor descriptors that the host passes: `tensordesc<fp16[128,64]>` in a signature, with `:16`
 * when rows have a multiple of 16 elements.  The kernel gets a pointer, then the size of each
 * dimension (i32), then the strides of all but the last (i64, in elements), whose stride is 1; they
 * are parameters of their own in the launch record. */
#include "sema/impl.h"

#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const char opening[] = "tensordesc<";

bool
tl_is_descriptor_text(const char *text)
{
   return tl_starts_with(text, opening);
}

static const char *
skip_space(const char *p)
{
   while (*p == ' ')
      p++;
   return p;
}

/* "[128, 64]" to the block; what follows, or NULL. */
static const char *
read_block(const char *p, TlSpecArg *out)
{
   uint64_t elems = 1;
   do {
      char *end;
      p = skip_space(p + 1);
      unsigned long n = isdigit((unsigned char)*p) ? strtoul(p, &end, 10) : 0;
      if (n < 1 || n > TL_MAX_TILE_ELEMS || (n & (n - 1)) || out->rank == TL_TMAP_RANK)
         return NULL;
      out->block[out->rank++] = (uint32_t)n;
      elems *= n;
      p = skip_space(end);
   } while (*p == ',' && elems <= TL_MAX_TILE_ELEMS);
   return *p == ']' && elems <= TL_MAX_TILE_ELEMS ? p + 1 : NULL;
}

/* ":16" or nothing, up to the end of the text. */
static bool
read_fact(const char *p, TlSpecArg *out)
{
   char *end = (char *)skip_space(p);
   out->row_divisibility = 1;
   if (*end != ':')
      return !*end;
   unsigned long n = strtoul(skip_space(end + 1), &end, 10);
   out->row_divisibility = (uint32_t)n;
   return n >= 1 && n <= 1 << 20 && !(n & (n - 1)) && !*skip_space(end);
}

static const char *
descriptor_text(TlSema *s, const TlSpecArg *a)
{
   TlSb sb;
   tl_sb_init(&sb, s->arena);
   tl_sb_printf(&sb, "%s%s", opening, tl_dtype_info[a->type->elem->dtype].text);
   for (unsigned d = 0; d < a->rank; d++)
      tl_sb_printf(&sb, "%c%u", d ? ',' : '[', a->block[d]);
   tl_sb_str(&sb, "]>");
   return tl_sb_cstr(&sb);
}

bool
tl_read_descriptor(TlSema *s, const char *text, TlRange range, TlSpecArg *out)
{
   enum { MIN_BYTES = 16 }; /* of a row; also what the base is a multiple of */
   const char *p = skip_space(text + sizeof opening - 1), *block = strchr(p, '[');
   assert(tl_is_descriptor_text(text));
   *out = (TlSpecArg){.is_given = true, .divisibility = MIN_BYTES};
   size_t len = block ? (size_t)(block - p) : 0;
   while (len && p[len - 1] == ' ')
      len--;
   const TlType *elem = len ? tl_parse_type_text(s, p, len) : NULL;
   const char *end = elem && elem->kind == TL_TYPE_SCALAR ? read_block(block, out) : NULL;
   bool ok = end && *skip_space(end) == '>' && read_fact(skip_space(end) + 1, out) &&
             out->block[out->rank - 1] * tl_dtype_info[elem->dtype].bytes >= MIN_BYTES;
   if (!ok) {
      tl_report(s->diags, E0265, range, text);
      tl_help(s->diags, "its rows have at least 16 bytes, its sides are powers of two");
      return false;
   }
   out->type = tl_type_ptr(s->types, elem, false);
   out->descriptor = descriptor_text(s, out);
   return true;
}

unsigned
tl_descriptor_params(const TlSpecArg *a)
{
   return a->descriptor ? 2u * a->rank : 1;
}

/* No parameter before or after is called so. */
static const char *
part_name(TlSema *s, const TlAstFunction *ast, const char *format, const char *name, unsigned d)
{
   const char *part = tl_arena_printf(s->arena, format, name, d);
   for (size_t i = 0; i < ast->params.len; i++)
      if (strcmp(tl_ast_Param(ast->params.data[i])->name, part) == 0) {
         part = tl_arena_printf(s->arena, "%s_", part);
         i = (size_t)-1;
      }
   return part;
}

static TlValue *
add_part(TlSema *s, TlFunc *f, TlParam *p, const char *name, TlDtype dtype, uint32_t divisor)
{
   const TlType *type = tl_type_scalar(s->types, dtype);
   *p = (TlParam){.name = name, .is_runtime = true, .type = type, .divisibility = divisor};
   TlValue *v = tl_block_add_arg(f->body->block, type, name);
   return dtype == TL_I64 ? v : tl_t1(&s->b, TL_OP_CAST, tl_type_scalar(s->types, TL_I64), v);
}

TlSv
tl_add_descriptor(TlSema *s, TlFunc *f, const TlAstFunction *ast, const char *name,
                  const TlSpecArg *a, TlParam *out)
{
   TlBlockPtr *p = tl_new(s->arena, TlBlockPtr);
   uint32_t bytes = tl_dtype_info[a->type->elem->dtype].bytes;
   uint32_t divisor = bytes < a->divisibility ? a->divisibility / bytes : 1;
   unsigned last = a->rank - 1u;
   *out = (TlParam){.name = name,
                    .is_runtime = true,
                    .type = a->type,
                    .divisibility = a->divisibility,
                    .descriptor = a->descriptor};
   *p = (TlBlockPtr){.rank = a->rank, .is_descriptor = true};
   p->base = tl_block_add_arg(f->body->block, a->type, name);
   for (unsigned d = 0; d < a->rank; d++) {
      p->shape[d] = add_part(s, f, ++out, part_name(s, ast, "%s_shape_%u", name, d), TL_I32,
                             d == last ? a->row_divisibility : 1);
      p->offsets[d] = tl_const_int(&s->b, TL_I32, 0);
      p->block[d] = a->block[d];
      p->order[d] = (uint8_t)(last - d);
   }
   for (unsigned d = 0; d < last; d++)
      p->strides[d] =
         add_part(s, f, ++out, part_name(s, ast, "%s_stride_%u", name, d), TL_I64, divisor);
   p->strides[last] = tl_const_int(&s->b, TL_I64, 1);
   return (TlSv){.kind = TL_SV_BLOCKPTR, .block_ptr = p};
}
