/* Grids held against what a kernel does with program_id: as many programs as elements, where each
 * takes a tile; blocks counted by a division that leaves the rest out.  And random numbers that
 * all programs draw alike. */
#include "ir/control.h"
#include "ir/walk.h"
#include "sema/generic.h"
#include "sema/launch_args.h"
#include "sema/lint.h"
#include "sema/lint_access.h"

#include <string.h>

/* ---- how many programs ---- */
typedef struct Blocks { /* along an axis: pid * len + arange(0, len) < limit */
   const TlValue *limit;
   uint32_t len;
   bool is_guessed; /* len is of another launch, or of none */
} Blocks;

static Blocks
blocks_along(TlLintFacts *f, int axis)
{
   for (size_t i = 0; i < f->all.len; i++) {
      const TlLintAccess *x = &f->all.data[i];
      for (unsigned k = 0; k < x->num_bounds; k++) {
         const TlBound *b = &x->bound[k];
         const TlValue *limit = b->is_upper ? tl_lint_argument(&b->limit) : NULL;
         if (!limit || !limit->name || b->index.num != 2)
            continue;
         for (unsigned t = 0; t < 2; t++) {
            const TlTerm *pid = &b->index.term[t], *lane = &b->index.term[1 - t];
            if (tl_lint_axis(pid) == axis && pid->num == 1 && pid->scale > 1 && lane->dim >= 0 &&
                !lane->num && lane->scale == 1 &&
                pid->scale == (int64_t)x->pointers->type->shape[lane->dim])
               return (Blocks){.limit = limit, .len = (uint32_t)pid->scale};
         }
      }
   }
   return (Blocks){0};
}

static bool
is_text(TlSema *s, const TlNode *a, const char *text)
{
   return strcmp(tl_node_text(s, a), text) == 0;
}

/* cdiv(n, 256), where a program takes another number of elements. */
static bool
other_block(TlLintFacts *f, const TlNode *item, const char *size, uint32_t len)
{
   const TlAstCall *call = item->kind == TL_AST_CALL ? tl_ast_Call(item) : NULL;
   if (!call || strcmp(tl_decorator_name(item), "cdiv") != 0 || call->args.len != 2 ||
       !is_text(f->s, call->args.data[0], size))
      return false;
   const TlNode *by = call->args.data[1];
   return by->kind == TL_AST_INT && tl_ast_Int(by)->value != len;
}

/* One size of a grid, where `size` is written for what the mask compares with. */
static bool
check_item(TlLintFacts *f, const TlNode *item, const char *size, Blocks b)
{
   TlSema *s = f->s;
   bool is_quotient = item->kind == TL_AST_BINARY &&
                      tl_ast_Binary(item)->op == TL_AST_OP_FLOORDIV &&
                      is_text(s, tl_ast_Binary(item)->left, size);
   if (is_quotient) {
      tl_report(s->diags, W0261, item->range, "rounds down",
                tl_arena_printf(s->arena, "what is left of '%.40s' has no program", size));
      tl_help(s->diags, "write cdiv(%.40s, %.40s)", size,
              tl_node_text(s, tl_ast_Binary(item)->right));
   } else if (!b.is_guessed && other_block(f, item, size, b.len)) {
      tl_report(s->diags, W0261, item->range, "counts blocks of another size",
                tl_arena_printf(s->arena, "each program takes %u elements", b.len));
      tl_help(s->diags, "write cdiv(%.40s, %u), or the parameter that the kernel's tile has", size,
              b.len);
   } else if (is_text(s, item, size)) {
      tl_report(s->diags, W0261, item->range, "counts elements",
                tl_arena_printf(s->arena, "each program takes %u of them", b.len));
      tl_help(s->diags, "write cdiv(%.40s, %u), with the size of the tile", size, b.len);
   } else {
      return false;
   }
   return true;
}

static bool
check_launch(TlLintFacts *f, const TlKernelInfo *k, const TlAstCall *call)
{
   TlSema *s = f->s;
   TlLaunchText t;
   tl_launch_text(s, k, call, &t);
   for (int axis = 0; axis < TL_LINT_AXES; axis++) {
      const TlNode *item = tl_launch_grid_item(&t, (unsigned)axis);
      Blocks b = item ? blocks_along(f, axis) : (Blocks){0};
      b.is_guessed = !tl_lint_has_constants(f->func, &t);
      for (unsigned p = 0; b.limit && p < k->num_params; p++)
         if (strcmp(k->params[p].name, b.limit->name) == 0 && t.args[p].node &&
             check_item(f, item, tl_node_text(s, t.args[p].node), b))
            return true;
   }
   return false;
}

