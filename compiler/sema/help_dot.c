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

/* ---- blocks of descriptors ---- */
typedef struct Block { /* b_desc.load([k, column]) */
   const char *desc;
   const char *index[2];
} Block;

/* Cuts "k, column" into two; false: there are not two. */
static bool
cut_indices(TlSema *s, const char *text, const char *index[2])
{
   int depth = 0;
   const char *comma = NULL, *at = text;
   for (; *at && (depth > 0 || *at != ']'); at++) {
      depth += strchr("([{", *at) ? 1 : strchr(")]}", *at) ? -1 : 0;
      if (*at == ',' && depth == 0) {
         if (comma)
            return false;
         comma = at;
      }
   }
   if (!comma || !*at)
      return false;
   const char *second = comma + 1 + strspn(comma + 1, " ");
   index[0] = tl_arena_strndup(s->arena, text, (size_t)(comma - text));
   index[1] = tl_arena_strndup(s->arena, second, (size_t)(at - second));
   return true;
}

/* The load that gives the operand, if it is one of a descriptor, as it is written. */
static const TlOp *
block_load(TlSema *s, const TlValue *v, Block *out)
{
   static const char method[] = ".load([";
   while (v->def && v->def->opcode == TL_OP_CAST)
      v = tl_arg(v->def, 0);
   const char *text = v->def && v->def->opcode == TL_OP_LOAD ? tl_range_text(s, v->def->range) : "";
   const char *at = strstr(text, method);
   if (!at || at - text > 40 || !cut_indices(s, at + strlen(method), out->index))
      return NULL;
   out->desc = tl_arena_strndup(s->arena, text, (size_t)(at - text));
   return v->def;
}

/* Of an operand whose sides are to be exchanged: is its block given so, or is it turned?  `inner`
 * is the dimension that is to be along the product's inner one.  NULL: it is no descriptor's, or
 * its index along the other dimension is the one of the other operand. */
static const char *
other_block(TlSema *s, const TlValue *v, unsigned inner, const TlValue *beside, bool *is_sure)
{
   Block x, y = {0};
   const TlOp *load = block_load(s, v, &x);
   const char *along = load && block_load(s, beside, &y) ? y.index[1 - inner] : NULL;
   *is_sure = along && strcmp(x.index[inner], along) == 0;
   if (!load || (along && strcmp(x.index[1 - inner], along) == 0))
      return NULL;
   tl_note(s->diags, N0200, load->range,
           tl_arena_printf(s->arena, "it is a block of '%s' here, whose block shape is [%u, %u]",
                           x.desc, v->type->shape[0], v->type->shape[1]));
   return tl_arena_printf(s->arena, "make the block shape of '%s' [%u, %u]", x.desc,
                          v->type->shape[1], v->type->shape[0]);
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
      bool is_short = *arg && strlen(arg) <= 40 && !strpbrk(arg, "\n=,"), is_sure = false;
      const char *block = i == EXCHANGE || r != 2 ? NULL
                          : i == RIGHT            ? other_block(s, b, 0, a, &is_sure)
                                                  : other_block(s, a, 1, b, &is_sure);
      if (block)
         tl_sb_printf(&out, "%s%s", out.len ? "; or " : "", block);
      if (block && is_sure)
         continue;
      tl_sb_printf(&out, "%s%s", out.len ? "; or " : "", all[i].text);
      if (i == EXCHANGE)
         tl_sb_printf(&out, ", dot(right, left)");
      else
         tl_sb_printf(&out, ": tl.trans(%s)", is_short ? arg : i == LEFT ? "a" : "b");
      tl_sb_printf(&out, ", for a product of [%u, %u]", all[i].rows, all[i].columns);
   }
   return out.len ? tl_sb_cstr(&out) : NULL;
}
