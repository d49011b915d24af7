/* Masks that do not keep an access within its array: that are missing where others of the same
 * elements have one, let in one element too many, compare an index with another dimension's size,
 * or stand in a loop whose rounds overlap. */
#include "ir/control.h"
#include "ir/walk.h"
#include "sema/generic.h"
#include "sema/lint.h"
#include "sema/lint_access.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

enum { MAX_STEPS = 200 };

/* ---- names and grids ---- */
bool
tl_lint_is_size_name(const char *name)
{
   static const char *const ends[] = {"size",  "len",    "length",  "numel", "elements",
                                      "rows",  "cols",   "columns", "total", "count",
                                      "width", "height", "seqlen",  "dim"};
   char lower[64];
   size_t n = 0;
   for (; name[n] && n + 1 < sizeof lower; n++)
      lower[n] = (char)tolower((unsigned char)name[n]);
   lower[n] = '\0';
   if (n == 1 && strchr("nmkdltshw", lower[0]))
      return true;
   if (tl_starts_with(lower, "n_") || tl_starts_with(lower, "num_"))
      return true;
   for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
      if (tl_ends_with(lower, ends[i]))
         return true;
   return false;
}

static const TlValue *
argument_named(const TlFunc *f, const char *name, size_t len)
{
   const TlBlock *top = f->body->block;
   for (unsigned i = 0; i < top->num_args; i++)
      if (tl_is_word(top->args[i]->name, name, len))
         return top->args[i];
   return NULL;
}

/* The text of the grid's size along an axis. */
static bool
grid_item(const char *grid, int axis, const char **out, size_t *len)
{
   unsigned depth = 0;
   int at = 0;
   if (!grid)
      return false;
   bool is_tuple = grid[0] == '(';
   const char *begin = grid + is_tuple;
   for (const char *p = begin;; p++) {
      bool ends = !*p || (is_tuple && !depth && *p == ')');
      if (ends || (!depth && *p == ',')) {
         if (at++ == axis) {
            while (*begin == ' ')
               begin++;
            *out = begin;
            *len = (size_t)(p - begin);
            return *len > 0;
         }
         begin = p + 1;
      }
      if (ends)
         return false;
      depth += *p == '(' || *p == '[';
      depth -= *p == ')' || *p == ']';
   }
}

const TlValue *
tl_lint_grid_size(TlLintFacts *f, int axis)
{
   static const char cdiv[] = "cdiv(";
   const char *item;
   size_t len;
   if (!grid_item(f->func->grid, axis, &item, &len) || !tl_starts_with(item, cdiv))
      return NULL;
   item += strlen(cdiv);
   return argument_named(f->func, item, strcspn(item, ",)"));
}

const TlValue *
tl_lint_size_of_index(TlLintFacts *f, const TlSum *index)
{
   const TlValue *size = NULL;
   for (int axis = 0; !size && axis < TL_LINT_AXES; axis++)
      if (tl_lint_has_program(index, axis))
         size = tl_lint_grid_size(f, axis);
   return size;
}

int
tl_lint_axis_of_size(TlLintFacts *f, const TlValue *n)
{
   for (int axis = 0; axis < TL_LINT_AXES; axis++)
      if (tl_lint_grid_size(f, axis) == n)
         return axis;
   return -1;
}

/* ---- values ---- */
static const TlValue *
root_of(const TlValue *v)
{
   while (v->def && v->def->num_args == 1 &&
          (tl_has_trait(v->def, TL_TRAIT_SAME_ELEMENTS) || v->def->opcode == TL_OP_BROADCAST ||
           v->def->opcode == TL_OP_CAST || v->def->opcode == TL_OP_HINT))
      v = tl_arg(v->def, 0);
   return v;
}

/* Is the value a sum or product of the part, moved to its place? */
static bool
has_part(const TlValue *v, const TlValue *part, unsigned *steps)
{
   v = root_of(v);
   if (v == part)
      return true;
   if (++*steps > MAX_STEPS)
      return false;
   if (!v->def) {
      const TlOp *loop = v->block->region->parent;
      unsigned first = loop ? tl_first_carried(loop) : 0;
      return loop && loop->opcode == TL_OP_FOR && v->index >= first &&
             has_part(tl_init(loop, v->index - first), part, steps);
   }
   TlOpcode o = v->def->opcode;
   if (o != TL_OP_ADD && o != TL_OP_SUB && o != TL_OP_MUL && o != TL_OP_ADDPTR)
      return false;
   return has_part(tl_arg(v->def, 0), part, steps) || has_part(tl_arg(v->def, 1), part, steps);
}

static const TlValue *
compared_tile(const TlBound *b)
{
   const TlOp *op = b->compare;
   bool is_less = op->opcode == TL_OP_LT || op->opcode == TL_OP_LE;
   return root_of(tl_arg(op, is_less == b->is_upper ? 0 : 1));
}

/* An argument in a limit that is made of arguments and rounds of loops alone; NULL: it is not. */
static const TlValue *
limiting_argument(const TlSum *limit)
{
   const TlValue *found = NULL;
   for (unsigned i = 0; i < limit->num; i++)
      for (unsigned k = 0; k < limit->term[i].num; k++) {
         TlFactor x = limit->term[i].factor[k];
         if (x.is_iteration)
            continue;
         if (!tl_lint_is_argument(x.value))
            return NULL;
         found = found ? found : x.value;
      }
   return found && found->name ? found : NULL;
}

typedef struct Comparison {
   TlRange within, found;
   TlRange limit;            /* found: its side that `left` is not in */
   const char *left, *right; /* names in its sides; no right one: the right side is a name */
   const char *against;      /* found: that name */
} Comparison;

static void
find_comparison(void *user, TlNode *n)
{
   Comparison *c = user;
   if (n->range.file != c->within.file || n->range.end <= c->within.begin ||
       n->range.begin >= c->within.end)
      return;
   if (n->kind == TL_AST_COMPARE && c->within.begin <= n->range.begin && !c->found.file &&
       tl_ast_Compare(n)->rights.len == 1) {
      const TlNode *x = tl_ast_Compare(n)->left, *y = tl_ast_Compare(n)->rights.data[0];
      bool is_name = y->kind == TL_AST_NAME;
      bool is_wanted = c->right ? (tl_has_name(x, c->left) && tl_has_name(y, c->right)) ||
                                     (tl_has_name(y, c->left) && tl_has_name(x, c->right))
                                : is_name && tl_has_name(x, c->left);
      if (is_wanted) {
         c->found = n->range;
         c->limit = tl_has_name(x, c->left) ? y->range : x->range;
         c->against = is_name ? tl_ast_Name(y)->id : NULL;
      }
   }
   tl_ast_children(n, find_comparison, c);
}

