/* LAID to LOWERED: the driver, and the rules of operations that keep their form.
 *
 * The old body is walked in order and a new one appended; cx->map says what each old value became.
 * Control operations are rebuilt with lowered types.  Invariant: rules never look at the machine
 * but through thread.c, and at shared memory but through shared.c. */
#include "ir/walk.h"
#include "passes/lower/impl.h"

#include <assert.h>
#include <string.h>

static TlLowerRule *const rules[TL_OP_COUNT] = {
#define TL_OP(id, name, args, n, infer, layout, eval, fold, exec, lower, ...)                      \
   [TL_OP_##id] = tl_lower_##lower,
#include "ir/ops.def"
};

bool
tl_fail(TlLowerCx *cx)
{
   cx->pass->failed = true;
   return false;
}

TlLinear
tl_layout_of(const TlType *t)
{
   assert(t->layout);
   return tl_ll_fold_repeats(t->layout);
}

const TlType *
tl_lower_type(TlLowerCx *cx, const TlType *t)
{
   assert(t->kind != TL_TYPE_REGS && "a type of the old body");
   if (t->kind == TL_TYPE_TILE) {
      const TlType *regs = tl_type_regs(cx->types, t->elem, tl_ll_num_regs(t->layout));
      return t->is_in_flight ? tl_type_in_flight(cx->types, regs, true) : regs;
   }
   if (t->kind == TL_TYPE_MEMDESC || t->kind == TL_TYPE_TOKEN)
      return tl_type_scalar(cx->types, TL_I32);
   return t;
}

TlValue *
tl_lower_use(TlLowerCx *cx, const TlValue *old)
{
   assert(old->id < cx->num_old_values && cx->map[old->id]);
   return cx->map[old->id];
}

void
tl_lower_def(TlLowerCx *cx, const TlValue *old, TlValue *now)
{
   assert(now && now->type->kind != TL_TYPE_TILE && "a value of the new body");
   assert(old->id < cx->num_old_values);
   if (old->type->is_in_flight && !now->type->is_in_flight)
      now = tl_t1(&cx->b, TL_OP_WGMMA_START, tl_type_in_flight(cx->types, now->type, true), now);
   if (!now->name)
      now->name = old->name;
   cx->map[old->id] = now;
}

/* The operation on lowered operands, attributes kept. */
TlOp *
tl_lower_clone(TlLowerCx *cx, const TlOp *op, TlValue *const *args, unsigned num_args,
               const TlType *const *types, unsigned num_regions)
{
   assert(num_args == op->num_args && num_regions <= op->num_regions);
   const TlOpInfo *info = tl_info(op);
   TlAttrInit attrs[TL_MAX_OP_ATTRS];
   for (unsigned i = 0; i < info->num_attrs; i++)
      attrs[i] = (TlAttrInit){info->attr[i].key, op->attrs[i]};
   return tl_build(&cx->b, op->opcode, args, num_args, types, op->num_results, attrs,
                   info->num_attrs, num_regions);
}

/* ---- rules ---- */
void
tl_lower_none(TlLowerCx *cx, TlOp *op)
{
   (void)cx;
   (void)op;
   assert(false && "the verifier: no such operation in a laid function");
}

/* Register bits of a value that lead to an equal element: they move inside a group that analysis
 * knows to be constant, as a mask of 16 columns does along them, or make copies. */
static uint32_t
equal_regs(TlLowerCx *cx, const TlValue *v)
{
   assert(v->type->kind == TL_TYPE_TILE);
   TlLinear l = tl_layout_of(v->type);
   const TlAxisInfo *info = tl_axis_info(cx->facts, v);
   uint32_t inside = 0, equal = 0;
   for (unsigned d = 0; d < v->type->rank && !info->assumes_index; d++)
      inside |= tl_axis_mask(&l, d) & (info->constancy[d] - 1) << tl_ll_dim_shift(&l, d);
   for (unsigned i = 0; i < l.num[TL_HW_REG]; i++)
      equal |= l.col[i] & ~inside ? 0 : 1u << i;
   return equal;
}

/* One operation for every group of equal registers, then the result repeated.  False when all
 * registers differ: nothing was built. */
static bool
lower_once_each(TlLowerCx *cx, TlOp *op)
{
   const TlValue *result = op->num_results == 1 ? tl_result(op, 0) : NULL;
   if (!result || result->type->kind != TL_TYPE_TILE || !tl_has_trait(op, TL_TRAIT_PURE))
      return false;
   uint32_t equal = equal_regs(cx, result);
   unsigned n = tl_ll_num_regs(result->type->layout), kept = 0;
   if (!equal)
      return false;
   uint32_t *keep = tl_new_array(cx->scratch, uint32_t, n);
   uint32_t *at = tl_new_array(cx->scratch, uint32_t, n);
   for (uint32_t r = 0; r < n; r++) {
      if (!(r & equal))
         keep[kept++] = r;
      at[r] = r & equal ? at[r & ~equal] : kept - 1;
   }
   TlValue **args = tl_new_array(cx->scratch, TlValue *, op->num_args);
   for (unsigned i = 0; i < op->num_args; i++) {
      TlValue *arg = tl_lower_use(cx, tl_arg(op, i));
      bool is_scalar = tl_regs_of(arg->type) != n;
      args[i] = is_scalar ? tl_regs_splat(cx, arg, kept) : tl_regs_pick(cx, arg, keep, kept);
   }
   const TlType *type = tl_type_regs(cx->types, tl_type_elem(result->type), kept);
   TlOp *now = tl_lower_clone(cx, op, args, op->num_args, &type, 0);
   tl_lower_def(cx, result, tl_regs_pick(cx, tl_result(now, 0), at, n));
   return true;
}

/* Element by element: scalars among registers are repeated. */
void
tl_lower_same(TlLowerCx *cx, TlOp *op)
{
   assert(op->num_regions == 0);
   if (lower_once_each(cx, op))
      return;
   unsigned n = 1;
   TlValue **args = tl_new_array(cx->scratch, TlValue *, op->num_args);
   const TlType **types = tl_new_array(cx->scratch, const TlType *, op->num_results);
   for (unsigned i = 0; i < op->num_args; i++) {
      args[i] = tl_lower_use(cx, tl_arg(op, i));
      unsigned have = tl_regs_of(args[i]->type);
      n = have > n ? have : n;
   }
   for (unsigned i = 0; i < op->num_args; i++)
      args[i] = tl_regs_splat(cx, args[i], n);
   for (unsigned i = 0; i < op->num_results; i++)
      types[i] = tl_type_regs(cx->types, tl_type_elem(tl_result(op, i)->type), n);
   TlOp *now = tl_lower_clone(cx, op, args, op->num_args, types, 0);
   for (unsigned i = 0; i < op->num_results; i++)
      tl_lower_def(cx, tl_result(op, i), tl_result(now, i));
}

void
tl_lower_assume(TlLowerCx *cx, TlOp *op)
{
   tl_lower_same(cx, op);
}

void
tl_lower_hint(TlLowerCx *cx, TlOp *op)
{
   assert(op->num_args == 1 && op->num_results == 1);
   TlValue *x = tl_lower_use(cx, tl_arg(op, 0));
   if (cx->pass->checks_hints)
      tl_lower_check_of_hint(cx, op, x);
   tl_lower_def(cx, tl_result(op, 0), x);
}

void
tl_lower_debug_barrier(TlLowerCx *cx, TlOp *op)
{
   tl_build_n(&cx->b, TL_OP_BAR_SYNC, NULL, 0, NULL,
              TL_ATTRS_({TL_ATTR_BARRIER, {.i = tl_barrier_at(op)}}));
}

static TlValue **
lowered_args(TlLowerCx *cx, const TlOp *op)
{
   TlValue **args = tl_new_array(cx->scratch, TlValue *, op->num_args);
   for (unsigned i = 0; i < op->num_args; i++)
      args[i] = tl_lower_use(cx, tl_arg(op, i));
   return args;
}

void
tl_lower_yield(TlLowerCx *cx, TlOp *op)
{
   tl_lower_clone(cx, op, lowered_args(cx, op), op->num_args, NULL, 0);
}

void
tl_lower_return(TlLowerCx *cx, TlOp *op)
{
   tl_lower_yield(cx, op);
}

static void
lower_region(TlLowerCx *cx, const TlRegion *from, TlRegion *to)
{
   assert(to->block->num_args == 0 && !to->block->first);
   TlBuilder saved = cx->b;
   cx->b.block = to->block;
   cx->b.before = NULL;
   for (unsigned i = 0; i < from->block->num_args; i++) {
      const TlValue *old = from->block->args[i];
      tl_lower_def(cx, old, tl_block_add_arg(to->block, tl_lower_type(cx, old->type), old->name));
   }
   tl_lower_block(cx, from->block);
   cx->b = saved;
}

static void
lower_control(TlLowerCx *cx, const TlOp *op)
{
   assert(tl_has_trait(op, TL_TRAIT_CONTROL) && op->num_regions > 0);
   const TlType **types = tl_new_array(cx->scratch, const TlType *, op->num_results);
   for (unsigned i = 0; i < op->num_results; i++)
      types[i] = tl_lower_type(cx, tl_result(op, i)->type);
   TlOp *now = tl_lower_clone(cx, op, lowered_args(cx, op), op->num_args, types, op->num_regions);
   for (unsigned i = 0; i < op->num_regions; i++)
      lower_region(cx, op->regions[i], now->regions[i]);
   for (unsigned i = 0; i < op->num_results; i++)
      tl_lower_def(cx, tl_result(op, i), tl_result(now, i));
}

void
tl_lower_for(TlLowerCx *cx, TlOp *op)
{
   lower_control(cx, op);
}

void
tl_lower_while(TlLowerCx *cx, TlOp *op)
{
   lower_control(cx, op);
}

void
tl_lower_if(TlLowerCx *cx, TlOp *op)
{
   lower_control(cx, op);
}

/* Thread words go to the top: they are built in a block of their own, spliced in at the end. */
static void
splice_entry(TlLowerCx *cx, TlBlock *body)
{
   TlBlock *entry = cx->entry.block;
   assert(body->last && "the new body ends");
   while (entry->last) {
      TlOp *op = entry->last;
      if (body->first)
         tl_move_before(op, body->first);
      else
         tl_move_to_end(op, body);
   }
}

static void
start_entry(TlLowerCx *cx)
{
   cx->entry = tl_builder_at_end(cx->func, tl_region_new(cx->func, NULL)->block);
   cx->entry.range = cx->func->range;
   cx->lane = cx->warp = NULL;
   cx->thread_maps = NULL;
}

/* The region's threads count from its first warp, in words of their own.  What came before is seen
 * by all warps of the block. */
void
tl_lower_role(TlLowerCx *cx, TlOp *op)
{
   TlLowerCx outer = *cx;
   int64_t num = tl_attr_int(op, TL_ATTR_NUM_WARPS);
   if (!op->prev || op->prev->opcode != TL_OP_ROLE)
      tl_build_n(&cx->b, TL_OP_BAR_SYNC, NULL, 0, NULL, TL_ATTRS_());
   TlOp *now = tl_lower_clone(cx, op, NULL, 0, NULL, 1);
   start_entry(cx);
   cx->first_warp = (uint32_t)tl_attr_int(op, TL_ATTR_FIRST_WARP);
   cx->log2_warps = (unsigned)__builtin_ctz((unsigned)num);
   lower_region(cx, op->regions[0], now->regions[0]);
   tl_place_own_maps(cx, now->regions[0]->block);
   splice_entry(cx, now->regions[0]->block);
   outer.next_partition = cx->next_partition;
   outer.num_makers = cx->num_makers;
   outer.most_own_maps = cx->most_own_maps;
   *cx = outer;
}

void
tl_lower_op(TlLowerCx *cx, TlOp *op)
{
   assert(op->opcode < TL_OP_COUNT);
   if (cx->pass->failed)
      return;
   cx->b.range = op->range;
   rules[op->opcode](cx, op);
}

void
tl_lower_block(TlLowerCx *cx, const TlBlock *from)
{
   if (++cx->depth > TL_LOWER_MAX_DEPTH && from->first) {
      tl_report(cx->pass->diags, E0405, from->first->range, (int)TL_LOWER_MAX_DEPTH);
      tl_fail(cx);
   }
   for (TlOp *op = from->first; op; op = op->next)
      tl_lower_op(cx, op);
   cx->depth--;
}

/* ---- checks before lowering: text may hold layouts that no block of f executes ---- */
typedef struct Check {
   TlLowerCx *cx;
   const TlFunc *func;
   unsigned log2_warps; /* of the role, or the function */
   unsigned depth;
} Check;

static bool
check_type(Check *c, const TlType *t, TlRange range)
{
   if (t->kind != TL_TYPE_TILE)
      return true;
   TlDiags *diags = c->cx->pass->diags;
   assert(t->layout && "the verifier: every tile of a laid function has a layout");
   TlLinear l = tl_layout_of(t);
   if (l.num[TL_HW_LANE] != TL_LANE_BITS || l.num[TL_HW_WARP] != c->log2_warps ||
       l.num[TL_HW_BLOCK] || tl_ll_has_repeats(&l) || !tl_ll_is_surjective(&l)) {
      tl_report(diags, E0402, range, tl_type_cstr(c->cx->scratch, t), 1u << c->log2_warps);
      return tl_fail(c->cx);
   }
   if (tl_ll_num_regs(&l) > TL_MAX_REGS_PER_THREAD) {
      tl_report(diags, E0403, range, tl_type_cstr(c->cx->scratch, t), tl_ll_num_regs(&l),
                32u << c->log2_warps, (unsigned)TL_MAX_REGS_PER_THREAD);
      return tl_fail(c->cx);
   }
   return true;
}

static void
check_block(Check *c, const TlBlock *block)
{
   if (++c->depth > TL_LOWER_MAX_DEPTH) {
      tl_report(c->cx->pass->diags, E0405, c->func->range, (int)TL_LOWER_MAX_DEPTH);
      tl_fail(c->cx);
   }
   for (unsigned i = 0; i < block->num_args; i++)
      check_type(c, block->args[i]->type, c->func->range);
   for (const TlOp *op = block->first; op && !c->cx->pass->failed; op = op->next) {
      for (unsigned i = 0; i < op->num_results; i++)
         if (!check_type(c, tl_result(op, i)->type, op->range))
            break;
      unsigned outer = c->log2_warps;
      if (op->opcode == TL_OP_ROLE) /* tiles inside are spread over its warps */
         c->log2_warps = (unsigned)__builtin_ctz((unsigned)tl_attr_int(op, TL_ATTR_NUM_WARPS));
      for (unsigned i = 0; i < op->num_regions; i++)
         check_block(c, op->regions[i]->block);
      c->log2_warps = outer;
   }
   c->depth--;
}

static bool
check_func(TlLowerCx *cx, TlFunc *f)
{
   uint32_t w = f->num_warps;
   if (w < 1 || tl_total_warps(f) > TL_MAX_WARPS || (w & (w - 1))) {
      tl_report(cx->pass->diags, E0404, f->range, w);
      return tl_fail(cx);
   }
   cx->log2_warps = (unsigned)__builtin_ctz(w);
   Check c = {.cx = cx, .func = f, .log2_warps = cx->log2_warps};
   check_block(&c, f->body->block);
   return !cx->pass->failed;
}

/* A fresh body with the old one's arguments. */
static void
start_body(TlLowerCx *cx, TlFunc *f, const TlBlock *old)
{
   assert(!old->region->parent && "the body of the function");
   TlRegion *body = tl_region_new(f, NULL);
   cx->b = tl_builder_at_end(f, body->block);
   for (unsigned i = 0; i < old->num_args; i++) {
      const TlValue *arg = old->args[i];
      tl_lower_def(cx, arg, tl_block_add_arg(body->block, arg->type, arg->name));
   }
   f->body = body;
}

bool
tl_pass_lower(TlPassCx *pass, TlFunc *f)
{
   assert(f->state == TL_STATE_LAID);
   TlLowerCx cx = {.pass = pass,
                   .func = f,
                   .types = f->module->types,
                   .arena = f->module->arena,
                   .scratch = pass->scratch,
                   .next_partition = 1};
   if (!check_func(&cx, f))
      return false;
   cx.facts = tl_analysis_new(pass->scratch, f);
   tl_map_init(&cx.scratch_of, pass->scratch);
   tl_map_init(&cx.measured, pass->scratch);
   tl_measure_masks(&cx);
   if (!tl_alloc_shared(&cx))
      return false;
   cx.num_old_values = f->next_value_id;
   cx.map = tl_new_array(pass->scratch, TlValue *, cx.num_old_values);
   const TlBlock *old = f->body->block;
   start_entry(&cx);
   start_body(&cx, f, old);
   tl_lower_block(&cx, old);
   tl_place_own_maps(&cx, f->body->block);
   splice_entry(&cx, f->body->block);
   tl_count_map_places(&cx);
   return true;
}
