/* Numbers that the text around a launch spells out: literals, constants of the module, names that a
 * function sets once, sizes and strides of arrays that it makes of such, the launch's own options.
 * See launch_args.h. */
#include "sema/generic.h"
#include "sema/impl.h"
#include "sema/launch_args.h"

#include <string.h>

enum { MAX_DEEP = 16, MAX_DIMS = 6, MAX_STEPS = 500 /* of one launch */ };

typedef struct Shape {
   int64_t size[MAX_DIMS];
   unsigned rank;
} Shape;

static bool number_of(const TlLaunchText *t, const TlNode *n, unsigned depth, int64_t *out);
static bool shape_of(const TlLaunchText *t, const TlNode *n, unsigned depth, Shape *out);

static const TlNode *
called_on(const TlAstCall *call, const char **name)
{
   const TlNode *f = call->func;
   *name = f->kind == TL_AST_ATTRIBUTE ? tl_ast_Attribute(f)->name
           : f->kind == TL_AST_NAME    ? tl_ast_Name(f)->id
                                       : "";
   return f->kind == TL_AST_ATTRIBUTE ? tl_ast_Attribute(f)->value : NULL;
}

/* The arguments without keywords; a tuple alone stands for its items. */
static size_t
plain_items(const TlNodeList *args, const TlNode *const **items)
{
   size_t n = 0;
   while (n < args->len && args->data[n]->kind != TL_AST_KEYWORD)
      n++;
   const TlNode *first = n ? args->data[0] : NULL;
   const TlNodeList *inner = n && first->kind == TL_AST_TUPLE  ? &tl_ast_Tuple(first)->items
                             : n && first->kind == TL_AST_LIST ? &tl_ast_List(first)->items
                                                               : NULL;
   *items = (const TlNode *const *)(inner ? inner->data : args->data);
   return inner ? inner->len : n;
}

/* torch.zeros((M, N), ..), torch.empty_like(x), x.contiguous() */
static bool
shape_of_call(const TlLaunchText *t, const TlAstCall *call, unsigned depth, Shape *out)
{
   const char *name;
   const TlNode *of = called_on(call, &name);
   const TlNode *const *items;
   size_t n = plain_items(&call->args, &items);
   if (!of)
      return false;
   if (n &&
       tl_word_is_listed("empty_like zeros_like ones_like full_like rand_like randn_like", name))
      return shape_of(t, items[0], depth, out);
   if (tl_word_is_listed("contiguous cuda clone detach to half bfloat16 float", name))
      return shape_of(t, of, depth, out);
   bool is_full = strcmp(name, "full") == 0;
   if (is_full && items == (const TlNode *const *)call->args.data)
      return false;
   if (!is_full && !tl_word_is_listed("empty zeros ones rand randn", name))
      return false;
   for (out->rank = 0; out->rank < n; out->rank++)
      if (out->rank == MAX_DIMS || !number_of(t, items[out->rank], depth, &out->size[out->rank]))
         return false;
   return out->rank > 0;
}

static bool
shape_of(const TlLaunchText *t, const TlNode *n, unsigned depth, Shape *out)
{
   if (++depth > MAX_DEEP)
      return false;
   if (n->kind == TL_AST_NAME) {
      const TlNode *value = tl_local_value(t->s, &t->call->node, tl_ast_Name(n)->id);
      return value && shape_of(t, value, depth, out);
   }
   return n->kind == TL_AST_CALL && shape_of_call(t, tl_ast_Call(n), depth, out);
}

static bool
product_from(const Shape *shape, unsigned first, int64_t *out)
{
   *out = 1;
   for (unsigned i = first; i < shape->rank; i++)
      if (__builtin_mul_overflow(*out, shape->size[i], out))
         return false;
   return true;
}

/* Number `item` of x.shape or x.stride(). */
static bool
item_of(const TlLaunchText *t, const TlNode *array, const TlNode *item, bool is_stride,
        unsigned depth, int64_t *out)
{
   Shape shape;
   int64_t i;
   if (!shape_of(t, array, depth, &shape) || !number_of(t, item, depth, &i))
      return false;
   i += i < 0 ? shape.rank : 0;
   if (i < 0 || i >= shape.rank)
      return false;
   if (is_stride)
      return product_from(&shape, (unsigned)i + 1, out);
   *out = shape.size[i];
   return true;
}

static bool
number_of_call(const TlLaunchText *t, const TlAstCall *call, unsigned depth, int64_t *out)
{
   const char *name;
   const TlNode *of = called_on(call, &name);
   int64_t a, b;
   Shape shape;
   if (strcmp(name, "cdiv") == 0 && call->args.len == 2) {
      bool is_known = number_of(t, call->args.data[0], depth, &a) &&
                      number_of(t, call->args.data[1], depth, &b) && a >= 0 && b > 0;
      *out = is_known ? a / b + (a % b != 0) : 0;
      return is_known;
   }
   if (of && strcmp(name, "numel") == 0 && !call->args.len)
      return shape_of(t, of, depth, &shape) && product_from(&shape, 0, out);
   bool is_stride = strcmp(name, "stride") == 0;
   return of && call->args.len == 1 && (is_stride || strcmp(name, "size") == 0) &&
          item_of(t, of, call->args.data[0], is_stride, depth, out);
}

