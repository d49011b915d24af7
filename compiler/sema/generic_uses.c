/* What a file says of constexpr parameters without a value: launches in it, `kernel[grid](..)`,
 * give values where they are known; else how the kernel uses the name tells its kind. */
#include "sema/builtin.h"
#include "sema/generic.h"
#include "sema/impl.h"
#include "sema/launch_args.h"

#include <string.h>

enum { MAX_VALUES = 4, MAX_CALLS_DEEP = 4 };

typedef struct Uses {
   TlSema *s;
   const char *name; /* of the parameter, in the function being read */
   TlConstHint *hint;
   unsigned depth;
} Uses;

static void
add_value(TlSema *s, TlConstHint *h, const char *entry)
{
   for (size_t i = 0; i < h->values.len; i++)
      if (strcmp(h->values.data[i], entry) == 0)
         return;
   if (h->values.len < MAX_VALUES)
      tl_vec_push(s->arena, &h->values, entry);
}

static bool
is_name(const TlNode *n, const char *name)
{
   return n && n->kind == TL_AST_NAME && tl_ast_Name(n)->id == name;
}

/* ---- uses in the kernel ---- */
static void read_uses(void *user, TlNode *n);

static void
take(Uses *u, TlConstUse use)
{
   if (u->hint->use == TL_CONST_NUMBER)
      u->hint->use = use;
}

static void
read_compare(Uses *u, const TlAstCompare *n)
{
   for (size_t i = 0; i < n->rights.len && is_name(n->left, u->name); i++) {
      const TlNode *r = n->rights.data[i];
      bool is_choice = n->ops.data[i] == TL_AST_OP_EQ && r->kind == TL_AST_INT;
      if (r->kind != TL_AST_STR && !is_choice)
         continue;
      take(u, is_choice ? TL_CONST_CHOICE : TL_CONST_WORD);
      add_value(u->s, u->hint,
                is_choice ? tl_node_text(u->s, r)
                          : tl_arena_printf(u->s->arena, "'%s'", tl_ast_Str(r)->value.data));
   }
}

static bool
is_dtype_keyword(const char *name)
{
   return name && (strcmp(name, "dtype") == 0 || strcmp(name, "out_dtype") == 0);
}

/* A word that a builtin's parameter of this name takes; NULL: it takes no words. */
static const char *
word_for(const char *keyword)
{
   static const struct {
      const char *keyword, *word;
   } rows[] = {{"cache_modifier", ""},          {"eviction_policy", ""}, {"padding_option", "zero"},
               {"input_precision", "tf32"},     {"sem", "relaxed"},      {"scope", "gpu"},
               {"fp_downcast_rounding", "rtne"}};
   for (size_t i = 0; keyword && i < sizeof rows / sizeof rows[0]; i++)
      if (strcmp(rows[i].keyword, keyword) == 0)
         return rows[i].word;
   return NULL;
}

/* Does the callee take floating-point numbers alone? */
static bool
takes_fractions(const TlNode *callee)
{
   const char *name = tl_decorator_name(callee);
   const TlBuiltin *row = tl_builtin_find(TL_NS_TL | TL_NS_MATH | TL_NS_LIBDEVICE, name);
   uint32_t takes = row ? ((const TlBuiltinRow *)row)->takes : 0;
   return takes && !(takes & (TL_TAKES_INT | TL_TAKES_BOOL));
}

/* The name is handed on to a function of the file: its uses there count as well. */
static void
read_inner(Uses *u, const TlAstCall *call, size_t position, const char *keyword)
{
   const TlSvFunc *fn =
      call->func->kind == TL_AST_NAME ? tl_function_of(u->s, tl_ast_Name(call->func)->id) : NULL;
   if (!fn || u->depth >= MAX_CALLS_DEEP)
      return;
   const TlAstFunction *f = tl_ast_Function(fn->node);
   for (size_t i = 0; i < f->params.len; i++) {
      const TlAstParam *p = tl_ast_Param(f->params.data[i]);
      if (!p->name || (keyword ? p->name != keyword : i != position))
         continue;
      Uses inner = {u->s, p->name, u->hint, u->depth + 1};
      for (size_t k = 0; k < f->body.len; k++)
         if (f->body.data[k])
            read_uses(&inner, f->body.data[k]);
   }
}