/* Of the tile that the bound is of, with the other side's name, if it is given. */
static Comparison
comparison_of(TlSema *s, const TlBound *b, const char *right)
{
   Comparison c = {.within = b->compare->range, .left = compared_tile(b)->name, .right = right};
   const TlNodeList *body = &s->impl->main->ast->body;
   for (size_t i = 0; c.left && i < body->len; i++)
      if (body->data[i])
         find_comparison(&c, body->data[i]);
   return c;
}

TlRange
tl_lint_bound_range(TlSema *s, const TlBound *b)
{
   const TlValue *limit = tl_lint_argument(&b->limit);
   bool is_named = limit && limit->name;
   TlRange found = is_named ? comparison_of(s, b, limit->name).found : (TlRange){0};
   return found.file ? found : b->compare->range;
}

/* "i < n", as it is written: in a loop, "i < n - k * BLOCK". */
static const char *
bound_text(TlSema *s, const TlBound *b)
{
   const TlValue *tile = compared_tile(b), *limit = tl_lint_argument(&b->limit);
   Comparison c = limit && limit->name ? comparison_of(s, b, limit->name) : (Comparison){0};
   return tl_arena_printf(s->arena, "%.40s < %.60s", tile->name ? tile->name : "offsets",
                          c.found.file ? tl_range_text(s, c.limit)
                          : limit      ? limit->name
                                       : "..");
}

static bool
is_around(const TlBlock *outer, const TlBlock *inner)
{
   while (inner && inner != outer)
      inner = inner->region->parent ? inner->region->parent->block : NULL;
   return inner;
}

/* ---- no mask ---- */
static bool
has_mask_argument(const TlAstCall *call, const TlOp *op)
{
   size_t plain = 0, first = op->opcode == TL_OP_LOAD ? 1 : 2;
   for (size_t i = 0; i < call->args.len; i++) {
      const TlNode *a = call->args.data[i];
      if (a->kind != TL_AST_KEYWORD)
         plain++;
      else if (!tl_ast_Keyword(a)->name || strcmp(tl_ast_Keyword(a)->name, "mask") == 0)
         return true;
   }
   return plain > first;
}

/* Written without a mask, on the one way that there is. */
static bool
is_bare(TlLintFacts *f, const TlLintAccess *x)
{
   if (tl_pred(x->op) || tl_type_num_elems(x->pointers->type) <= 1 ||
       x->op->range.file != f->s->impl->main->file)
      return false;
   TlWritten p = tl_written_at(f->s, x->op->range);
   return p.call && !p.is_in_branch && !has_mask_argument(tl_ast_Call(p.call), x->op);
}

/* A bound of another access that holds for what is accessed here. */
static const TlBound *
bound_elsewhere(TlLintFacts *f, const TlLintAccess *x, const TlLintAccess **where)
{
   for (size_t i = 0; i < f->all.len; i++) {
      const TlLintAccess *y = &f->all.data[i];
      bool is_near = is_around(y->op->block, x->op->block) || is_around(x->op->block, y->op->block);
      for (unsigned k = 0; is_near && k < y->num_bounds; k++) {
         const TlBound *b = &y->bound[k];
         unsigned steps = 0;
         if (!b->is_upper || !limiting_argument(&b->limit) ||
             !has_part(x->pointers, compared_tile(b), &steps) ||
             tl_written_at(f->s, y->op->range).is_in_branch)
            continue;
         *where = y;
         return b;
      }
   }
   return NULL;
}

static bool
check_bare(TlLintFacts *f, const TlLintAccess *x)
{
   TlSema *s = f->s;
   const TlLintAccess *y = NULL;
   const TlBound *b = bound_elsewhere(f, x, &y);
   if (!b)
      return false;
   tl_report(s->diags, W0240, x->op->range, tl_source_name(x->op),
             limiting_argument(&b->limit)->name);
   tl_note(s->diags, N0200, y->op->range, "the mask of the same elements here does");
   tl_help(s->diags, "give it the mask, too: mask=%s", bound_text(s, b));
   return true;
}

/* grid=(cdiv(n, BLOCK),): the last program goes beyond n, if BLOCK does not divide it. */
static bool
check_bare_grid(TlLintFacts *f, const TlLintAccess *x)
{
   TlSema *s = f->s;
   TlTerm stride;
   TlSum index;
   for (unsigned d = 0; d < x->pointers->type->rank; d++) {
      bool has_index = tl_lint_index(f, x, d, &stride, &index);
      const TlValue *n = has_index ? tl_lint_size_of_index(f, &index) : NULL;
      if (!n)
         continue;
      tl_report(s->diags, W0240, x->op->range, tl_source_name(x->op), n->name);
      tl_help(s->diags, "the last program of the grid goes beyond it: mask=offsets < %s", n->name);
      return true;
   }
   return false;
}

/* def k(x, y, n, BLOCK: constexpr), where nothing asks for n, nor the grid: grid=(n,) has a program
 * for each of them. */
static bool
check_bare_unused(TlLintFacts *f, const TlLintAccess *x)
{
   const TlBlock *top = f->func->body->block;
   const TlNode *grid = tl_lint_own_grid(f);
   bool goes_on = false;
   for (unsigned i = 0; i < x->sum.num; i++)
      goes_on |=
         x->sum.term[i].num == 1 && tl_lint_axis(&x->sum.term[i]) >= 0 && x->sum.term[i].scale > 1;
   for (size_t i = 0; goes_on && i < f->all.len; i++)
      if (tl_pred(f->all.data[i].op))
         return false;
   for (unsigned i = 0; goes_on && i < top->num_args; i++) {
      const TlValue *n = top->args[i];
      if (n->uses || n->type->kind != TL_TYPE_SCALAR || !n->name ||
          !tl_word_is_listed("n N numel size n_elements num_elements length total", n->name) ||
          (grid && tl_lint_is_written(tl_node_text(f->s, grid), n->name)))
         continue;
      tl_report(f->s->diags, W0240, x->op->range, tl_source_name(x->op), n->name);
      const TlOp *move = x->pointers->def;
      const char *offsets = move && move->opcode == TL_OP_ADDPTR ? tl_arg(move, 1)->name : NULL;
      tl_help(f->s->diags, "'%s' is never used: mask=%.40s < %s", n->name,
              offsets ? offsets : "offsets", n->name);
      return true;
   }
   return false;
}