static bool
number_of_binary(const TlLaunchText *t, const TlAstBinary *n, unsigned depth, int64_t *out)
{
   int64_t a, b;
   if (!number_of(t, n->left, depth, &a) || !number_of(t, n->right, depth, &b))
      return false;
   switch ((int)n->op) {
   case TL_AST_OP_ADD:
      return !__builtin_add_overflow(a, b, out);
   case TL_AST_OP_SUB:
      return !__builtin_sub_overflow(a, b, out);
   case TL_AST_OP_MUL:
      return !__builtin_mul_overflow(a, b, out);
   case TL_AST_OP_FLOORDIV:
      *out = a >= 0 && b > 0 ? a / b : 0;
      return a >= 0 && b > 0;
   }
   return false;
}

/* meta["BLOCK"] in the grid, x.shape[0], x.stride()[0] */
static bool
number_of_subscript(const TlLaunchText *t, const TlAstSubscript *x, unsigned depth, int64_t *out)
{
   const TlNode *item = x->indices.len == 1 ? x->indices.data[0] : NULL;
   if (!item)
      return false;
   for (unsigned p = 0; item->kind == TL_AST_STR && p < t->kernel->num_params; p++) {
      TlSv v = tl_quiet_value(t->s, tl_module_frame(t->s, t->s->impl->main), item, NULL);
      if (v.kind == TL_SV_STR && strcmp(v.s.data, t->kernel->params[p].name) == 0)
         return t->args[p].node && number_of(t, t->args[p].node, depth, out);
   }
   const TlNode *v = x->value;
   if (v->kind == TL_AST_ATTRIBUTE && strcmp(tl_ast_Attribute(v)->name, "shape") == 0)
      return item_of(t, tl_ast_Attribute(v)->value, item, false, depth, out);
   const char *name = "";
   const TlAstCall *call = v->kind == TL_AST_CALL ? tl_ast_Call(v) : NULL;
   const TlNode *of = call && !call->args.len ? called_on(call, &name) : NULL;
   bool is_stride = strcmp(name, "stride") == 0;
   return of && (is_stride || strcmp(name, "size") == 0) &&
          item_of(t, of, item, is_stride, depth, out);
}

static bool
number_of_name(const TlLaunchText *t, const TlNode *n, unsigned depth, int64_t *out)
{
   const TlNode *local = tl_local_value(t->s, &t->call->node, tl_ast_Name(n)->id);
   if (local)
      return number_of(t, local, depth, out);
   if (tl_expression_kind(t->s, &t->call->node, n) != TL_ARG_INT)
      return false;
   TlSv v = tl_quiet_value(t->s, tl_module_frame(t->s, t->s->impl->main), n, NULL);
   *out = v.kind == TL_SV_INT ? v.i : 0;
   return v.kind == TL_SV_INT;
}

static bool
number_of(const TlLaunchText *t, const TlNode *n, unsigned depth, int64_t *out)
{
   if (++depth > MAX_DEEP || ++*t->steps > MAX_STEPS)
      return false;
   switch ((int)n->kind) {
   case TL_AST_INT:
      *out = (int64_t)tl_ast_Int(n)->value;
      return *out >= 0;
   case TL_AST_NAME:
      return number_of_name(t, n, depth, out);
   case TL_AST_UNARY: /* x.shape[-1] */
      if (tl_ast_Unary(n)->op != TL_AST_OP_NEG ||
          !number_of(t, tl_ast_Unary(n)->operand, depth, out))
         return false;
      *out = -*out;
      return true;
   case TL_AST_BINARY:
      return number_of_binary(t, tl_ast_Binary(n), depth, out);
   case TL_AST_CALL:
      return number_of_call(t, tl_ast_Call(n), depth, out);
   case TL_AST_SUBSCRIPT:
      return number_of_subscript(t, tl_ast_Subscript(n), depth, out);
   }
   return false;
}

void
tl_launch_text(TlSema *s, const TlKernelInfo *k, const TlAstCall *call, TlLaunchText *out)
{
   *out = (TlLaunchText){.s = s, .kernel = k, .call = call};
   out->steps = tl_new(s->arena, unsigned);
   out->args = tl_new_array(s->arena, TlLaunchArg, k->num_params + 1);
   tl_launch_args(s, k, call, out->args);
}

bool
tl_launch_number(const TlLaunchText *t, const TlNode *n, int64_t *out)
{
   return number_of(t, n, 0, out) && *out >= 0;
}

bool
tl_launch_length(const TlLaunchText *t, const TlNode *n, int64_t *out)
{
   Shape shape;
   bool is_known = shape_of(t, n, 0, &shape) && shape.rank == 1;
   *out = is_known ? shape.size[0] : 0;
   return is_known;
}

const TlNode *
tl_grid_item(const TlNode *grid, unsigned axis)
{
   if (!grid || grid->kind != TL_AST_TUPLE)
      return axis ? NULL : grid;
   const TlNodeList *items = &tl_ast_Tuple(grid)->items;
   return axis < items->len ? items->data[axis] : NULL;
}

const TlNode *
tl_launch_grid_item(const TlLaunchText *t, unsigned axis)
{
   const TlAstSubscript *x = tl_ast_Subscript(t->call->func);
   if (x->is_tuple)
      return axis < x->indices.len ? x->indices.data[axis] : NULL;
   return tl_grid_item(tl_grid_node(t->s, &t->call->node, x->indices.data[0]), axis);
}