/* ---- axes that nothing asks for ---- */
static bool
asks_for(const TlFunc *f, int axis)
{
   const TlBlock *top = f->body->block;
   for (const TlOp *op = top->first; op; op = tl_walk_next(op, top))
      if ((op->opcode == TL_OP_PROGRAM_ID || op->opcode == TL_OP_NUM_PROGRAMS) &&
          tl_attr_int(op, TL_ATTR_AXIS) == axis)
         return true;
   return false;
}

/* The kernel's own grid: its sizes but for those that are 1. */
static bool
check_unasked(TlLintFacts *f, const TlNode *grid)
{
   TlSema *s = f->s;
   for (int axis = 0; axis < TL_LINT_AXES; axis++)
      if (!tl_grid_item(grid, (unsigned)axis) && asks_for(f->func, axis))
         return false; /* it asks for another, which is told (W0232) */
   for (int axis = 0; axis < TL_LINT_AXES; axis++) {
      const TlNode *item = tl_grid_item(grid, (unsigned)axis);
      if (!item || item->kind == TL_AST_INT || asks_for(f->func, axis))
         continue;
      tl_report(s->diags, W0264, item->range, axis, axis);
      tl_help(s->diags,
              "all of them do the same: take tl.program_id(%d) into the offsets, or leave "
              "'%.40s' out of the grid",
              axis, tl_node_text(s, item));
      return true;
   }
   return false;
}

const TlNode *
tl_lint_own_grid(TlLintFacts *f)
{
   const TlSvFunc *fn = tl_function_of(f->s, f->func->name);
   const TlNodeList *decorators = fn ? &tl_ast_Function(fn->node)->decorators : NULL;
   for (size_t i = 0; decorators && i < decorators->len; i++) {
      const TlNode *d = decorators->data[i];
      const TlNode *grid = tl_is_jit_decorator(d) && d->kind == TL_AST_CALL
                              ? tl_decorator_argument(d, "grid", -1)
                              : NULL;
      if (grid)
         return grid;
   }
   return NULL;
}

static bool
check_own_grid(TlLintFacts *f, bool is_told)
{
   const TlNode *grid = tl_lint_own_grid(f);
   if (grid && !is_told && check_unasked(f, grid))
      return true;
   for (int axis = 0; grid && axis < TL_LINT_AXES; axis++) {
      const TlNode *item = tl_grid_item(grid, (unsigned)axis);
      Blocks b = item ? blocks_along(f, axis) : (Blocks){0};
      if (b.limit && check_item(f, item, b.limit->name, b))
         return true;
   }
   return false;
}

/* ---- random numbers ---- */
static bool
is_tile(const TlSv *v)
{
   return v->kind == TL_SV_VALUE && tl_type_num_elems(v->value->type) > 1;
}

static unsigned
programs_of(const TlLintFacts *f, const TlSv *v)
{
   return v->kind == TL_SV_VALUE ? f->programs[v->value->id] : 0;
}

/* The second argument of the call as it is written. */
static const char *
offset_text(TlSema *s, const TlDraw *d)
{
   const char *text = tl_range_text(s, d->range), *open = strchr(text, '(');
   const char *comma = open ? tl_argument_end(open + 1) : NULL;
   const char *at = comma && *comma == ',' ? comma + 1 + strspn(comma + 1, " ") : NULL;
   const char *end = at ? tl_argument_end(at) : NULL;
   bool is_short = end && end - at <= 80 && !memchr(at, '\n', (size_t)(end - at));
   return is_short ? tl_arena_strndup(s->arena, at, (size_t)(end - at)) : "offset";
}