/* where(i < n, load(x + i), 0): the load comes first. */
static bool
check_chosen(TlLintFacts *f, const TlLintAccess *x)
{
   TlSema *s = f->s;
   const TlValue *v = x->op->opcode == TL_OP_LOAD ? tl_result(x->op, 0) : NULL;
   for (const TlUse *use = v ? v->uses : NULL; use; use = use->next) {
      if (use->user->opcode != TL_OP_SELECT || tl_arg(use->user, 1) != v)
         continue;
      TlBound b[TL_LINT_BOUNDS];
      bool has_other = false;
      unsigned num = tl_mask_bounds(f->affine, tl_arg(use->user, 0), b, TL_LINT_BOUNDS, &has_other);
      for (unsigned i = 0; i < num; i++) {
         unsigned steps = 0;
         const TlValue *n = b[i].is_upper ? limiting_argument(&b[i].limit) : NULL;
         if (!n || !has_part(x->pointers, compared_tile(&b[i]), &steps))
            continue;
         tl_report(s->diags, W0240, x->op->range, tl_source_name(x->op), n->name);
         tl_help(s->diags, "'where' chooses after the load: tl.load(pointers, mask=%s, other=..)",
                 bound_text(s, &b[i]));
         return true;
      }
   }
   return false;
}

/* ---- masks that let in too much ---- */
static bool
has_factor(const TlSum *s, const TlValue *v)
{
   for (unsigned i = 0; i < s->num; i++)
      for (unsigned k = 0; k < s->term[i].num; k++)
         if (s->term[i].factor[k].value == v)
            return true;
   return false;
}

/* i <= n, and i > n alone */
static bool
check_limit(TlLintFacts *f, const TlLintAccess *x, const TlBound *b)
{
   TlSema *s = f->s;
   const TlValue *n = tl_lint_argument(&b->limit);
   uint64_t bits;
   if (!n || !n->name || !(tl_lint_is_size_name(n->name) || tl_lint_axis_of_size(f, n) >= 0))
      return false;
   if (b->is_upper && !b->is_strict) {
      tl_report(s->diags, W0241, tl_lint_bound_range(s, b), n->name, "one element too many");
      tl_help(s->diags, "of %s elements the last has the number %s - 1: compare by '<'", n->name,
              n->name);
      return true;
   }
   bool is_clearing = x->op->opcode == TL_OP_STORE && tl_is_const(tl_arg(x->op, 1), &bits);
   if (b->is_upper || x->num_bounds != 1 || x->has_other || is_clearing || has_factor(&x->sum, n) ||
       !x->is_known)
      return false;
   tl_report(s->diags, W0241, tl_lint_bound_range(s, b), n->name,
             "and what lies behind it, and nothing before it");
   tl_help(s->diags, "a mask says what is accessed: turn it round, %s", bound_text(s, b));
   return true;
}

static const char *
index_text(TlSema *s, const TlValue *tile)
{
   return tile->name ? tl_arena_printf(s->arena, "'%.60s'", tile->name) : "this index";
}

/* The argument of which a value is the number of blocks, cdiv(n, BLOCK); NULL: it is another. */
static const TlValue *
size_of_blocks(const TlValue *v)
{
   const TlOp *div = v->def, *sum = div && div->opcode == TL_OP_DIV ? tl_arg(div, 0)->def : NULL;
   uint64_t bits;
   if (!sum || sum->opcode != TL_OP_ADD || !tl_is_const(tl_arg(div, 1), &bits) ||
       !tl_is_const(tl_arg(sum, 1), &bits))
      return NULL;
   const TlValue *n = tl_arg(sum, 0);
   return tl_lint_is_argument(n) && n->name ? n : NULL;
}

/* pid % cdiv(M, BLOCK) * BLOCK + lane < N */
static bool
check_remainder(TlLintFacts *f, const TlBound *b)
{
   TlSema *s = f->s;
   const TlValue *limit = b->is_upper ? tl_lint_argument(&b->limit) : NULL;
   bool is_plain = limit && limit->name && b->index.num == 2;
   for (unsigned i = 0; is_plain && i < 2; i++) {
      const TlTerm *t = &b->index.term[i], *lane = &b->index.term[1 - i];
      const TlOp *rem = t->num == 1 && !t->factor[0].is_iteration ? t->factor[0].value->def : NULL;
      const TlValue *own =
         rem && rem->opcode == TL_OP_REM && t->dim < 0 ? size_of_blocks(tl_arg(rem, 1)) : NULL;
      if (!own || own == limit || lane->dim < 0 || lane->num || lane->scale != 1 ||
          rem->range.file != b->compare->range.file || !tl_arg(rem, 0)->def ||
          tl_arg(rem, 0)->def->opcode != TL_OP_PROGRAM_ID)
         continue;
      tl_report(s->diags, W0242, tl_lint_bound_range(s, b), index_text(s, compared_tile(b)),
                limit->name,
                tl_arena_printf(s->arena, "the remainder by the blocks of '%.60s'", own->name));
      tl_help(s->diags,
              "the remainder and the quotient of the program's number are by the blocks of the "
              "dimension that the remainder counts: cdiv(%.40s, ..)",
              limit->name);
      tl_note(s->diags, N0200, rem->range, "the remainder");
      return true;
   }
   return false;
}

/* The dimension of a tile of two along which the values of a vector lie, b[None, :]; -1: none, or
 * both. */
static int
spread_along(const TlValue *v, unsigned *steps)
{
   enum { MAX_STEPS = 100 };
   int found = -1;
   for (const TlUse *use = v->uses; use && ++*steps < MAX_STEPS; use = use->next) {
      const TlOp *op = use->user;
      int along = -1;
      if (op->opcode == TL_OP_EXPAND_DIMS)
         along = tl_attr_int(op, TL_ATTR_AXIS) == 0;
      else if (op->num_results == 1 && !op->num_regions && tl_has_trait(op, TL_TRAIT_PURE) &&
               tl_result(op, 0)->type->rank == 1)
         along = spread_along(tl_result(op, 0), steps);
      if (found >= 0 && along >= 0 && along != found)
         return -1;
      found = along < 0 ? found : along;
   }
   return found;
}

