/* What the name of a type that there is none of was meant to be, and what brings the two values to
 * one type that a run-time `if` gives a variable, an expression or a function; see help.h. */
#include "sema/arith.h"
#include "sema/help.h"
#include "sema/impl.h"
#include "syntax/parse.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- names of types ---- */
static const char eight_bits[] = "tl.float8e4nv, tl.float8e5 or tl.float8e4b15";
static const char four_bits[] = "tl.uint8: two numbers of 4 bits are packed in one, and "
                                "tl.dot_scaled takes those of the format \"e2m1\" so";
static const char few_bits[] = "tl.int8: of narrower numbers several are packed in one";

/* bfloat8, int128, half8: by the letters and the number behind them. */
static const char *
counted_type(TlSema *s, const char *letters, unsigned long count, bool is_loose)
{
   bool is_float = tl_word_is_listed(is_loose ? "f fp float" : "fp float", letters);
   bool is_int = tl_word_is_listed(is_loose ? "i int u uint" : "int uint", letters);
   if ((is_float || tl_word_is_listed("bf bfloat mxfp", letters)) && count == 8)
      return *letters == 'm' ? "tl.float8e4nv or tl.float8e5, with scales beside: tl.dot_scaled"
                             : eight_bits;
   bool is_cudas = strcmp(letters, "float") == 0 && count == 4; /* float4 is four floats */
   if ((is_float && !is_cudas && (count == 4 || count == 6)) ||
       (tl_word_is_listed("mxfp nf nvfp", letters) && count == 4))
      return count == 4 ? four_bits : "tl.uint8: there are no floats of 6 bits";
   if (is_int && (count == 2 || count == 4))
      return few_bits;
   if ((is_float || is_int) && count > 64)
      return tl_arena_printf(s->arena, "tl.%s, the widest of its kind",
                             is_float          ? "float64"
                             : *letters == 'u' ? "uint64"
                                               : "int64");
   const char *element = tl_other_type(letters, strlen(letters));
   if (!element || is_int || (count != 2 && count != 3 && count != 4 && count != 8 && count != 16))
      return NULL;
   return tl_arena_printf(s->arena, "tl.%s: the load of a tile is as wide as can be by itself",
                          tl_type_named(letters));
}

static const char *
type_of_word(TlSema *s, const char *word, bool is_loose)
{
   static const char tf32[] = "tl.float32, and input_precision=\"tf32\" in tl.dot";
   size_t len = strlen(word), letters = strcspn(word, "0123456789");
   const char *own = tl_type_named(word);
   if (tl_word_is_listed("tf32 tfloat32 tf32x3", word))
      return tf32;
   if (own && strcmp(word, "fp8") != 0 && (is_loose || word[letters]) &&
       !tl_word_is_listed("i4 u4 int4 uint4", word))
      return tl_arena_printf(s->arena, "tl.%s", own);
   if (len > 2 && tl_ends_with(word, "_t")) /* half_t */
      return type_of_word(s, tl_arena_strndup(s->arena, word, len - 2), is_loose);
   if (is_loose && len > 1 && word[len - 1] == '_') /* numpy's float_ */
      return type_of_word(s, tl_arena_strndup(s->arena, word, len - 1), is_loose);
   if (tl_word_is_listed("e2m1 fp4e2m1 float4_e2m1 float4_e2m1fn", word))
      return four_bits;
   if (tl_starts_with(word, "fp8") || tl_starts_with(word, "float8") || tl_starts_with(word, "f8e"))
      return eight_bits;
   if (is_loose && strcmp(word, "bfloat") == 0)
      return "tl.bfloat16";
   if (strcmp(word, "boolean") == 0)
      return "tl.int1";
   if (tl_word_is_listed("complex complex32 complex64 complex128 cfloat", word))
      return "two values, the real and the imaginary part";
   char *end;
   unsigned long count = strtoul(word + letters, &end, 10);
   return letters && word[letters] && !*end
             ? counted_type(s, tl_arena_strndup(s->arena, word, letters), count, is_loose)
             : NULL;
}