/* Offsets of all programs that differ wherever those of one do, whatever they are made of. */
static void
help_draws(TlSema *s, const TlDraw *d, unsigned asked)
{
   const TlOp *op = d->offset.value->def;
   int axis = 0;
   while (axis + 1 < TL_LINT_AXES && !(asked >> axis & 1))
      axis++;
   while (op && tl_has_trait(op, TL_TRAIT_SAME_ELEMENTS))
      op = tl_arg(op, 0)->def;
   if (op && op->opcode == TL_OP_ARANGE)
      tl_help(s->diags,
              "give each element of all programs an offset of its own: tl.program_id(%d) * %u + %s",
              axis, d->offset.value->type->shape[0], offset_text(s, d));
   else if (asked == 1u << axis)
      tl_help(s->diags,
              "give each element of all programs an offset of its own, and keep what rounds are "
              "told apart by: (%s) * tl.num_programs(%d) + tl.program_id(%d)",
              offset_text(s, d), axis, axis);
   else
      tl_help(s->diags,
              "give each element of all programs an offset of its own, and keep what rounds are "
              "told apart by: (%s) * N + pid, with pid the number of the program among all N of "
              "them: tl.program_id(1) * tl.num_programs(0) + tl.program_id(0)",
              offset_text(s, d));
}

static const TlOp *
loop_around(const TlBlock *b)
{
   for (const TlOp *op = b ? b->region->parent : NULL; op; op = tl_parent(op))
      if (op->opcode == TL_OP_FOR || op->opcode == TL_OP_WHILE)
         return op;
   return NULL;
}

/* Is it computed of anything that the loop changes? */
static bool
is_of_loop(const TlValue *v, const TlOp *loop, unsigned *steps)
{
   enum { MAX_STEPS = 400 };
   const TlOp *in = v->def ? v->def : v->block->region->parent;
   while (in && in != loop)
      in = tl_parent(in);
   if (!in || v->def == loop)
      return false;
   if (!v->def || v->def->num_regions || ++*steps > MAX_STEPS ||
       tl_has_trait(v->def, TL_TRAIT_READ))
      return true;
   for (unsigned i = 0; i < v->def->num_args; i++)
      if (is_of_loop(tl_arg(v->def, i), loop, steps))
         return true;
   return false;
}

static bool
is_moved(const TlSv *v, const TlOp *loop)
{
   unsigned steps = 0;
   return v->kind == TL_SV_VALUE ? is_of_loop(v->value, loop, &steps) : v->kind != TL_SV_INT;
}

static void
check_draws(TlLintFacts *f)
{
   TlSema *s = f->s;
   unsigned asked = 0;
   for (size_t i = 0; i < f->all.len; i++)
      asked |= f->programs[f->all.data[i].pointers->id];
   for (size_t i = 0; i < s->impl->draws.len; i++) {
      const TlDraw *d = &s->impl->draws.data[i];
      if (d->func != f->func || d->range.file != s->impl->main->file)
         continue;
      if (is_tile(&d->seed) && !is_tile(&d->offset)) {
         tl_report(s->diags, W0260, d->range, d->name, "the seed comes first, then the offsets");
         tl_help(s->diags, "write %s(seed, offsets): one seed for all, a number for each element",
                 d->name);
         return;
      }
      if (asked && is_tile(&d->offset) && !programs_of(f, &d->seed) &&
          !programs_of(f, &d->offset)) {
         tl_report(s->diags, W0260, d->range, d->name, "all programs draw the same numbers");
         help_draws(s, d, asked);
         return;
      }
      const TlOp *loop = is_tile(&d->offset) ? loop_around(d->block) : NULL;
      if (loop && !is_moved(&d->seed, loop) && !is_moved(&d->offset, loop)) {
         bool is_for = loop->opcode == TL_OP_FOR;
         const char *index = is_for ? tl_for_index(loop)->name : NULL;
         const char *rounds = is_for ? tl_for_upper(loop)->name : NULL;
         tl_report(s->diags, W0260, d->range, d->name,
                   "all rounds of the loop draw the same numbers");
         tl_help(s->diags,
                 "give each round offsets of its own, (%s) * %.40s + %.40s, or draw before the "
                 "loop, if they are to be the same",
                 offset_text(s, d), rounds ? rounds : "rounds", index ? index : "round");
         return;
      }
   }
}

void
tl_lint_grid(TlLintFacts *f, const TlKernelInfo *k, bool is_told)
{
   check_draws(f);
   if (check_own_grid(f, is_told))
      return;
   const TlCalls *calls = tl_launches_of(f->s, k->name);
   for (size_t i = 0; calls && i < calls->len; i++)
      if (check_launch(f, k, calls->data[i]))
         return;
}