static void
read_call(Uses *u, const TlAstCall *call)
{
   if (is_name(call->func, u->name))
      take(u, TL_CONST_FUNCTION);
   bool is_len = call->func->kind == TL_AST_NAME && call->args.len == 1 &&
                 strcmp(tl_ast_Name(call->func)->id, "len") == 0;
   if (is_len && is_name(call->args.data[0], u->name))
      take(u, TL_CONST_ITEMS);
   bool is_range = strcmp(tl_decorator_name(call->func), "arange") == 0;
   bool is_cast =
      call->func->kind == TL_AST_ATTRIBUTE && strcmp(tl_ast_Attribute(call->func)->name, "to") == 0;
   for (size_t i = 0; i < call->args.len; i++) {
      const TlNode *a = call->args.data[i];
      const char *keyword = a->kind == TL_AST_KEYWORD ? tl_ast_Keyword(a)->name : NULL;
      const TlNode *value = a->kind == TL_AST_KEYWORD ? tl_ast_Keyword(a)->value : a;
      if (!is_name(value, u->name))
         continue;
      u->hint->is_counted |= is_range;
      u->hint->is_size |= is_range;
      if (is_dtype_keyword(keyword) || (is_cast && i == 0))
         take(u, TL_CONST_DTYPE);
      const char *word = word_for(keyword);
      if (word && (u->hint->use == TL_CONST_NUMBER || u->hint->use == TL_CONST_WORD)) {
         take(u, TL_CONST_WORD);
         add_value(u->s, u->hint, tl_arena_printf(u->s->arena, "'%s'", word));
      }
      if (i == 0 && !keyword && takes_fractions(call->func))
         take(u, TL_CONST_FRACTION);
      read_inner(u, call, i, keyword);
   }
}

static void
read_test(Uses *u, const TlNode *test)
{
   if (is_name(test, u->name))
      take(u, TL_CONST_FLAG);
}

static void
read_uses(void *user, TlNode *n)
{
   Uses *u = user;
   switch (n->kind) {
   case TL_AST_COMPARE:
      read_compare(u, tl_ast_Compare(n));
      break;
   case TL_AST_CALL:
      read_call(u, tl_ast_Call(n));
      break;
   case TL_AST_SUBSCRIPT:
      if (is_name(tl_ast_Subscript(n)->value, u->name))
         take(u, TL_CONST_ITEMS);
      break;
   case TL_AST_IF:
      read_test(u, tl_ast_If(n)->test);
      break;
   case TL_AST_CONDITIONAL:
      read_test(u, tl_ast_Conditional(n)->test);
      break;
   case TL_AST_BINARY:
      u->hint->is_counted |=
         is_name(tl_ast_Binary(n)->left, u->name) || is_name(tl_ast_Binary(n)->right, u->name);
      break;
   case TL_AST_BOOLOP:
      read_test(u, tl_ast_BoolOp(n)->left);
      read_test(u, tl_ast_BoolOp(n)->right);
      break;
   case TL_AST_UNARY:
      if (tl_ast_Unary(n)->op == TL_AST_OP_NOT)
         read_test(u, tl_ast_Unary(n)->operand);
      break;
   default:
      break;
   }
   tl_ast_children(n, read_uses, u);
}

/* ---- launches in the file ---- */
typedef struct Launches {
   TlSema *s;
   const TlKernelInfo *kernel;
   TlConstHint *hints;
   TlFrame *frame;
} Launches;

static void
take_launched(Launches *l, unsigned param, const TlNode *value)
{
   bool is_plain = value->kind == TL_AST_INT || value->kind == TL_AST_FLOAT ||
                   value->kind == TL_AST_STR || value->kind == TL_AST_CONST ||
                   value->kind == TL_AST_NAME || value->kind == TL_AST_ATTRIBUTE;
   if (!is_plain || !l->kernel->params[param].is_constexpr)
      return;
   TlSv v = tl_quiet_value(l->s, l->frame, value, NULL);
   bool is_entry = tl_sv_is_number(&v) || v.kind == TL_SV_STR || v.kind == TL_SV_TYPE ||
                   (v.kind == TL_SV_NONE && value->kind == TL_AST_CONST);
   if (!is_entry)
      return;
   TlConstHint *h = &l->hints[param];
   const char *text = tl_sv_constant_text(l->s, &v);
   add_value(l->s, h, v.kind == TL_SV_STR ? tl_arena_printf(l->s->arena, "'%s'", v.s.data) : text);
   h->num_launched = (unsigned)h->values.len;
}

static void
read_launch(Launches *l, const TlAstCall *call)
{
   const TlKernelInfo *k = l->kernel;
   for (size_t i = 0; i < call->args.len; i++) {
      TlPlaced a = tl_placed_argument(call, i);
      for (unsigned p = 0; p < k->num_params; p++)
         if (tl_is_placed_at(k, &a, i, p))
            take_launched(l, p, a.value);
   }
}

