/* The element types of the arrays that a launch is given, as far as the text around it tells who
 * made them.  See launch_args.h; what makes arrays of which elements is in array_calls.def. */
#include "sema/impl.h"
#include "sema/launch_args.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_DEEP = 12 };

typedef struct Reader {
   TlSema *s;
   const TlNode *at; /* the launch: names are those of the function around it */
   unsigned depth;
} Reader;

static const char *dtype_of(const Reader *r, const TlNode *n);

/* torch.float16, np.uint8: the same words in all of them. */
static const char *
entry_of_word(const char *word)
{
   static const struct {
      const char *words, *entry;
   } rows[] = {
      {"float32 float single", "fp32"},
      {"float16 half", "fp16"},
      {"bfloat16", "bf16"},
      {"float64 double", "fp64"},
      {"int8", "i8"},
      {"uint8", "u8"},
      {"int16 short", "i16"},
      {"uint16", "u16"},
      {"int32 int", "i32"},
      {"uint32", "u32"},
      {"int64 long", "i64"},
      {"uint64", "u64"},
      {"bool bool_", "i1"},
      {"float8_e4m3fn", "fp8e4nv"},
      {"float8_e5m2", "fp8e5"},
   };
   for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
      if (tl_word_is_listed(rows[i].words, word))
         return rows[i].entry;
   return NULL;
}

/* np.int and np.float are Python's own types, of 64 bits. */
static const char *
entry_of_attribute(const TlAstAttribute *a)
{
   const char *module = a->value->kind == TL_AST_NAME ? tl_ast_Name(a->value)->id : "";
   bool is_torch = strcmp(module, "torch") == 0;
   if (!is_torch && (!tl_word_is_listed("np numpy cp cupy", module) ||
                     tl_word_is_listed("int float bool long", a->name)))
      return NULL;
   return entry_of_word(a->name);
}

/* What an expression that stands for a type means: torch.float16, x.dtype, "float32". */
static const char *
type_of(const Reader *r, const TlNode *n)
{
   Reader inner = *r;
   if (!n || inner.depth++ > MAX_DEEP)
      return NULL;
   const TlNode *bound;
   switch (n->kind) {
   case TL_AST_STR:
      return entry_of_word(tl_ast_Str(n)->value.data);
   case TL_AST_NAME:
      bound = tl_local_value(r->s, r->at, tl_ast_Name(n)->id);
      return bound ? type_of(&inner, bound) : NULL;
   case TL_AST_ATTRIBUTE:
      return strcmp(tl_ast_Attribute(n)->name, "dtype") == 0
                ? dtype_of(&inner, tl_ast_Attribute(n)->value)
                : entry_of_attribute(tl_ast_Attribute(n));
   default:
      return NULL;
   }
}

/* ---- calls ---- */
/* Places and defaults of array_calls.def. */
#define NONE -1
#define OF_ARRAY "[].()"
#define DEFAULT "default"
#define FIRST "first"
#define SELF "self"
#define RANGE "range"
#define VALUE(n) "value " #n
#define UNKNOWN NULL

typedef struct Row {
   const char *of, *names;
   int place;
   const char *otherwise;
} Row;

static const Row rows[] = {
#define TL_ARRAY_CALL(of, names, place, otherwise) {of, names, place, otherwise},
#include "sema/array_calls.def"
};

static const Row *
row_of(const char *module, const char *name)
{
   for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
      if ((strcmp(rows[i].of, OF_ARRAY) == 0 || tl_word_is_listed(rows[i].of, module)) &&
          tl_word_is_listed(rows[i].names, name))
         return &rows[i];
   return NULL;
}

/* By position; NULL: there is none, or a starred one may be before it. */
static const TlNode *
plain_argument(const TlAstCall *call, size_t i)
{
   TlPlaced a = i < call->args.len ? tl_placed_argument(call, i) : (TlPlaced){0};
   return a.keyword ? NULL : a.value;
}

/* Of np.arange(0, n), torch.full(shape, 0.0): by numbers that are whole, or have a fraction. */
static const char *
entry_of_numbers(const Reader *r, const TlAstCall *call, size_t from, size_t to, bool is_torch)
{
   bool is_whole = true;
   for (size_t i = from; i < to; i++) {
      const TlNode *a = plain_argument(call, i);
      TlArgKind kind = a ? tl_expression_kind(r->s, r->at, a) : TL_ARG_UNKNOWN;
      if (kind != TL_ARG_INT && kind != TL_ARG_FLOAT)
         return NULL;
      if (a->kind == TL_AST_CONST) /* True */
         return NULL;
      is_whole &= kind == TL_ARG_INT;
   }
   return from >= to ? NULL : is_whole ? "i64" : is_torch ? DEFAULT : "fp64";
}

/* fp32, unless the file has torch make others. */
static const char *
default_of_torch(const Reader *r)
{
   const TlSource *src = tl_source(r->s->sources, r->at->range.file);
   return !src || strstr(src->text, "set_default_") ? NULL : "fp32";
}