const TlValue *
tl_lint_index_below(TlLintFacts *f, const TlValue *limit, int dim)
{
   for (size_t i = 0; i < f->all.len; i++)
      for (unsigned k = 0; k < f->all.data[i].num_bounds; k++) {
         const TlBound *b = &f->all.data[i].bound[k];
         const TlValue *tile = compared_tile(b);
         if (f->all.data[i].pointers->type->rank == 2 && b->is_upper &&
             tl_lint_argument(&b->limit) == limit && tl_lint_has_any_program(&b->index) &&
             tl_lint_has_dim(&b->index, dim) && tile->name)
            return tile;
      }
   return NULL;
}

/* b = load(bias + m, m < N), and b[None, :] along columns, whose index is n: the mask is right. */
static bool
help_index_of_axis(TlLintFacts *f, const TlLintAccess *x, const TlBound *b)
{
   TlSema *s = f->s;
   unsigned steps = 0;
   const TlValue *limit = tl_lint_argument(&b->limit), *tile = compared_tile(b);
   const TlValue *v = x->op->opcode == TL_OP_LOAD ? tl_result(x->op, 0) : NULL;
   int dim = v && v->type->rank == 1 ? spread_along(v, &steps) : -1;
   const TlValue *index = dim >= 0 ? tl_lint_index_below(f, limit, dim) : NULL;
   if (!index || index == tile || !tile->name)
      return false;
   tl_lint_help_index(s, x, index, limit, dim);
   return true;
}

void
tl_lint_help_index(TlSema *s, const TlLintAccess *x, const TlValue *index, const TlValue *limit,
                   int dim)
{
   const char *base = x->base && x->base->name ? x->base->name : "pointer";
   tl_help(s->diags,
           "what is loaded lies along the %s, by %s, and so does '%s' of the mask: their index is "
           "'%.40s', load(%.40s + %.40s, %.40s < %s)",
           dim ? "columns" : "rows", dim ? "[None, :]" : "[:, None]", limit->name, index->name,
           base, index->name, index->name, limit->name);
}

/* The index of axis 1's blocks compared with the size that axis 0 is made of. */
static bool
check_axis(TlLintFacts *f, const TlLintAccess *x, const TlBound *b)
{
   TlSema *s = f->s;
   const TlValue *limit = b->is_upper ? tl_lint_argument(&b->limit) : NULL;
   for (int axis = 0; limit && axis < TL_LINT_AXES; axis++) {
      const TlValue *own = tl_lint_has_program(&b->index, axis) ? tl_lint_grid_size(f, axis) : NULL;
      int of_limit = tl_lint_axis_of_size(f, limit);
      if (!own || own == limit || (of_limit < 0 && tl_lint_axis_of_size(f, own) == axis))
         continue; /* of a size that the grid has on two axes the other one is meant once */
      const TlValue *tile = compared_tile(b);
      tl_report(s->diags, W0242, tl_lint_bound_range(s, b), index_text(s, tile), limit->name,
                tl_arena_printf(s->arena, "axis %d of the grid, made of '%.60s'", axis, own->name));
      if (help_index_of_axis(f, x, b))
         return true;
      if (of_limit < 0)
         tl_help(s->diags, "the grid has a size for it: cdiv(%s, ..) along axis %d", limit->name,
                 axis);
      else
         tl_help(s->diags, "compare it with %s, or make it of tl.program_id(%d)", own->name,
                 of_limit);
      return true;
   }
   return false;
}

/* i = pid * BLOCK + lane, mask=lane < n, where n is what the grid is made of. */
static bool
check_same_mask(TlLintFacts *f, const TlLintAccess *x, const TlBound *b)
{
   TlSema *s = f->s;
   const TlValue *limit = b->is_upper ? tl_lint_argument(&b->limit) : NULL;
   TlTerm stride;
   TlSum index;
   if (!limit || b->index.num != 1 || b->index.term[0].dim < 0 ||
       !tl_lint_index(f, x, (unsigned)b->index.term[0].dim, &stride, &index))
      return false;
   for (int axis = 0; axis < TL_LINT_AXES; axis++) {
      if (!tl_lint_has_program(&index, axis) || tl_lint_has_program(&b->index, axis) ||
          tl_lint_grid_size(f, axis) != limit)
         continue;
      tl_report(s->diags, W0265, tl_lint_bound_range(s, b), tl_source_name(x->op), axis);
      tl_help(s->diags,
              "compare the offsets that the pointers have, with program_id(%d) in them: "
              "offsets < %s",
              axis, limit->name);
      return true;
   }
   return false;
}

/* if tl.program_id(axis) == 0: what is true in the first program alone is meant so there. */
static bool
asks_for_program(const TlOp *op, int axis)
{
   for (op = tl_parent(op); op; op = tl_parent(op)) {
      const TlOp *test = op->opcode == TL_OP_IF ? tl_arg(op, 0)->def : NULL;
      for (unsigned i = 0; test && i < test->num_args; i++) {
         const TlOp *def = tl_arg(test, i)->def;
         if (def && def->opcode == TL_OP_PROGRAM_ID && tl_attr_int(def, TL_ATTR_AXIS) == axis)
            return true;
      }
   }
   return false;
}

/* i = pid * BLOCK + lane, mask=i < BLOCK: of one name, as other sizes may be equal by chance. */
static bool
check_first_only(TlLintFacts *f, const TlLintAccess *x, const TlBound *b)
{
   TlSema *s = f->s;
   if (!b->is_upper || b->limit.num != 1 || b->limit.term[0].num || b->index.num != 2)
      return false;
   const TlTerm *pid = &b->index.term[tl_lint_axis(&b->index.term[0]) < 0];
   int axis = tl_lint_axis(pid);
   if (axis < 0 || pid->num != 1 || pid->scale < b->limit.term[0].scale || pid->scale <= 1 ||
       tl_type_num_elems(x->pointers->type) < 2 || asks_for_program(x->op, axis))
      return false;
   const TlValue *tile = compared_tile(b);
   Comparison c = comparison_of(s, b, NULL);
   if (!c.against || !tile->def ||
       !tl_lint_is_written(tl_range_text(s, tile->def->range), c.against))
      return false;
   tl_report(s->diags, W0269, c.found, tl_source_name(x->op), axis);
   tl_help(s->diags,
           "compare the offsets with the size of the array, offsets < n: %lld is that of a "
           "tile",
           (long long)b->limit.term[0].scale);
   return true;
}