typedef struct Finder {
   TlSema *s;
   TlMap *launches, *plain; /* interned name -> TlCalls */
   const char *owner;       /* class that we are in: "A.B"; NULL: none */
   bool in_kernel;
} Finder;

/* "k" of k[..](..), "A.k" of A.k[..](..), or of self.k[..](..) and cls.k[..](..) in class A, as
 * kernels are listed; NULL: what is launched is an expression. */
static const char *
launched_name(const Finder *f, const TlNode *of, unsigned depth)
{
   enum { MOST_CLASSES = 16 };
   if (of->kind == TL_AST_NAME)
      return tl_ast_Name(of)->id;
   if (of->kind != TL_AST_ATTRIBUTE || depth == MOST_CLASSES)
      return NULL;
   const TlAstAttribute *a = tl_ast_Attribute(of);
   const char *base = launched_name(f, a->value, depth + 1);
   if (base && f->owner && (strcmp(base, "self") == 0 || strcmp(base, "cls") == 0))
      base = f->owner;
   return base ? tl_intern_cstr(f->s->strings, tl_arena_printf(f->s->arena, "%s.%s", base, a->name))
               : NULL;
}

static void
add_call(Finder *f, TlMap *calls_of, const char *name, const TlAstCall *call)
{
   if (!name)
      return;
   TlCalls *calls = tl_map_get(calls_of, name);
   if (!calls) {
      calls = tl_new(f->s->arena, TlCalls);
      tl_map_put(calls_of, name, calls);
   }
   tl_vec_push(f->s->arena, calls, call);
}

static void
find_calls(void *user, TlNode *n)
{
   Finder *f = user;
   const Finder around = *f;
   f->in_kernel |=
      n->kind == TL_AST_FUNCTION && tl_has_jit_decorator(&tl_ast_Function(n)->decorators);
   if (n->kind == TL_AST_CLASS) {
      const char *own = tl_ast_Class(n)->name;
      f->owner = f->owner ? tl_arena_printf(f->s->arena, "%s.%s", f->owner, own) : own;
   }
   if (n->kind == TL_AST_CALL) {
      const TlAstCall *call = tl_ast_Call(n);
      if (call->func->kind == TL_AST_SUBSCRIPT)
         add_call(f, f->launches, launched_name(f, tl_ast_Subscript(call->func)->value, 0), call);
      else if (!f->in_kernel && call->func->kind == TL_AST_NAME)
         add_call(f, f->plain, tl_ast_Name(call->func)->id, call);
   }
   tl_ast_children(n, find_calls, f);
   *f = around;
}

static TlMap *
new_map(TlSema *s)
{
   TlMap *map = tl_new(s->arena, TlMap);
   tl_map_init(map, s->arena);
   return map;
}

/* The file is read once for all kernels. */
static void
find_all_calls(TlSema *s)
{
   if (s->impl->launches)
      return;
   const TlNodeList *body = &s->impl->main->ast->body;
   s->impl->launches = new_map(s);
   s->impl->plain_calls = new_map(s);
   Finder f = {.s = s, .launches = s->impl->launches, .plain = s->impl->plain_calls};
   for (size_t i = 0; i < body->len; i++)
      if (body->data[i])
         find_calls(&f, body->data[i]);
}

const TlCalls *
tl_launches_of(TlSema *s, const char *kernel)
{
   find_all_calls(s);
   return tl_map_get(s->impl->launches, tl_intern_cstr(s->strings, kernel));
}

const TlCalls *
tl_plain_calls_of(TlSema *s, const char *kernel)
{
   find_all_calls(s);
   return tl_map_get(s->impl->plain_calls, tl_intern_cstr(s->strings, kernel));
}

void
tl_const_hints(TlSema *s, const TlKernelInfo *k, TlConstHint *hints, bool with_launches)
{
   const TlSvFunc *fn = tl_function_of(s, k->name);
   Launches l = {s, k, hints, tl_module_frame(s, s->impl->main)};
   const TlCalls *calls = tl_launches_of(s, k->name);
   for (size_t i = 0; calls && with_launches && i < calls->len; i++)
      read_launch(&l, calls->data[i]);
   for (unsigned p = 0; p < k->num_params && fn; p++) {
      Uses u = {s, tl_intern_cstr(s->strings, k->params[p].name), &hints[p], 0};
      const TlNodeList *body = &tl_ast_Function(fn->node)->body;
      for (size_t i = 0; i < body->len && k->params[p].is_constexpr; i++)
         if (body->data[i])
            read_uses(&u, body->data[i]);
      if (u.hint->use == TL_CONST_FLAG && u.hint->is_size)
         u.hint->use = TL_CONST_NUMBER; /* if BLOCK: arange(0, BLOCK); not at all where it is 0 */
   }
}
