/* Remarks of the group "layout".  They look at finished LAID code only, so that they tell what is,
 * not what was planned. */
#include "passes/remark.h"
#include "ir/control.h"
#include "ir/walk.h"
#include "layout/convert_plan.h"
#include "passes/coalesce.h"
#include "passes/dot_layouts.h"
#include "passes/lower/lower.h"

#include <string.h>

/* ---- which operations want a layout ---- */
enum { MAX_WALK = 512 };

typedef struct Walk {
   TlPassCx *cx;
   TlMap seen;
   TL_VEC(const TlValue *) todo;
} Walk;

static void
visit(Walk *w, const TlValue *v)
{
   if (v->type->kind != TL_TYPE_TILE || tl_map_has(&w->seen, v) || w->todo.len >= MAX_WALK)
      return;
   tl_map_put(&w->seen, v, (void *)1);
   tl_vec_push(w->cx->scratch, &w->todo, v);
}

static Walk
walk_from(TlPassCx *cx, const TlValue *v)
{
   Walk w = {.cx = cx};
   tl_map_init(&w.seen, cx->scratch);
   visit(&w, v);
   return w;
}

/* The operation that v has its layout from: the nearest producer with a layout of its own. */
static const TlOp *
layout_source(TlPassCx *cx, const TlValue *v)
{
   Walk w = walk_from(cx, v);
   for (size_t i = 0; i < w.todo.len; i++) {
      v = w.todo.data[i];
      const TlOp *op = v->def ? v->def : v->block->region->parent;
      if (!op)
         continue;
      if (v->def && tl_has_trait(op, TL_TRAIT_OWN_LAYOUT))
         return op;
      if (!tl_is_branching(op)) {
         for (unsigned k = 0; v->def && k < op->num_args; k++)
            visit(&w, tl_arg(op, k));
         continue;
      }
      if (!v->def && v->index < tl_first_carried(op))
         continue; /* the index */
      TlJoin join = tl_join(op, v->index - (v->def ? 0 : tl_first_carried(op)));
      for (unsigned k = 0; k < join.num_in; k++)
         visit(&w, join.in[k]);
   }
   return NULL;
}

/* The operation that v has its layout for: the nearest user with a layout of its own. */
static const TlOp *
layout_target(TlPassCx *cx, const TlValue *v)
{
   Walk w = walk_from(cx, v);
   for (size_t i = 0; i < w.todo.len; i++)
      for (const TlUse *u = w.todo.data[i]->uses; u; u = u->next) {
         const TlOp *op = u->user, *parent = tl_parent(op);
         unsigned at = (unsigned)(u - op->args);
         if (tl_has_trait(op, TL_TRAIT_OWN_LAYOUT))
            return op;
         if (op->opcode == TL_OP_YIELD || op->opcode == TL_OP_CONDITION) {
            at -= tl_first_yielded(op);
            if (parent && tl_is_branching(parent) && at < parent->num_results) {
               visit(&w, tl_result(parent, at));
               if (parent->opcode == TL_OP_FOR)
                  visit(&w, tl_carried(op->block, at));
            }
         } else if (tl_is_loop(op) && at >= tl_first_init(op)) {
            visit(&w, tl_carried(op->regions[0]->block, at - tl_first_init(op)));
         } else {
            for (unsigned k = 0; k < op->num_results; k++)
               visit(&w, tl_result(op, k));
         }
      }
   return NULL;
}

/* "'dot' (line 53)", or what stands for nothing found. */
static const char *
name_of(TlPassCx *cx, const TlOp *op, const char *otherwise)
{
   if (!op)
      return otherwise;
   if (!op->range.file)
      return tl_arena_printf(cx->scratch, "'%s'", tl_info(op)->text);
   TlLineCol at = tl_source_line_col(cx->sources, op->range.file, op->range.begin);
   return tl_arena_printf(cx->scratch, "'%s' (line %u)", tl_info(op)->text, at.line);
}

/* ---- accesses ---- */
/* Why the layout of an access puts no more neighbours side by side in a thread. */
static const char *
why_few_neighbours(TlPassCx *cx, const TlOp *op, const TlLinear *l, unsigned vec)
{
   unsigned regs = tl_ll_num_regs(l), copies = 0;
   for (unsigned i = 0; i < l->num[TL_HW_REG]; i++)
      copies += l->col[i] == 0;
   regs >>= copies;
   if (regs <= vec)
      return tl_arena_printf(cx->scratch, "; a thread has %u element%s of the tile", regs,
                             regs == 1 ? "" : "s");
   const TlOp *other = NULL;
   if (op->opcode == TL_OP_STORE)
      other = layout_source(cx, tl_arg(op, 1));
   else if (op->num_results)
      other = layout_target(cx, tl_result(op, 0));
   return tl_arena_printf(cx->scratch,
                          "; the layout is that of %s, with %u neighbour%s in a thread",
                          name_of(cx, other, "its users"), vec, vec == 1 ? "" : "s");
}

/* What keeps an access below 16 bytes. */
static const char *
why_narrow(TlPassCx *cx, const TlOp *op, const TlAccess *a, const TlLinear *l, unsigned vec)
{
   unsigned bytes = vec * a->elem_bytes;
   if (bytes >= 16)
      return "";
   if (a->contiguity == 1)
      return "; neighbouring elements are not known to have neighbouring addresses";
   if (a->contiguity <= vec)
      return tl_arena_printf(cx->scratch, "; only %u elements are known to lie side by side",
                             a->contiguity);
   if (a->align_bytes <= bytes)
      return tl_arena_printf(cx->scratch, "; the address is only known to be a multiple of %u",
                             a->align_bytes);
   if (a->mask_prefix <= vec)
      return tl_arena_printf(cx->scratch, "; the mask is only known to be equal for %u neighbour%s",
                             a->mask_run, a->mask_run == 1 ? "" : "s");
   return why_few_neighbours(cx, op, l, vec);
}