/* load(bias + n, m < M): the columns' values by the mask of the rows. */
static bool
check_other_axis(TlLintFacts *f, const TlLintAccess *x, const TlBound *b)
{
   TlSema *s = f->s;
   TlTerm stride;
   TlSum index;
   if (!b->is_upper || !tl_lint_argument(&b->limit) || x->pointers->type->rank != 1 ||
       x->num_bounds != 1 || !tl_lint_has_dim(&b->index, 0) ||
       !tl_lint_index(f, x, 0, &stride, &index))
      return false;
   int own = -1, other = -1; /* axes that the pointers have alone, and the mask */
   for (int axis = 0; axis < TL_LINT_AXES; axis++) {
      bool in_mask = tl_lint_has_program(&b->index, axis);
      if (tl_lint_has_program(&index, axis) && !in_mask)
         own = axis;
      else if (in_mask && !tl_lint_has_program(&index, axis))
         other = axis;
   }
   if (own < 0 || other < 0)
      return false;
   const TlValue *size = tl_lint_grid_size(f, own);
   tl_report(s->diags, W0265, tl_lint_bound_range(s, b), tl_source_name(x->op), own);
   tl_help(s->diags, "compare the offsets that the pointers have, of program_id(%d): offsets < %s",
           own, size && size->name ? size->name : "their size");
   return true;
}

/* i = pid * BLOCK + lane, mask=pid < n */
static bool
check_program_mask(TlLintFacts *f, const TlLintAccess *x)
{
   TlSema *s = f->s;
   const TlValue *mask = tl_pred(x->op);
   const TlOp *op = mask ? root_of(mask)->def : NULL;
   if (!op || op->opcode != TL_OP_LT || tl_type_is_tile(tl_result(op, 0)->type) || !x->is_known ||
       tl_type_num_elems(x->pointers->type) < 2)
      return false;
   const TlOp *pid = tl_arg(op, 0)->def;
   const TlValue *n = tl_arg(op, 1);
   if (!pid || pid->opcode != TL_OP_PROGRAM_ID || !tl_lint_is_argument(n) || !n->name)
      return false;
   int axis = (int)tl_attr_int(pid, TL_ATTR_AXIS);
   bool is_block = false;
   for (unsigned i = 0; i < x->sum.num; i++)
      is_block |= tl_lint_axis(&x->sum.term[i]) == axis && x->sum.term[i].num == 1 &&
                  x->sum.term[i].scale > 1;
   if (!is_block || tl_lint_grid_size(f, axis) != n)
      return false;
   tl_report(s->diags, W0265, op->range, tl_source_name(x->op), axis);
   tl_help(s->diags, "it is one for the whole tile: compare the offsets, offsets < %s", n->name);
   return true;
}

/* "i - t" of a load(x + i - t, ..): what is added to the array, as it is written there; NULL: the
 * pointers are written elsewhere. */
static const char *
added_text(TlSema *s, const TlLintAccess *x)
{
   enum { MOST = 60 };
   TlWritten p = tl_written_at(s, x->op->range);
   const TlAstCall *call = p.call ? tl_ast_Call(p.call) : NULL;
   const TlNode *n = call && call->args.len ? call->args.data[0] : NULL, *sum = n;
   uint32_t begin = 0;
   while (n && n->kind == TL_AST_BINARY) {
      const TlAstBinary *b = tl_ast_Binary(n);
      if (b->op != TL_AST_OP_ADD && b->op != TL_AST_OP_SUB)
         return NULL;
      begin = b->op == TL_AST_OP_ADD ? b->right->range.begin : 0;
      n = b->left;
   }
   if (!n || n->kind != TL_AST_NAME || !x->base->name ||
       strcmp(tl_ast_Name(n)->id, x->base->name) != 0 || !begin || sum->range.end - begin > MOST)
      return NULL;
   const char *text = tl_range_text(s, tl_range(sum->range.file, begin, sum->range.end));
   return strchr(text, '\n') || text[strlen(text) - 1] == ')' ? NULL : text;
}

/* load(x + i - 1, i < n): program 0 begins before x. */
static bool
check_negative(TlLintFacts *f, const TlLintAccess *x)
{
   TlSema *s = f->s;
   int64_t before = 0;
   if (!x->is_known || x->has_other || !x->num_bounds || !tl_lint_is_argument(x->base) ||
       tl_value_is_chosen(f->affine, x->pointers))
      return false;
   for (unsigned i = 0; i < x->num_bounds; i++)
      if (!x->bound[i].is_upper)
         return false;
   for (unsigned i = 0; i < x->sum.num; i++) {
      const TlTerm *t = &x->sum.term[i];
      bool is_counted = (t->dim >= 0 && !t->num) || (t->num == 1 && tl_lint_axis(t) >= 0);
      if (t->dim < 0 && !t->num)
         before = t->scale;
      else if (!is_counted || t->scale < 0)
         return false;
   }
   if (before >= 0 || tl_written_at(s, x->op->range).is_in_branch)
      return false;
   tl_report(s->diags, W0266, x->op->range, tl_source_name(x->op), (long long)-before);
   const char *index = added_text(s, x);
   if (index)
      tl_help(s->diags, "add to the mask what is not before it: & (%s >= 0)", index);
   else
      tl_help(s->diags, "add to the mask what is not before it: & (offsets >= %lld)",
              (long long)-before);
   return true;
}

/* (r < M) | (c < N) */
static bool
check_or(TlLintFacts *f, const TlLintAccess *x)
{
   TlSema *s = f->s;
   const TlValue *mask = tl_pred(x->op);
   const TlOp *op = mask ? root_of(mask)->def : NULL;
   TlBound b[2];
   bool has_other = false;
   if (!op || op->opcode != TL_OP_OR)
      return false;
   for (unsigned i = 0; i < 2; i++)
      if (tl_mask_bounds(f->affine, tl_arg(op, i), &b[i], 1, &has_other) != 1 || has_other ||
          !b[i].is_upper || !tl_lint_argument(&b[i].limit))
         return false;
   if (tl_same_sum(&b[0].index, &b[1].index) || compared_tile(&b[0]) == compared_tile(&b[1]))
      return false;
   tl_report(s->diags, W0267, op->range, tl_source_name(x->op));
   tl_help(s->diags, "both are to hold: (%s) & (%s)", bound_text(s, &b[0]), bound_text(s, &b[1]));
   return true;
}