const char *
tl_type_instead(TlSema *s, const char *name, bool is_loose)
{
   TlSv own;
   if (tl_dtype_constant(s, name, &own))
      return NULL;
   char *word = tl_arena_strdup(s->arena, name);
   for (char *p = word; *p; p++)
      *p = (char)tolower((unsigned char)*p);
   return type_of_word(s, word, is_loose);
}

/* ---- two types ---- */
static const TlType *
type_of(const TlSv *v)
{
   return v->kind == TL_SV_VALUE ? v->value->type : NULL;
}

static bool
is_tile_of_numbers(const TlSv *v)
{
   const TlType *t = type_of(v);
   return t && tl_type_is_tile(t) && t->elem->kind == TL_TYPE_SCALAR;
}

static bool
is_one_number(const TlSv *v)
{
   const TlType *t = type_of(v);
   return tl_sv_is_number(v) || (t && t->kind == TL_TYPE_SCALAR);
}

static TlDtype
dtype_of(TlSema *s, const TlSv *v)
{
   return tl_sv_is_number(v) ? tl_strengthen(s, *v).dtype : tl_type_elem(v->value->type)->dtype;
}

static const char *
name_of(TlDtype dtype)
{
   return tl_dtype_info[dtype].triton_name;
}

/* The one constexpr parameter of the kernel that has the value, where its names are seen. */
static const char *
size_named(TlSema *s, uint32_t size)
{
   const TlFunc *f = s->b.func;
   const char *found = NULL;
   for (uint32_t i = 0; f && s->impl->act && !s->impl->act->caller && i < f->num_params; i++) {
      const TlParam *p = &f->params[i];
      if (p->is_runtime || p->type || !p->constant || strtoul(p->constant, NULL, 10) != size)
         continue;
      if (found)
         return NULL;
      found = p->name;
   }
   return found;
}

/* "[BLOCK, 64]" */
static const char *
shape_by_names(TlSema *s, const TlType *type)
{
   TlSb sb;
   tl_sb_init(&sb, s->arena);
   for (unsigned d = 0; d < type->rank; d++) {
      const char *name = size_named(s, type->shape[d]);
      tl_sb_printf(&sb, "%s%s", d ? ", " : "[",
                   name ? name : tl_arena_printf(s->arena, "%u", type->shape[d]));
   }
   tl_sb_str(&sb, "]");
   return tl_sb_cstr(&sb);
}

const char *
tl_tile_of(TlSema *s, const TlSv *number, const TlType *type)
{
   const char *shape = shape_by_names(s, type);
   const char *dtype = name_of(tl_type_elem(type)->dtype);
   if (!tl_sv_is_number(number))
      return tl_arena_printf(s->arena, "tl.full(%s, x, tl.%s)", shape, dtype);
   if (number->kind != TL_SV_BOOL && tl_known_double(number) == 0)
      return tl_arena_printf(s->arena, "tl.zeros(%s, tl.%s)", shape, dtype);
   const char *text = tl_sv_constant_text(s, number);
   bool is_word =
      number->kind == TL_SV_FLOAT && isalpha((unsigned char)text[*text == '-']); /* inf, nan */
   return tl_arena_printf(s->arena,
                          is_word ? "tl.full(%s, float(\"%s\"), tl.%s)" : "tl.full(%s, %s, tl.%s)",
                          shape, text, dtype);
}

/* The one of both that holds the values of the other, as far as either does. */
static TlDtype
wider(TlDtype a, TlDtype b)
{
   bool of_a = tl_dtype_is_float(a), of_b = tl_dtype_is_float(b);
   if (of_a != of_b)
      return of_a ? a : b;
   return tl_dtype_info[b].bits > tl_dtype_info[a].bits ? b : a;
}

/* A tile on one side, a number on the other. */
static const char *
tile_and_number(TlSema *s, const TlSv *tile, const TlSv *number)
{
   const TlType *t = tile->value->type;
   TlDtype have = t->elem->dtype, other = dtype_of(s, number), both = have;
   bool is_cut = tl_sv_is_number(number) && number->kind == TL_SV_FLOAT && !tl_dtype_is_float(have)
                    ? tl_known_double(number) != 0
                    : !tl_sv_is_number(number);
   if (is_cut)
      both = wider(have, other);
   const TlType *wanted =
      tl_type_tile(s->types, tl_type_scalar(s->types, both), t->rank, t->shape, NULL);
   return tl_arena_printf(
      s->arena, "one is a tile, the other one number; a tile of the number is %s%s",
      tl_tile_of(s, number, wanted),
      both == have
         ? ""
         : tl_arena_printf(s->arena, ", and the tile becomes tl.%s by .to()", name_of(both)));
}

