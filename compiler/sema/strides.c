/* Which parameters of a kernel may be strides of which: by its text, before any specialisation.
 * Followed are the names in what is added to a pointer: those that are multiplied there, and those
 * added alone.  What is compared, or counted up to, is a size.  Where the text is not understood a
 * name counts as a stride. */
#include "sema/impl.h"

#include <string.h>

enum {
   MAX_PARAMS = 128,
   MAX_CALLS_DEEP = 8,
   MAX_STEPS = 1 << 17, /* nodes looked at: some 5 ms */
};

typedef struct Set { /* of parameters, by number */
   uint64_t word[MAX_PARAMS / 64];
} Set;

/* Of an expression: the parameters that it is an address in (which may be pointers, or not), those
 * whose value it is, and those of which it is a multiple. */
typedef struct Reach {
   Set through, is, times;
} Reach;

typedef struct Walk {
   TlSema *s;
   TlMap *names; /* of the function being read: Reach */
   TlMap inner;  /* functions of functions: TlAstFunction */
   Reach result; /* of its return statements */
   Set strides[MAX_PARAMS], bounds;
   unsigned depth, steps;
} Walk;

static Reach reach_of(Walk *w, const TlNode *n);
static void read_statement(Walk *w, const TlNode *n);

static void
add(Set *to, Set more)
{
   for (unsigned i = 0; i < MAX_PARAMS / 64; i++)
      to->word[i] |= more.word[i];
}

static bool
has(const Set *set, unsigned param)
{
   return set->word[param / 64] >> param % 64 & 1;
}

static Reach
both(Reach a, Reach b)
{
   add(&a.through, b.through);
   add(&a.is, b.is);
   add(&a.times, b.times);
   return a;
}

/* Of a sum: what is added to a pointer leads through its memory. */
static Reach
address(Walk *w, Reach sum)
{
   Set added = sum.is;
   add(&added, sum.times);
   for (unsigned i = 0; i < MAX_PARAMS / 64; i++)
      for (uint64_t left = sum.through.word[i]; left; left &= left - 1)
         add(&w->strides[64 * i + (unsigned)__builtin_ctzll(left)], added);
   return sum;
}

/* ---- expressions ---- */
static Reach
reach_of_binary(Walk *w, TlAstOp op, const TlNode *left, const TlNode *right)
{
   Reach a = reach_of(w, left), b = reach_of(w, right), product = {0};
   switch (op) {
   case TL_AST_OP_DIV:
   case TL_AST_OP_BITAND:
   case TL_AST_OP_BITOR:
      return (Reach){0};
   case TL_AST_OP_FLOORDIV:
   case TL_AST_OP_MOD:
      return a;
   case TL_AST_OP_MUL:
   case TL_AST_OP_SHL:
      a = both(a, b);
      product.through = a.through;
      product.times = a.is;
      add(&product.times, a.times);
      return product;
   default:
      return address(w, both(a, b));
   }
}

static Reach
reach_of_function(Walk *w, const TlAstFunction *f, TlMap *names)
{
   TlMap *outer = w->names;
   Reach outer_result = w->result;
   w->names = names;
   w->result = (Reach){0};
   w->depth++;
   for (int round = 0; round < 2; round++) /* what a loop carries */
      for (size_t i = 0; i < f->body.len; i++)
         read_statement(w, f->body.data[i]);
   w->depth--;
   Reach result = w->result;
   w->names = outer;
   w->result = outer_result;
   return result;
}

static void
bind(Walk *w, TlMap *names, const char *name, Reach r)
{
   Reach *known = tl_map_get(names, name);
   if (!known) {
      known = tl_new(w->s->arena, Reach);
      tl_map_put(names, name, known);
   }
   *known = both(*known, r);
}

/* The function that a call runs, of this file; NULL: another, or its arguments have no places. */
static const TlAstFunction *
called(Walk *w, const TlAstCall *call)
{
   if (call->func->kind != TL_AST_NAME || w->depth >= MAX_CALLS_DEEP)
      return NULL;
   for (size_t i = 0; i < call->args.len; i++) {
      const TlNode *a = call->args.data[i];
      if (a->kind == TL_AST_STARRED || (a->kind == TL_AST_KEYWORD && !tl_ast_Keyword(a)->name))
         return NULL;
   }
   const char *name = tl_ast_Name(call->func)->id;
   const TlAstFunction *f = tl_map_get(&w->inner, name);
   const TlSvFunc *fn = f ? NULL : tl_function_of(w->s, name);
   return f                                                     ? f
          : fn && fn->node && fn->node->kind == TL_AST_FUNCTION ? tl_ast_Function(fn->node)
                                                                : NULL;
}