/* Is this the index along a dimension of which the mask says nothing? */
static bool
is_open_along(TlLintFacts *f, const TlLintAccess *x, const TlSum *index)
{
   TlTerm stride;
   TlSum own;
   for (unsigned d = 0; d < x->pointers->type->rank; d++) {
      bool is_bound = false;
      for (unsigned i = 0; i < x->num_bounds; i++)
         is_bound |= tl_lint_has_dim(&x->bound[i].index, (int)d);
      if (!is_bound && tl_lint_index(f, x, d, &stride, &own) && tl_same_sum(&own, index))
         return true;
   }
   return false;
}

/* (m < M) & (n < N) of a square tile, in want of (m < M)[:, None]: does the mask hold this bound of
 * another access, of the other dimension? */
static bool
is_turned(const TlLintAccess *x, const TlBound *b)
{
   for (unsigned i = 0; i < x->num_bounds; i++) {
      const TlBound *own = &x->bound[i];
      if (own->is_upper && own->is_strict == b->is_strict && tl_same_sum(&own->limit, &b->limit) &&
          tl_lint_has_dim(&own->index, 0) != tl_lint_has_dim(&b->index, 0))
         return true;
   }
   return false;
}

/* A mask of columns alone, where rows are cut over the grid or compared elsewhere. */
static bool
check_partial(TlLintFacts *f, const TlLintAccess *x)
{
   TlSema *s = f->s;
   if (!x->num_bounds || x->has_other || x->pointers->type->rank != 2 ||
       x->op->range.file != s->impl->main->file || !x->is_known)
      return false;
   for (size_t i = 0; i < f->all.len; i++) {
      const TlLintAccess *y = &f->all.data[i];
      bool is_near = is_around(y->op->block, x->op->block) || is_around(x->op->block, y->op->block);
      for (unsigned k = 0; is_near && y != x && k < y->num_bounds; k++) {
         const TlBound *b = &y->bound[k];
         const TlValue *tile = compared_tile(b);
         unsigned steps = 0;
         if (b->index.num < 2 || !is_open_along(f, x, &b->index) || !b->is_upper ||
             !limiting_argument(&b->limit) || !has_part(x->pointers, tile, &steps) ||
             tl_written_at(s, x->op->range).is_in_branch ||
             tl_written_at(s, y->op->range).is_in_branch ||
             tl_value_is_chosen(f->affine, x->pointers))
            continue;
         tl_report(s->diags, W0240, x->op->range, tl_source_name(x->op),
                   limiting_argument(&b->limit)->name);
         if (is_turned(x, b))
            tl_help(s->diags, "its own (%s) goes along the %s: write (%s)%s", bound_text(s, b),
                    tl_lint_has_dim(&b->index, 0) ? "columns" : "rows", bound_text(s, b),
                    tl_lint_has_dim(&b->index, 0) ? "[:, None]" : "[None, :]");
         else
            tl_help(s->diags, "add to its mask: & (%s)", bound_text(s, b));
         tl_note(s->diags, N0200, y->op->range, "the mask of the same elements here does");
         return true;
      }
   }
   return false;
}

/* Rows cut over the grid, of which the mask says nothing. */
static bool
check_partial_grid(TlLintFacts *f, const TlLintAccess *x)
{
   TlSema *s = f->s;
   TlTerm stride;
   TlSum index;
   if (!x->num_bounds || x->has_other || x->pointers->type->rank != 2 ||
       x->op->range.file != s->impl->main->file || tl_written_at(s, x->op->range).is_in_branch)
      return false;
   for (unsigned d = 0; d < 2; d++) {
      bool is_bound = !tl_lint_index(f, x, d, &stride, &index);
      for (unsigned i = 0; i < x->num_bounds; i++)
         is_bound |= tl_lint_has_dim(&x->bound[i].index, (int)d);
      const TlValue *n = is_bound ? NULL : tl_lint_size_of_index(f, &index);
      if (!n)
         continue;
      tl_report(s->diags, W0240, x->op->range, tl_source_name(x->op), n->name);
      tl_help(s->diags, "its mask is of the other dimension alone: add & (offsets < %s)", n->name);
      return true;
   }
   return false;
}

/* load(x + i), load(x + i + 1), both where i < n: of numbers the last has no next. */
static bool
check_next(TlLintFacts *f, const TlLintAccess *x)
{
   TlSema *s = f->s;
   const TlType *e = tl_type_elem(x->pointers->type);
   bool is_load = x->op->opcode == TL_OP_LOAD && x->is_known && x->num_bounds == 1 &&
                  !x->has_other && x->bound[0].is_upper && x->bound[0].is_strict && e->elem &&
                  e->elem->kind == TL_TYPE_SCALAR && tl_dtype_is_float(e->elem->dtype);
   const TlValue *n = is_load ? tl_lint_argument(&x->bound[0].limit) : NULL;
   int64_t shift = n ? tl_lint_constant(&x->sum) : 0;
   if (shift <= 0 || x->sum.num != x->bound[0].index.num + 1)
      return false;
   for (unsigned i = 0; i < x->bound[0].index.num; i++)
      if (x->bound[0].index.term[i].dim >= 0 && x->bound[0].index.term[i].scale > shift)
         return false; /* 2 * i and 2 * i + 1, pairs: where one is, the other is */
   for (size_t i = 0; i < f->all.len; i++) {
      const TlLintAccess *y = &f->all.data[i];
      if (y->op->opcode != TL_OP_LOAD || y->base != x->base || !y->is_known ||
          !tl_same_sum(&y->sum, &x->bound[0].index) || y->num_bounds != 1 ||
          tl_lint_argument(&y->bound[0].limit) != n)
         continue;
      tl_report(s->diags, W0241, x->op->range, n->name,
                tl_arena_printf(s->arena, "as the offsets are %lld more than what it compares",
                                (long long)shift));
      tl_help(s->diags, "compare what is accessed: offsets + %lld < %s", (long long)shift, n->name);
      return true;
   }
   return false;
}

/* ---- rounds that overlap ---- */
/* Where the loop's index and the tile's come together: the innermost sum of both. */
static TlRange
place_of_round(TlLintFacts *f, const TlBound *b)
{
   const TlValue *v = compared_tile(b);
   const TlOp *op = v->def;
   TlSum sum;
   const TlValue *base;
   bool is_sum = op && op->opcode == TL_OP_ADD && op->range.file == b->compare->range.file &&
                 tl_value_sum(f->affine, v, &sum, &base) && sum.num > 1;
   return is_sum ? op->range : tl_lint_bound_range(f->s, b);
}