static void
remark_access(TlPassCx *cx, TlAnalysis *facts, const TlOp *op)
{
   const TlValue *ptr = tl_arg(op, 0);
   TlAccess a = tl_access_of(facts, op);
   TlLinear l = tl_layout_of(ptr->type);
   unsigned vec = tl_access_vec_in(&a, &l);
   tl_report(cx->diags, R0410, op->range, tl_info(op)->text,
             tl_type_cstr(cx->scratch, tl_type_with_elem(tl_op_func(op)->module->types, ptr->type,
                                                         tl_type_elem(ptr->type)->elem)),
             vec, vec == 1 ? "" : "s", vec * a.elem_bytes,
             vec > a.mask_run ? "; where the mask ends within one, its first elements"
                              : why_narrow(cx, op, &a, &l, vec));
   if (a.contiguity == 1 && vec == 1 && tl_type_num_elems(ptr->type) > 1)
      tl_help(cx->diags,
              "where they lie rows apart, let neighbouring lanes go along a row: a range "
              "of its columns as the tile's last axis");
}

/* ---- dots ---- */
static void
remark_dot(TlPassCx *cx, const TlOp *op)
{
   const TlType *acc = tl_result(op, 0)->type, *a = tl_arg(op, 0)->type;
   TlDotForm form;
   TlWgmmaOperand shared[2];
   if (tl_match_wgmma(op, &form, shared) || tl_match_mma(op, &form)) {
      const char *why = form.is_wgmma ? NULL : tl_why_no_wgmma(cx->target, op);
      tl_report(cx->diags, R0412, op->range, acc->shape[acc->rank - 2], acc->shape[acc->rank - 1],
                a->shape[a->rank - 1], tl_attr_word(TL_AK_MMA, form.mma),
                why ? tl_arena_printf(cx->scratch, ": %s", why) : "");
   } else {
      tl_report(cx->diags, R0412, op->range, acc->shape[acc->rank - 2], acc->shape[acc->rank - 1],
                a->shape[a->rank - 1],
                "multiply-adds of each thread: ", tl_why_no_mma(cx->target, op));
   }
}

void
tl_remark_layouts(TlPassCx *cx, TlFunc *f)
{
   if (!tl_wants_remarks(cx->diags, "layout"))
      return;
   TlAnalysis *facts = tl_analysis_new(cx->scratch, f);
   const TlBlock *body = f->body->block;
   for (const TlOp *op = body->first; op; op = tl_walk_next(op, body)) {
      if ((op->opcode == TL_OP_LOAD || op->opcode == TL_OP_STORE) &&
          tl_arg(op, 0)->type->kind == TL_TYPE_TILE)
         remark_access(cx, facts, op);
      if (op->opcode == TL_OP_DOT)
         remark_dot(cx, op);
   }
}

/* ---- conversions ---- */
static const char *
way_of(const TlConvertPlan *plan)
{
   switch (plan->kind) {
   case TL_CONVERT_SHUFFLES:
      return "by shuffles";
   case TL_CONVERT_SHARED:
      return "through shared memory";
   default:
      return "in registers";
   }
}

static const char *
conflicts_of(TlPassCx *cx, const TlConvertPlan *plan)
{
   if (plan->kind != TL_CONVERT_SHARED)
      return "";
   unsigned n = tl_convert_wavefronts(plan) - tl_convert_min_wavefronts(plan);
   if (n == 0)
      return ", no bank conflicts";
   return tl_arena_printf(cx->scratch, ", %u wavefront%s of bank conflicts", n, n == 1 ? "" : "s");
}

static void
remark_conversion(TlPassCx *cx, const TlOp *op, bool in_loop)
{
   const TlType *from = tl_arg(op, 0)->type, *to = tl_result(op, 0)->type;
   TlLinear a = tl_layout_of(from), b = tl_layout_of(to);
   TlConvertPlan *plan = tl_new(cx->scratch, TlConvertPlan);
   if (!tl_plan_conversion(to->elem, &a, &b, plan))
      return;
   unsigned es = tl_dtype_info[tl_memory_dtype(to->elem)].bytes;
   tl_report(
      cx->diags, R0411, op->range,
      tl_type_cstr(cx->scratch, tl_type_with_layout(tl_op_func(op)->module->types, to, NULL)),
      name_of(cx, layout_source(cx, tl_arg(op, 0)), "its producer"),
      name_of(cx, layout_target(cx, tl_result(op, 0)), "its users"), way_of(plan),
      (unsigned)tl_type_num_elems(to) * es, conflicts_of(cx, plan),
      in_loop ? ", in every iteration" : "");
}

void
tl_remark_conversions(TlPassCx *cx, TlFunc *f)
{
   const TlBlock *body = f->body->block;
   for (const TlOp *op = body->first; op && tl_wants_remarks(cx->diags, "layout");
        op = tl_walk_next(op, body))
      if (op->opcode == TL_OP_CONVERT_LAYOUT)
         remark_conversion(cx, op, tl_is_of_loop(op));
}
