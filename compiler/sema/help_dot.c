/* What brings the operands of a product together, and which of it the use of the product wants.
 *
 * Inner dimensions that differ may meet by tl.trans of either operand or by an exchange, and more
 * than one of these may fit.  What is said first is what gives the shape that the product is to
 * have: of an accumulator, of a tile beside it in a sum, or of the addresses that it is stored to,
 * as they are written. */
#include "sema/generic.h"
#include "sema/help.h"
#include "sema/impl.h"
#include "syntax/ast.h"

#include <string.h>

typedef struct Use { /* of the product, in the text */
   TlSema *s;
   TlRange place;     /* the product */
   const char *name;  /* of the variable that it is set to, or NULL */
   uint32_t shape[2]; /* rows and columns; 0: not known */
} Use;

static bool
is_around(const TlNode *n, TlRange range)
{
   return n->range.begin <= range.begin && range.end <= n->range.end;
}

static bool
is_known(const uint32_t shape[2])
{
   return shape[0] && shape[1];
}

static const TlType *
type_named(TlSema *s, const TlNode *n)
{
   const TlValue *v =
      n->kind == TL_AST_NAME ? tl_value_named(s->b.block, tl_ast_Name(n)->id) : NULL;
   return v && tl_type_is_tile(v->type) ? v->type : NULL;
}

/* rows[:, None] and columns[None, :] in an expression. */
static void
find_lines(void *user, TlNode *n)
{
   Use *u = user;
   const TlAstSubscript *x = n->kind == TL_AST_SUBSCRIPT ? tl_ast_Subscript(n) : NULL;
   const TlType *line = x && x->indices.len == 2 ? type_named(u->s, x->value) : NULL;
   for (unsigned d = 0; line && line->rank == 1 && d < 2; d++)
      if (x->indices.data[d]->kind == TL_AST_SLICE)
         u->shape[d] = line->shape[0];
   tl_ast_children(n, find_lines, u);
}

/* The shape of a tile that is written so; false: it is not known. */
static bool
shape_written(Use *u, const TlNode *n)
{
   const TlType *t = type_named(u->s, n);
   Use lines = {.s = u->s};
   if (t && t->rank >= 2)
      memcpy(lines.shape, &t->shape[t->rank - 2], sizeof lines.shape);
   else
      find_lines(&lines, (TlNode *)n);
   if (is_known(lines.shape))
      memcpy(u->shape, lines.shape, sizeof u->shape);
   return is_known(lines.shape);
}

/* The product itself, or its variable, scaled and converted. */
static bool
is_product(const Use *u, const TlNode *n)
{
   if (n->range.begin == u->place.begin && n->range.end == u->place.end)
      return true;
   if (n->kind == TL_AST_NAME)
      return u->name && strcmp(tl_ast_Name(n)->id, u->name) == 0;
   if (n->kind == TL_AST_BINARY)
      return is_product(u, tl_ast_Binary(n)->left) || is_product(u, tl_ast_Binary(n)->right);
   const TlNode *to = n->kind == TL_AST_CALL ? tl_ast_Call(n)->func : NULL;
   return to && to->kind == TL_AST_ATTRIBUTE && strcmp(tl_ast_Attribute(to)->name, "to") == 0 &&
          is_product(u, tl_ast_Attribute(to)->value);
}

static bool
is_sum(TlAstOp op)
{
   return op == TL_AST_OP_ADD || op == TL_AST_OP_SUB;
}