/* Others may access what is between. */
static bool
is_alone_at(const TlLintFacts *f, const TlLintAccess *x)
{
   for (size_t i = 0; i < f->all.len; i++)
      if (f->all.data[i].op != x->op && f->all.data[i].base == x->base)
         return false;
   return x->is_known;
}

/* for k in range(0, K // BLOCK): mask=k * BLOCK + arange(0, BLOCK) < K */
static bool
check_rest(TlLintFacts *f, const TlOp *loop, const TlValue *limit, uint32_t len)
{
   TlSema *s = f->s;
   const TlOp *div = tl_for_upper(loop)->def;
   uint64_t bits;
   bool is_quotient = div && div->opcode == TL_OP_DIV && tl_arg(div, 0) == limit &&
                      tl_is_const(tl_arg(div, 1), &bits) && bits == len && len > 1;
   if (!is_quotient || div->range.file != s->impl->main->file)
      return false;
   tl_report(s->diags, W0275, div->range, limit->name, len);
   const char *by = s->impl->has_guessed_numbers ? tl_lint_divisor(s, div) : NULL;
   tl_help(s->diags, "round up: tl.cdiv(%.40s, %s)", limit->name,
           by ? by : tl_arena_printf(s->arena, "%u", len));
   return true;
}

/* for k in range(0, K): mask=k + arange(0, BLOCK) < K */
static bool
check_step(TlLintFacts *f, const TlLintAccess *x, const TlBound *b)
{
   TlSema *s = f->s;
   const TlTerm *round = NULL, *lane = NULL;
   const TlValue *limit = b->is_upper ? tl_lint_argument(&b->limit) : NULL;
   for (unsigned i = 0; limit && i < b->index.num; i++) {
      const TlTerm *t = &b->index.term[i];
      if (t->dim >= 0 && !t->num)
         lane = t;
      else if (t->num == 1 && t->factor[0].is_iteration)
         round = t;
      else if (t->num)
         return false;
   }
   if (!lane || !round || lane->scale != 1 || round->scale <= 0)
      return false;
   const TlOp *loop = round->factor[0].value->block->region->parent;
   uint32_t len = x->pointers->type->shape[lane->dim];
   if (round->scale == (int64_t)len && tl_lint_trusts_numbers(f))
      return check_rest(f, loop, limit, len);
   bool leaves_out = round->scale > (int64_t)len && len > 1 && is_alone_at(f, x);
   if ((round->scale >= len && !leaves_out) || !tl_lint_comes_from(tl_for_upper(loop), limit))
      return false;
   tl_report(s->diags, W0243, place_of_round(f, b), leaves_out ? "leave elements out" : "overlap",
             (long long)round->scale, len);
   if (leaves_out)
      tl_help(s->diags, "the loop's index moves by whole tiles already: start + tl.arange(0, %u)",
              len);
   else
      tl_help(s->diags,
              "move on by the size of the tile: range(0, %s, BLOCK), or the index times BLOCK",
              limit->name);
   return true;
}

/* How far a round of the loop moves what the sum counts. */
static int64_t
moved_by(const TlSum *s, const TlValue *index)
{
   int64_t by = 0;
   for (unsigned i = 0; i < s->num; i++)
      if (tl_lint_is_round(&s->term[i]) && s->term[i].factor[0].value == index)
         by += s->term[i].scale;
   return by;
}

static bool
has_round_of(const TlSum *s, const TlValue *index)
{
   for (unsigned i = 0; i < s->num; i++)
      for (unsigned k = 0; k < s->term[i].num; k++)
         if (s->term[i].factor[k].is_iteration && s->term[i].factor[k].value == index)
            return true;
   return false;
}

/* Another dimension goes by a number: what a round adds may be of this one or of that. */
static bool
has_numbered_stride(const TlLintAccess *x, int but)
{
   for (unsigned i = 0; i < x->sum.num; i++)
      if (x->sum.term[i].dim >= 0 && x->sum.term[i].dim != but && !x->sum.term[i].num &&
          x->sum.term[i].scale != 1)
         return true;
   return false;
}

/* Where the loop moves the pointers; else the access. */
static TlRange
place_of_move(const TlLintAccess *x, const TlOp *loop)
{
   const TlValue *p = root_of(x->pointers);
   unsigned first = tl_first_carried(loop);
   bool is_carried = p->block == loop->regions[0]->block && p->index >= first;
   const TlOp *op = is_carried ? tl_yielded(p->block, p->index - first)->def : NULL;
   return op && op->range.file == x->op->range.file ? op->range : x->op->range;
}

/* The access itself, where its pointers are moved elsewhere. */
static void
note_access(TlSema *s, const TlLintAccess *x, const TlOp *loop)
{
   if (place_of_move(x, loop).begin != x->op->range.begin)
      tl_note(s->diags, N0200, x->op->range, "the access, with its mask");
}

/* The argument by which a round moves the pointers on, as many times as it moves the mask by
 * elements, where the index of the mask has another stride; NULL: there is none. */
static const TlValue *
other_stride(const TlLintAccess *x, const TlValue *round, const TlTerm *stride, int64_t by)
{
   for (unsigned i = 0; stride->num == 1 && i < x->sum.num; i++) {
      const TlTerm *t = &x->sum.term[i];
      for (unsigned k = 0; t->dim < 0 && t->num == 2 && t->scale == by && k < 2; k++) {
         const TlValue *v = t->factor[1 - k].value;
         if (t->factor[k].is_iteration && t->factor[k].value == round &&
             !t->factor[1 - k].is_iteration && tl_lint_is_argument(v) && v->name &&
             v != stride->factor[0].value)
            return v;
      }
   }
   return NULL;
}

/* The product with the stride that the pointers are made of; NULL: it is not found. */
static const TlOp *
product_with(const TlValue *v, const TlValue *stride, unsigned *steps)
{
   v = root_of(v);
   if (++*steps > MAX_STEPS)
      return NULL;
   if (!v->def) {
      const TlOp *loop = v->block->region->parent;
      unsigned first = loop ? tl_first_carried(loop) : 0;
      return loop && loop->opcode == TL_OP_FOR && v->index >= first
                ? product_with(tl_init(loop, v->index - first), stride, steps)
                : NULL;
   }
   const TlOp *op = v->def, *found = NULL;
   if (op->opcode == TL_OP_MUL)
      return root_of(tl_arg(op, 0)) == stride || root_of(tl_arg(op, 1)) == stride ? op : NULL;
   bool is_sum = op->opcode == TL_OP_ADD || op->opcode == TL_OP_SUB || op->opcode == TL_OP_ADDPTR;
   for (unsigned i = 0; is_sum && !found && i < 2; i++)
      found = product_with(tl_arg(op, i), stride, steps);
   return found;
}