static Reach
reach_of_inner(Walk *w, const TlAstFunction *f, const TlAstCall *call)
{
   TlMap *names = tl_new(w->s->arena, TlMap);
   tl_map_init(names, w->s->arena);
   size_t next = 0;
   for (size_t i = 0; i < call->args.len; i++) {
      const TlNode *a = call->args.data[i];
      if (a->kind == TL_AST_KEYWORD) {
         bind(w, names, tl_ast_Keyword(a)->name, reach_of(w, tl_ast_Keyword(a)->value));
         continue;
      }
      while (next < f->params.len && !tl_ast_Param(f->params.data[next])->name)
         next++; /* marks */
      Reach r = reach_of(w, a);
      if (next < f->params.len)
         bind(w, names, tl_ast_Param(f->params.data[next++])->name, r);
   }
   return reach_of_function(w, f, names);
}

/* tl.max(tile, axis); a plain name may be Python's, of numbers. */
static bool
is_extreme_of_data(const TlAstCall *call)
{
   if (call->func->kind != TL_AST_ATTRIBUTE)
      return false;
   return tl_word_is_listed("max min", tl_ast_Attribute(call->func)->name);
}

static Reach
reach_of_call(Walk *w, const TlAstCall *call)
{
   const TlAstFunction *f = called(w, call);
   if (f)
      return reach_of_inner(w, f, call);
   const char *name = tl_decorator_name(call->func);
   bool describes = tl_word_is_listed("make_block_ptr make_tensor_descriptor", name);
   bool counts = tl_word_is_listed("cdiv range static_range arange static_assert static_print "
                                   "device_assert device_print device_debug len float",
                                   name);
   Reach all = {0};
   if (call->func->kind == TL_AST_ATTRIBUTE)
      all = reach_of(w, tl_ast_Attribute(call->func)->value);
   for (size_t i = 0; i < call->args.len; i++) {
      const TlNode *a = call->args.data[i];
      const char *keyword = a->kind == TL_AST_KEYWORD ? tl_ast_Keyword(a)->name : NULL;
      Reach r = reach_of(w, a->kind == TL_AST_KEYWORD ? tl_ast_Keyword(a)->value : a);
      bool is_shape = describes && (keyword ? strcmp(keyword, "shape") == 0 : i == 1);
      if (counts && !keyword)
         add(&w->bounds, r.is);
      if (!is_shape)
         all = both(all, r);
   }
   bool is_data =
      counts || tl_word_is_listed("load store dot sum", name) || is_extreme_of_data(call);
   return is_data ? (Reach){0} : address(w, all);
}

typedef struct Children {
   Walk *w;
   Reach all;
} Children;

static void
join_child(void *user, TlNode *child)
{
   Children *c = user;
   c->all = both(c->all, reach_of(c->w, child));
}

static void
assign(Walk *w, const TlNode *target, Reach r)
{
   if (target->kind == TL_AST_NAME)
      bind(w, w->names, tl_ast_Name(target)->id, r); /* it only gains: sides of an `if` meet */
   const TlNodeList *items = target->kind == TL_AST_TUPLE  ? &tl_ast_Tuple(target)->items
                             : target->kind == TL_AST_LIST ? &tl_ast_List(target)->items
                                                           : NULL;
   for (size_t i = 0; items && i < items->len; i++)
      assign(w, items->data[i], r);
}

static Reach
reach_of(Walk *w, const TlNode *n)
{
   Reach none = {0};
   if (!n || ++w->steps > MAX_STEPS)
      return none;
   switch (n->kind) {
   case TL_AST_NAME: {
      const Reach *r = tl_map_get(w->names, tl_ast_Name(n)->id);
      return r ? *r : none;
   }
   case TL_AST_BINARY: {
      const TlAstBinary *b = tl_ast_Binary(n);
      return reach_of_binary(w, b->op, b->left, b->right);
   }
   case TL_AST_COMPARE: {
      const TlAstCompare *c = tl_ast_Compare(n);
      add(&w->bounds, reach_of(w, c->left).is);
      for (size_t i = 0; i < c->rights.len; i++)
         add(&w->bounds, reach_of(w, c->rights.data[i]).is);
      return none;
   }
   case TL_AST_CALL:
      return reach_of_call(w, tl_ast_Call(n));
   case TL_AST_ATTRIBUTE: {
      const TlAstAttribute *a = tl_ast_Attribute(n);
      return strcmp(a->name, "dtype") == 0 ? none : reach_of(w, a->value);
   }
   case TL_AST_WALRUS: {
      Reach r = reach_of(w, tl_ast_Walrus(n)->value);
      assign(w, tl_ast_Walrus(n)->target, r);
      return r;
   }
   default: {
      Children c = {w, none};
      tl_ast_children(n, join_child, &c);
      return c.all;
   }
   }
}