static void
find_use(void *user, TlNode *n)
{
   Use *u = user;
   const TlAstBinary *sum = n->kind == TL_AST_BINARY ? tl_ast_Binary(n) : NULL;
   const TlAstAugAssign *aug = n->kind == TL_AST_AUG_ASSIGN ? tl_ast_AugAssign(n) : NULL;
   const TlAstCall *call = n->kind == TL_AST_CALL ? tl_ast_Call(n) : NULL;
   bool is_found = false;
   if (n->range.end <= u->place.begin || is_known(u->shape))
      return;
   if (sum && is_sum(sum->op) && is_product(u, sum->left))
      is_found = shape_written(u, sum->right);
   else if (sum && is_sum(sum->op) && is_product(u, sum->right))
      is_found = shape_written(u, sum->left);
   else if (aug && is_sum(aug->op) && is_product(u, aug->value))
      is_found = shape_written(u, aug->target);
   else if (call && call->args.len > 1 && strcmp(tl_decorator_name(n), "store") == 0 &&
            is_product(u, call->args.data[1]))
      is_found = shape_written(u, call->args.data[0]);
   if (!is_found)
      tl_ast_children(n, find_use, u);
}

/* The shape that the product is to have; false: nothing tells it. */
static bool
wanted_shape(TlSema *s, const TlCall *call, const TlSv *acc, uint32_t shape[2])
{
   const TlActivation *act = s->impl->act;
   const TlNode *n = tl_written_at(s, call->range).statement;
   const TlNode *fn = act && act->func ? act->func->node : NULL;
   const TlType *t = acc->kind == TL_SV_VALUE ? acc->value->type : NULL;
   Use u = {.s = s, .place = call->range};
   if (t && tl_type_is_tile(t) && t->rank >= 2) {
      memcpy(shape, &t->shape[t->rank - 2], 2 * sizeof shape[0]);
      return true;
   }
   if (!n || !fn || fn->range.file != call->range.file || !is_around(fn, call->range))
      return false;
   const TlAstAssign *set = n->kind == TL_AST_ASSIGN ? tl_ast_Assign(n) : NULL;
   if (set && set->targets.len == 1 && set->targets.data[0]->kind == TL_AST_NAME &&
       is_product(&u, set->value))
      u.name = tl_ast_Name(set->targets.data[0])->id;
   tl_ast_children((TlNode *)fn, find_use, &u);
   memcpy(shape, u.shape, sizeof u.shape);
   return is_known(u.shape);
}

typedef struct Repair {
   bool fits;
   uint32_t rows, columns; /* of the product, then */
   const char *text;
} Repair;

const char *
tl_help_dot_shapes(TlSema *s, const TlCall *call, const TlValue *a, const TlValue *b,
                   const TlSv *acc)
{
   enum { RIGHT, LEFT, EXCHANGE, NUM };
   const TlType *x = a->type, *y = b->type;
   unsigned r = x->rank;
   uint32_t m = x->shape[r - 2], k = x->shape[r - 1], l = y->shape[r - 2], n = y->shape[r - 1];
   Repair all[NUM] = {
      [RIGHT] = {k == n, m, l, "transpose the right operand"},
      [LEFT] = {m == l, k, n, "transpose the left operand"},
      [EXCHANGE] = {n == m, l, k, "exchange the operands"},
   };
   uint32_t shape[2];
   bool has_shape = wanted_shape(s, call, acc, shape), any = false;
   for (unsigned i = 0; has_shape && i < NUM; i++)
      any |= all[i].fits && all[i].rows == shape[0] && all[i].columns == shape[1];
   for (unsigned i = 0; any && i < NUM; i++)
      all[i].fits &= all[i].rows == shape[0] && all[i].columns == shape[1];
   TlSb out;
   tl_sb_init(&out, s->arena);
   for (unsigned i = 0; i < NUM; i++) {
      if (!all[i].fits)
         continue;
      const char *arg = tl_range_text(s, tl_call_arg_range(call, i == LEFT ? 0 : 1));
      bool is_short = *arg && strlen(arg) <= 40 && !strpbrk(arg, "\n=,");
      tl_sb_printf(&out, "%s%s", out.len ? "; or " : "", all[i].text);
      if (i == EXCHANGE)
         tl_sb_printf(&out, ", dot(right, left)");
      else
         tl_sb_printf(&out, ": tl.trans(%s)", is_short ? arg : i == LEFT ? "a" : "b");
      tl_sb_printf(&out, ", for a product of [%u, %u]", all[i].rows, all[i].columns);
   }
   return out.len ? tl_sb_cstr(&out) : NULL;
}