/* stride_bk, of what a mask keeps below K. */
static bool
is_named_for(const char *stride, const TlBound *b)
{
   for (unsigned i = 0; i < b->limit.num; i++) {
      const TlTerm *t = &b->limit.term[i];
      const TlValue *v = t->num == 1 && t->scale == 1 && t->dim < 0 ? t->factor[0].value : NULL;
      size_t len = v && tl_lint_is_argument(v) && v->name ? strlen(v->name) : 0;
      if (len && strlen(stride) > len && strcasecmp(stride + strlen(stride) - len, v->name) == 0)
         return true;
   }
   return false;
}

/* a = x + r * s_r + k * s_k; a += BLOCK * s_r, where the mask goes along k: one of the two strides
 * is the other's, and which one the code does not say. */
static bool
check_two_strides(TlLintFacts *f, const TlLintAccess *x, const TlBound *b, const TlTerm *stride,
                  const TlOp *loop, int64_t by)
{
   TlSema *s = f->s;
   const TlValue *step = other_stride(x, tl_for_index(loop), stride, by);
   const TlValue *own = step ? stride->factor[0].value : NULL;
   unsigned steps = 0;
   if (!step || !own->name)
      return false;
   const TlOp *made = product_with(x->pointers, own, &steps);
   tl_report(s->diags, W0263, place_of_move(x, loop), tl_source_name(x->op), (long long)by,
             tl_arena_printf(s->arena, "%lld times '%.40s', where its index has the stride '%.40s'",
                             (long long)by, step->name, own->name));
   bool is_own = is_named_for(own->name, b), is_step = is_named_for(step->name, b);
   const char *named = is_own == is_step ? NULL : is_own ? own->name : step->name;
   tl_help(s->diags,
           "the step and the index take one stride, that of the dimension which the mask moves "
           "along: it is either '%.40s' or '%.40s'%s",
           step->name, own->name,
           named ? tl_arena_printf(s->arena, "; by its name '%.40s'", named) : "");
   if (made && made->range.file == x->op->range.file)
      tl_note(s->diags, N0200, made->range,
              tl_arena_printf(s->arena, "the index has the stride '%.40s' here", own->name));
   note_access(s, x, loop);
   return true;
}

/* Nothing of what it loads depends on the loop. */
static bool
stands_still(TlLintFacts *f, const TlLintAccess *x, const TlValue *round)
{
   return x->is_known && x->op->opcode == TL_OP_LOAD && tl_lint_is_argument(x->base) &&
          !has_round_of(&x->sum, round) && !tl_value_is_chosen(f->affine, x->pointers);
}

/* a += stride, along the other dimension, or no step at all, where the mask goes on by BLOCK. */
static bool
check_rounds(TlLintFacts *f, const TlLintAccess *x, const TlBound *b)
{
   TlSema *s = f->s;
   const TlOp *loop = tl_parent(x->op);
   const TlValue *limit = b->is_upper ? tl_lint_argument(&b->limit) : NULL;
   int dim = -1;
   TlTerm stride;
   TlSum index;
   for (unsigned i = 0; i < b->index.num; i++)
      if (b->index.term[i].dim >= 0) {
         if (dim >= 0 || b->index.term[i].num) /* it compares an address, not an index */
            return false;
         dim = b->index.term[i].dim;
      }
   if (!limit || !loop || loop->opcode != TL_OP_FOR || dim < 0 || has_numbered_stride(x, dim) ||
       !tl_lint_index(f, x, (unsigned)dim, &stride, &index) || (!stride.num && stride.scale != 1))
      return false;
   const TlValue *round = tl_for_index(loop);
   int64_t mask_by = moved_by(&b->index, round), by = moved_by(&index, round);
   bool is_of_size = tl_lint_comes_from(tl_for_upper(loop), limit);
   bool is_still = mask_by > 0 && stands_still(f, x, round);
   if (mask_by == by || !is_of_size || (!is_still && !has_round_of(&x->sum, round)))
      return false;
   if (!mask_by) {
      tl_report(s->diags, W0235, x->op->range, tl_source_name(x->op));
      return true;
   }
   if (check_two_strides(f, x, b, &stride, loop, mask_by))
      return true;
   if (!tl_lint_trusts_numbers(f) && !is_still) /* a block's length, say */
      return false;
   if (s->impl->has_guessed_numbers && !by && !is_still) /* a stride of 1 may be left out */
      return false;
   const char *name = stride.num == 1 ? stride.factor[0].value->name : NULL;
   tl_report(s->diags, W0263, place_of_move(x, loop), tl_source_name(x->op), (long long)mask_by,
             tl_arena_printf(s->arena, "%lld", (long long)by));
   tl_help(s->diags,
           "move the pointers by the %lld elements of a block, times the stride of this "
           "dimension: += BLOCK%s%s",
           (long long)mask_by, name ? " * " : "", name ? name : "");
   note_access(s, x, loop);
   return true;
}

bool
tl_lint_masks(TlLintFacts *f)
{
   uint32_t main = f->s->impl->main->file;
   bool is_bare_told = false, is_limit_told = false;
   for (size_t i = 0; i < f->all.len; i++) {
      const TlLintAccess *x = &f->all.data[i];
      for (unsigned k = 0; k < x->num_bounds && !is_limit_told; k++) {
         const TlBound *b = &x->bound[k];
         if (b->compare->range.file == main)
            is_limit_told = check_limit(f, x, b) || check_axis(f, x, b) || check_remainder(f, b) ||
                            check_step(f, x, b) || check_same_mask(f, x, b) ||
                            check_first_only(f, x, b) || check_other_axis(f, x, b) ||
                            check_rounds(f, x, b);
      }
      if (!is_limit_told && x->op->range.file == main)
         is_limit_told =
            check_program_mask(f, x) || check_negative(f, x) || check_or(f, x) || check_next(f, x);
      if (!is_bare_told)
         is_bare_told = check_partial(f, x) || check_partial_grid(f, x);
      if (!is_bare_told && is_bare(f, x))
         is_bare_told = check_chosen(f, x) || check_bare(f, x) || check_bare_grid(f, x) ||
                        check_bare_unused(f, x);
   }
   return is_bare_told || is_limit_told;
}