static const char *
two_shapes(TlSema *s, const TlType *a, const TlType *b)
{
   const char *x = tl_shape_text(s, a->rank, a->shape), *y = tl_shape_text(s, b->rank, b->shape);
   if (a->rank != b->rank)
      return tl_arena_printf(s->arena,
                             "one has the shape %s, the other %s; a reduction leaves its axis out, "
                             "tl.broadcast_to and [:, None] bring one back; or use two names, and "
                             "store on each side",
                             x, y);
   bool to_a = true, to_b = true;
   for (unsigned d = 0; d < a->rank; d++) {
      to_a &= b->shape[d] == a->shape[d] || b->shape[d] == 1;
      to_b &= a->shape[d] == b->shape[d] || a->shape[d] == 1;
   }
   if (to_a || to_b)
      return tl_arena_printf(s->arena,
                             "the shapes are %s and %s; tl.broadcast_to(x, %s) makes one "
                             "of both",
                             x, y, to_a ? x : y);
   return tl_arena_printf(s->arena,
                          "the shapes are %s and %s; take the larger on both sides and a mask, or "
                          "two names, and store on each side",
                          x, y);
}

static const char *
two_dtypes(TlSema *s, const TlSv *a, const TlSv *b)
{
   TlDtype x = dtype_of(s, a), y = dtype_of(s, b);
   const TlSv *literal = tl_sv_is_number(a) ? a : tl_sv_is_number(b) ? b : NULL;
   if (literal && (literal->kind == TL_SV_INT || literal->kind == TL_SV_FLOAT) &&
       (tl_dtype_is_float(x) != tl_dtype_is_float(y) || tl_sv_is_number(literal == a ? b : a)))
      return "1.0 is fp32 and 1 is i32; a tile has .to()";
   TlDtype to = wider(x, y);
   const TlSv *other = x == to ? b : a;
   return tl_sv_is_number(other)
             ? tl_arena_printf(s->arena, "the number as tl.%s is tl.full([], %s, tl.%s)",
                               name_of(to), tl_sv_constant_text(s, other), name_of(to))
             : tl_arena_printf(s->arena, ".to(tl.%s) makes one of both", name_of(to));
}

const char *
tl_help_two_types(TlSema *s, const TlSv *a, const TlSv *b, const char *begin)
{
   const TlType *x = type_of(a), *y = type_of(b);
   bool tile_a = is_tile_of_numbers(a), tile_b = is_tile_of_numbers(b);
   const char *way = NULL;
   if (a->kind == TL_SV_NONE || b->kind == TL_SV_NONE) {
      const TlSv *other = a->kind == TL_SV_NONE ? b : a, zero = tl_sv_int(0);
      return is_tile_of_numbers(other)
                ? tl_arena_printf(s->arena, "None is no value of a run: begin with %s",
                                  tl_tile_of(s, &zero, other->value->type))
                : "None is no value of a run: begin with a value of the other's type, such as 0.0";
   }
   if (x && y && tl_type_elem(x)->kind == TL_TYPE_PTR && tl_type_elem(y)->kind == TL_TYPE_PTR)
      return "a pointer keeps the type of its elements: use two names, and load or store on each "
             "side";
   if (tile_a && is_one_number(b))
      way = tile_and_number(s, a, b);
   else if (tile_b && is_one_number(a))
      way = tile_and_number(s, b, a);
   else if (tile_a && tile_b && !tl_type_same_shape(x, y))
      way = two_shapes(s, x, y);
   else if ((tile_a && tile_b) || (is_one_number(a) && is_one_number(b)))
      way = two_dtypes(s, a, b);
   else if (a->kind == TL_SV_TUPLE && b->kind == TL_SV_TUPLE)
      return "two tuples are one where they have as many items, of the same types in turn";
   else
      return "use two names, and go on with each on its own side";
   return tl_arena_printf(s->arena, "%s%s", begin, way);
}