/* ---- statements ---- */
static void
read_child(void *user, TlNode *child)
{
   Walk *w = user;
   if (child->kind < TL_AST_EXPR_STMT)
      reach_of(w, child);
   else
      read_statement(w, child);
}

/* a, b = x, y: each its own */
static bool
assign_each(Walk *w, const TlAstAssign *a)
{
   if (a->targets.len != 1 || a->targets.data[0]->kind != TL_AST_TUPLE ||
       a->value->kind != TL_AST_TUPLE)
      return false;
   const TlNodeList *to = &tl_ast_Tuple(a->targets.data[0])->items;
   const TlNodeList *from = &tl_ast_Tuple(a->value)->items;
   for (size_t i = 0; to->len == from->len && i < to->len; i++)
      assign(w, to->data[i], reach_of(w, from->data[i]));
   return to->len == from->len;
}

static void
read_statement(Walk *w, const TlNode *n)
{
   if (!n || w->steps > MAX_STEPS)
      return;
   switch (n->kind) {
   case TL_AST_ASSIGN: {
      const TlAstAssign *a = tl_ast_Assign(n);
      if (assign_each(w, a))
         return;
      Reach r = reach_of(w, a->value);
      for (size_t i = 0; i < a->targets.len; i++)
         assign(w, a->targets.data[i], r);
      return;
   }
   case TL_AST_ANN_ASSIGN:
      assign(w, tl_ast_AnnAssign(n)->target, reach_of(w, tl_ast_AnnAssign(n)->value));
      return;
   case TL_AST_AUG_ASSIGN: {
      const TlAstAugAssign *a = tl_ast_AugAssign(n);
      assign(w, a->target, reach_of_binary(w, a->op, a->target, a->value));
      return;
   }
   case TL_AST_FOR:
      assign(w, tl_ast_For(n)->target, reach_of(w, tl_ast_For(n)->iter));
      tl_ast_children(n, read_child, w);
      return;
   case TL_AST_RETURN:
      w->result = both(w->result, reach_of(w, tl_ast_Return(n)->value));
      return;
   case TL_AST_FUNCTION:
      tl_map_put(&w->inner, tl_ast_Function(n)->name, tl_ast_Function(n));
      return;
   default:
      tl_ast_children(n, read_child, w);
   }
}

/* ---- the kernel ---- */
static void
list_strides(const Walk *w, bool is_read, const TlKernelInfo *k, TlParamStrides *out)
{
   for (unsigned i = 0; i < k->num_params; i++) {
      out[i].names = tl_new_array(w->s->arena, const char *, k->num_params);
      out[i].is_bound = is_read && has(&w->bounds, i);
      for (unsigned p = 0; p < k->num_params; p++)
         if (p != i && (!is_read || has(&w->strides[i], p)))
            out[i].names[out[i].num++] = k->params[p].name;
   }
}

const TlParamStrides *
tl_sema_strides(TlSema *s, const TlKernelInfo *k)
{
   const TlSvFunc *fn = tl_function_of(s, k->name);
   TlParamStrides *out = tl_new_array(s->arena, TlParamStrides, k->num_params + 1);
   Walk *w = tl_new(s->arena, Walk);
   *w = (Walk){.s = s};
   tl_map_init(&w->inner, s->arena);
   TlMap names;
   tl_map_init(&names, s->arena);
   bool is_read = fn && fn->node->kind == TL_AST_FUNCTION && k->num_params <= MAX_PARAMS;
   for (unsigned i = 0; is_read && i < k->num_params; i++) {
      Reach own = {0};
      own.through.word[i / 64] = own.is.word[i / 64] = UINT64_C(1) << i % 64;
      bind(w, &names, tl_intern_cstr(s->strings, k->params[i].name), own);
   }
   if (is_read)
      reach_of_function(w, tl_ast_Function(fn->node), &names);
   list_strides(w, is_read && w->steps <= MAX_STEPS, k, out);
   return out;
}