static const char *
entry_without_type(const Reader *r, const TlAstCall *call, const TlNode *of, const Row *row)
{
   bool is_torch = strcmp(row->of, "torch") == 0;
   const char *entry = row->otherwise;
   size_t num = 0;
   while (plain_argument(call, num))
      num++;
   if (entry && strcmp(entry, RANGE) == 0) {
      entry = entry_of_numbers(r, call, 0, num, is_torch);
   } else if (entry && tl_starts_with(entry, "value ")) {
      size_t at = (size_t)strtoul(entry + strlen("value "), NULL, 10);
      entry = entry_of_numbers(r, call, at, at < num ? at + 1 : at, is_torch);
   }
   if (!entry)
      return NULL;
   return strcmp(entry, FIRST) == 0     ? dtype_of(r, plain_argument(call, 0))
          : strcmp(entry, SELF) == 0    ? dtype_of(r, of)
          : strcmp(entry, DEFAULT) == 0 ? default_of_torch(r)
                                        : entry;
}

static bool
is_device(const TlNode *n)
{
   return n->kind == TL_AST_STR && !entry_of_word(tl_ast_Str(n)->value.data);
}

static const char *
dtype_of_call(const Reader *r, const TlAstCall *call)
{
   const TlNode *of =
      call->func->kind == TL_AST_ATTRIBUTE ? tl_ast_Attribute(call->func)->value : NULL;
   if (!of)
      return NULL;
   const char *module = of->kind == TL_AST_NAME        ? tl_ast_Name(of)->id
                        : of->kind == TL_AST_ATTRIBUTE ? tl_ast_Attribute(of)->name
                                                       : "";
   const Row *row = row_of(module, tl_ast_Attribute(call->func)->name);
   if (!row)
      return NULL;
   for (size_t i = 0; i < call->args.len; i++) {
      const TlNode *a = call->args.data[i];
      const TlAstKeyword *k = a->kind == TL_AST_KEYWORD ? tl_ast_Keyword(a) : NULL;
      if (k && !k->name) /* **options */
         return NULL;
      if (k && strcmp(k->name, "dtype") == 0)
         return type_of(r, k->value);
   }
   const TlNode *typed = row->place >= 0 ? plain_argument(call, (size_t)row->place) : NULL;
   const char *entry = typed ? type_of(r, typed) : NULL;
   bool is_method = strcmp(row->of, OF_ARRAY) == 0;
   if (entry && is_method && !dtype_of(r, of))
      return NULL; /* of what is no array, for all that is known */
   if (typed && !entry && is_method)
      return is_device(typed) || tl_expression_kind(r->s, r->at, typed) == TL_ARG_INT ||
                   typed->kind == TL_AST_TUPLE
                ? dtype_of(r, of)
                : NULL;
   if (typed && !entry)
      return NULL;
   return entry ? entry : entry_without_type(r, call, of, row);
}

/* ---- expressions ---- */
static bool
is_float_entry(const char *entry)
{
   return entry[0] == 'f' || entry[0] == 'b';
}

/* x * 2.0, x + y: of one type, or a number that does not change it. */
static const char *
dtype_of_binary(const Reader *r, const TlAstBinary *n)
{
   const char *a = dtype_of(r, n->left), *b = dtype_of(r, n->right);
   if (a && b)
      return strcmp(a, b) == 0 && (n->op != TL_AST_OP_DIV || is_float_entry(a)) ? a : NULL;
   const char *entry = a ? a : b;
   if (!entry)
      return NULL;
   TlArgKind kind = tl_expression_kind(r->s, r->at, a ? n->right : n->left);
   bool is_kept = is_float_entry(entry) ? kind == TL_ARG_INT || kind == TL_ARG_FLOAT
                                        : kind == TL_ARG_INT && n->op != TL_AST_OP_DIV;
   return is_kept && strcmp(entry, "i1") != 0 ? entry : NULL;
}

static const char *
dtype_of(const Reader *r, const TlNode *n)
{
   Reader inner = *r;
   if (!n || inner.depth++ > MAX_DEEP)
      return NULL;
   const TlNode *bound;
   switch (n->kind) {
   case TL_AST_NAME:
      bound = tl_local_value(r->s, r->at, tl_ast_Name(n)->id);
      return bound ? dtype_of(&inner, bound) : NULL;
   case TL_AST_CALL:
      return dtype_of_call(&inner, tl_ast_Call(n));
   case TL_AST_BINARY:
      return dtype_of_binary(&inner, tl_ast_Binary(n));
   case TL_AST_ATTRIBUTE:
      return tl_word_is_listed("T mT data", tl_ast_Attribute(n)->name)
                ? dtype_of(&inner, tl_ast_Attribute(n)->value)
                : NULL;
   case TL_AST_SUBSCRIPT:
      return dtype_of(&inner, tl_ast_Subscript(n)->value);
   default:
      return NULL;
   }
}

const char *
tl_array_dtype(TlSema *s, const TlNode *at, const TlNode *n)
{
   Reader r = {.s = s, .at = at};
   return dtype_of(&r, n);
}
