/* The verifier: everything that later stages rely on, for one function in its state.
 * Invariant of the walk: `visible` holds exactly the values whose definition dominates the
 * operation at hand: block arguments and results are entered as they are met and leave with their
 * region.  All violations are reported; only the regions of an operation whose operands do not fit
 * go unchecked. */
#include "ir/control.h"
#include "ir/ir.h"
#include "ir/walk.h"
#include "layout/hw_layouts.h"

#include <assert.h>
#include <string.h>

enum { MAX_DEPTH = 300 };

typedef struct Verifier {
   const TlFunc *func;
   TlArena *arena;
   TlTypes *types;
   TlViolation *report;
   void *user;
   bool *visible; /* by value id */
   bool *defined; /* by value id */
   unsigned depth;
} Verifier;

static void __attribute__((format(printf, 3, 4)))
bad(Verifier *v, const TlOp *op, const char *fmt, ...)
{
   va_list ap;
   va_start(ap, fmt);
   const char *why = tl_arena_vprintf(v->arena, fmt, ap);
   va_end(ap);
   v->report(v->user, op, why);
}

static const char *
text(Verifier *v, const TlType *t)
{
   return t ? tl_type_cstr(v->arena, t) : "nothing";
}

/* ---- values ---- */
static bool
layout_fits(const TlType *t)
{
   uint32_t shape[TL_LL_MAX_RANK];
   if (t->layout->rank != t->rank)
      return false;
   tl_ll_shape(t->layout, shape);
   return memcmp(shape, t->shape, t->rank * sizeof shape[0]) == 0;
}

static void
check_type(Verifier *v, const TlOp *op, const TlType *t)
{
   TlState state = v->func->state;
   bool is_tile = t->kind == TL_TYPE_TILE;
   bool laid_only = t->kind == TL_TYPE_MEMDESC || t->kind == TL_TYPE_TOKEN;
   if (state == TL_STATE_LOWERED
          ? is_tile || laid_only
          : t->kind == TL_TYPE_REGS || (laid_only && state != TL_STATE_LAID) ||
               (t->kind == TL_TYPE_TMAP && state == TL_STATE_TYPED))
      bad(v, op, "type %s is not of this state", text(v, t));
   if (is_tile && state == TL_STATE_LAID && !t->layout)
      bad(v, op, "every tile has a layout; %s has none", text(v, t));
   if (is_tile && state == TL_STATE_TYPED && t->layout)
      bad(v, op, "no tile has a layout yet; %s has one", text(v, t));
   if (t->layout && !layout_fits(t))
      bad(v, op, "layout and type have different shapes; the type is %s", text(v, t));
}

static void
define(Verifier *v, const TlOp *op, const TlValue *value)
{
   if (value->id >= v->func->next_value_id) {
      bad(v, op, "value id %u is beyond the function's %u", value->id, v->func->next_value_id);
      return;
   }
   if (v->defined[value->id])
      bad(v, op, "value id %u belongs to two values", value->id);
   v->defined[value->id] = v->visible[value->id] = true;
   if (value->type)
      check_type(v, op, value->type);
   else
      bad(v, op, "a value without type");
}

static bool
is_visible(const Verifier *v, const TlValue *value)
{
   return value->id < v->func->next_value_id && v->visible[value->id];
}

/* What is in flight may be waited for, added to, and carried. */
static bool
takes_in_flight(const TlOp *op)
{
   return op->opcode == TL_OP_WGMMA || op->opcode == TL_OP_WGMMA_WAIT ||
          op->opcode == TL_OP_DOT_WAIT || tl_has_trait(op, TL_TRAIT_TERM) ||
          tl_has_trait(op, TL_TRAIT_CONTROL);
}

static bool
check_args(Verifier *v, const TlOp *op)
{
   bool ok = true;
   for (unsigned i = 0; i < op->num_args; i++) {
      const TlUse *use = &op->args[i];
      if (!use->value) {
         bad(v, op, "operand %u is missing", i);
         ok = false;
      } else if (!is_visible(v, use->value)) {
         bad(v, op, "operand %u is not defined before this use", i);
      } else if (use->user != op || *use->link != use) {
         bad(v, op, "the use list of operand %u is broken", i);
      } else if (use->value->type && use->value->type->is_in_flight && !takes_in_flight(op)) {
         bad(v, op, "operand %u is still in flight: a wait must come before", i);
      }
   }
   return ok;
}

/* Do the bytes of the box_copy count for the phase that the other operation expects? */
static bool
is_expected_by(const TlOp *copy, const TlOp *expect)
{
   return copy->opcode == TL_OP_BOX_COPY && expect->opcode == TL_OP_BARRIER_EXPECT &&
          tl_arg(copy, 2) == tl_arg(expect, 0) && tl_arg(copy, 3) == tl_arg(expect, 1);
}

static const TlType *
target_of(const TlOp *copy)
{
   return tl_arg(copy, 1)->type;
}

static void
check_swizzle(Verifier *v, const TlOp *op)
{
   const TlOp *map = tl_arg(op, 0)->def;
   TlBoxes boxes;
   if (tl_hw_boxes(target_of(op)->layout, tl_dtype_info[target_of(op)->dtype].bytes, &boxes) &&
       (!map || (map->opcode != TL_OP_TENSOR_MAP && map->opcode != TL_OP_OWN_MAP) ||
        tl_attr_int(map, TL_ATTR_SWIZZLE) != (int64_t)boxes.swizzle))
      bad(v, op, "the boxes of the buffer are those of a map with a swizzle of %u bytes",
          boxes.swizzle);
}

/* Groups of four warps store boxes whose numbers' bits are there, each of them once. */
static void
check_box_store(Verifier *v, const TlOp *op)
{
   const TlType *map = tl_arg(op, 0)->type, *from = tl_arg(op, 1)->type;
   TlInts bits = tl_attr_ints(op, TL_ATTR_GROUP_BITS);
   TlBoxes boxes = {0};
   uint64_t seen = 0;
   check_swizzle(v, op);
   tl_hw_boxes_of(from->layout, tl_dtype_info[from->dtype].bytes,
                  map->shape + map->rank - from->rank, &boxes);
   for (size_t i = 0; i < bits.len; i++) {
      if (bits.data[i] < 0 || bits.data[i] >= boxes.log2_num || seen >> bits.data[i] & 1) {
         bad(v, op, "group_bits name bits of the numbers of its %u boxes", 1u << boxes.log2_num);
         return;
      }
      seen |= 1ull << bits.data[i];
   }
   if (bits.len && tl_warps_at(v->func, op) != 1u << (bits.len + TL_LOG2_GROUP_WARPS))
      bad(v, op, "%u warps are not as many groups of four as group_bits tell apart",
          tl_warps_at(v->func, op));
}

/* The box_copy fills a buffer in the order in which its map's boxes come, and a phase of its
 * mbarrier expects its bytes: of an operation before it in the block. */
static void
check_box_copy(Verifier *v, const TlOp *op)
{
   const TlOp *before = op->prev;
   check_swizzle(v, op);
   while (before && !is_expected_by(op, before))
      before = before->prev;
   if (!before)
      bad(v, op, "nothing before it in the block expects its bytes");
}

/* What it expects comes up to the next one of its kind, or to the end of the block. */
static void
check_expect(Verifier *v, const TlOp *op)
{
   uint64_t bytes = 0, expected = (uint64_t)tl_attr_int(op, TL_ATTR_BYTES);
   for (const TlOp *next = op->next; next && next->opcode != TL_OP_BARRIER_EXPECT;
        next = next->next)
      if (is_expected_by(next, op))
         bytes += tl_type_num_elems(target_of(next)) * tl_dtype_info[target_of(next)->dtype].bytes;
   if (bytes != expected)
      bad(v, op, "%llu bytes are expected, of boxes of %llu", (unsigned long long)expected,
          (unsigned long long)bytes);
}

/* Numbers by which later stages index, shift and divide, of operations whose types do not depend on
 * them.  Others that a text may hold are as wrong as a wrong program's, and no worse. */
static const struct AttrLimit {
   TlOpcode opcode;
   TlAttrKey key;
   int64_t least, most;
   bool is_power; /* of two */
} attr_limit[] = {
   {TL_OP_PROGRAM_ID, TL_ATTR_AXIS, 0, 2, false},
   {TL_OP_NUM_PROGRAMS, TL_ATTR_AXIS, 0, 2, false},
   {TL_OP_LDMATRIX, TL_ATTR_NUM, 1, 4, true},
   {TL_OP_STMATRIX, TL_ATTR_NUM, 1, 4, true},
   {TL_OP_CP_ASYNC, TL_ATTR_BYTES, 4, 16, true},
   {TL_OP_CP_ASYNC_WAIT, TL_ATTR_NUM, 0, INT32_MAX, false},
   {TL_OP_WGMMA_WAIT, TL_ATTR_NUM, 0, 7, false},
   {TL_OP_SHFL, TL_ATTR_WIDTH, 1, 32, true},
   {TL_OP_BAR_SYNC, TL_ATTR_BARRIER, 0, 15, false},
   {TL_OP_MBAR_INIT, TL_ATTR_ARRIVALS, 1, (1 << 20) - 1, false}, /* the field of the PTX object */
};

static void
check_limits(Verifier *v, const TlOp *op)
{
   for (size_t i = 0; i < sizeof attr_limit / sizeof attr_limit[0]; i++) {
      const struct AttrLimit *limit = &attr_limit[i];
      if (limit->opcode != op->opcode)
         continue;
      int64_t n = tl_attr_int(op, limit->key);
      if (n < limit->least || n > limit->most || (limit->is_power && (n & (n - 1)) != 0))
         bad(v, op, "%s must be %s%lld to %lld; got %lld", tl_attr_info[limit->key].text,
             limit->is_power ? "a power of two, " : "", (long long)limit->least,
             (long long)limit->most, (long long)n);
   }
}

static unsigned
elem_bits(const TlType *t)
{
   const TlType *elem = tl_type_elem(t);
   return elem->kind == TL_TYPE_PTR ? 64 : tl_dtype_info[elem->dtype].bits;
}

/* Accesses of an operation on memory: pointers, or addresses in shared memory and their offsets. */
static bool
count_accesses(Verifier *v, const TlOp *op, uint32_t *num)
{
   *num = tl_type_num_regs(tl_arg(op, 0)->type);
   if (!tl_has_attr(op, TL_ATTR_OFFSETS))
      return true;
   size_t offsets = tl_attr_ints(op, TL_ATTR_OFFSETS).len;
   if (*num > 1 && offsets && offsets != *num) {
      bad(v, op, "%u addresses have %zu offsets", *num, offsets);
      return false;
   }
   *num = *num > 1 || !offsets ? *num : (uint32_t)offsets;
   return true;
}

/* i1, or bytes of a vector of elements that have a size. */
static void
check_predicate(Verifier *v, const TlOp *op, uint64_t bits)
{
   const TlValue *pred = tl_pred(op);
   if (!pred)
      return;
   const TlType *elem = tl_type_elem(pred->type), *ptr = NULL;
   for (unsigned i = 0; i < tl_pred_at(op); i++)
      if (tl_type_elem(tl_arg(op, i)->type)->kind == TL_TYPE_PTR)
         ptr = tl_type_elem(tl_arg(op, i)->type);
   bool is_i1 = elem->kind == TL_TYPE_SCALAR && elem->dtype == TL_I1;
   bool is_part = tl_is_partial(op) && ptr && ptr->elem->kind == TL_TYPE_SCALAR &&
                  bits / 8 >= TL_MIN_PART_BYTES;
   if (!is_i1 && !is_part)
      bad(v, op, "its predicate is of %s", text(v, pred->type));
}

/* What an operation on memory moves is as much as its accesses do, and one predicate is all
 * accesses' or each has its own. */
static void
check_accesses(Verifier *v, const TlOp *op)
{
   uint32_t num;
   uint64_t bits;
   const TlValue *data = op->num_results ? tl_result(op, 0) : tl_arg(op, 1), *pred = tl_pred(op);
   if (!count_accesses(v, op, &num))
      return;
   if (tl_has_attr(op, TL_ATTR_BYTES))
      bits = 64;                          /* a copy's pointer */
   else if (tl_has_attr(op, TL_ATTR_NUM)) /* matrices */
      bits = 32 * (uint64_t)tl_attr_int(op, TL_ATTR_NUM);
   else
      bits = elem_bits(data->type) *
             (tl_has_attr(op, TL_ATTR_VEC) ? (uint64_t)tl_attr_int(op, TL_ATTR_VEC) : 1);
   if ((uint64_t)tl_type_num_regs(data->type) * elem_bits(data->type) != num * bits)
      bad(v, op, "%u accesses of %llu bits do not fit %s", num, (unsigned long long)bits,
          text(v, data->type));
   if (pred && tl_type_num_regs(pred->type) != 1 && tl_type_num_regs(pred->type) != num)
      bad(v, op, "%u accesses have %u predicates", num, tl_type_num_regs(pred->type));
   check_predicate(v, op, tl_has_attr(op, TL_ATTR_BYTES) ? 32 : bits);
}

/* A machine operation on memory: by pointers, or by addresses in shared memory with offsets. */
static bool
accesses_memory(const TlOp *op)
{
   if (tl_op_is_pure(op) || !op->num_args || tl_has_trait(op, TL_TRAIT_TYPED) ||
       tl_has_trait(op, TL_TRAIT_LAID) || tl_has_attr(op, TL_ATTR_MMA))
      return false;
   bool moves_data = op->num_results || op->num_args > 1;
   return tl_has_attr(op, TL_ATTR_OFFSETS) ||
          (moves_data && tl_type_elem(tl_arg(op, 0)->type)->kind == TL_TYPE_PTR);
}

/* An mbarrier is named by its address in shared memory. */
static void
check_mbarrier(Verifier *v, const TlOp *op)
{
   const TlType *at = tl_arg(op, 0)->type;
   if (at->kind != TL_TYPE_SCALAR || at->dtype != TL_I32)
      bad(v, op, "the address of its mbarrier is of %s, not i32", text(v, at));
}

static void
check_who_copies(Verifier *v, const TlOp *op)
{
   const TlType *t = tl_arg(op, 3)->type;
   if (t->kind != TL_TYPE_SCALAR || t->dtype != TL_I1)
      bad(v, op, "whether it copies is of %s, not i1", text(v, t));
}

static bool
names_mbarrier(const TlOp *op)
{
   switch (op->opcode) {
   case TL_OP_MBAR_INIT:
   case TL_OP_MBAR_ARRIVE:
   case TL_OP_MBAR_WAIT:
   case TL_OP_MBAR_EXPECT:
   case TL_OP_CP_ASYNC_ARRIVE:
      return true;
   default:
      return false;
   }
}

static void
check_extent(Verifier *v, const TlOp *op, TlExtent e)
{
   if (e.begin < 0 || e.begin > e.end)
      bad(v, op, "an extent begins at %lld and ends at %lld", (long long)e.begin, (long long)e.end);
}

static void
check_attrs(Verifier *v, const TlOp *op)
{
   if (op->opcode == TL_OP_BOX_COPY)
      check_box_copy(v, op);
   if (op->opcode == TL_OP_BOX_STORE)
      check_box_store(v, op);
   if (op->opcode == TL_OP_BARRIER_EXPECT)
      check_expect(v, op);
   if (op->opcode == TL_OP_CP_ASYNC && op->num_args > 3)
      check_who_copies(v, op);
   check_limits(v, op);
   TlExtent extent;
   if (tl_has_attr(op, TL_ATTR_EXTENT) && tl_attr_extent(op, &extent))
      check_extent(v, op, extent);
   for (unsigned i = 0; i < 2 && op->opcode == TL_OP_WGMMA; i++)
      if (tl_wgmma_is_shared(op, i))
         check_extent(v, op, tl_wgmma_extent(op, i));
   if (op->opcode == TL_OP_PICK) {
      TlInts index = tl_attr_ints(op, TL_ATTR_INDEX);
      uint32_t total = 0;
      for (unsigned i = 0; i < op->num_args; i++)
         total += tl_type_num_regs(tl_arg(op, i)->type);
      for (size_t r = 0; r < index.len; r++)
         if ((uint64_t)index.data[r] >= total)
            bad(v, op, "register %lld of %u is picked", (long long)index.data[r], total);
   }
   if (tl_has_attr(op, TL_ATTR_VEC)) {
      uint64_t vec = (uint64_t)tl_attr_int(op, TL_ATTR_VEC);
      const TlType *elem =
         tl_type_elem(op->num_results ? tl_result(op, 0)->type : tl_arg(op, 1)->type);
      unsigned bytes = elem->kind == TL_TYPE_PTR ? 8 : tl_dtype_info[elem->dtype].bytes;
      if (vec == 0 || (vec & (vec - 1)) != 0 || vec > 16 / bytes)
         bad(v, op, "vec %llu of %u bytes is not a power of two up to 16 bytes",
             (unsigned long long)vec, bytes);
   }
   if (names_mbarrier(op))
      check_mbarrier(v, op);
   else if (accesses_memory(op))
      check_accesses(v, op);
}

/* Re-infers; false when the operands do not fit, so that regions cannot be judged. */
static bool
check_results(Verifier *v, const TlOp *op)
{
   enum { FEW = 16 };
   unsigned n = op->num_results;
   const TlType *few_args[FEW], *few_results[FEW];
   const TlType **args =
      op->num_args <= FEW ? few_args : tl_new_array(v->arena, const TlType *, op->num_args);
   const TlType **results = n <= FEW ? few_results : tl_new_array(v->arena, const TlType *, n);
   for (unsigned i = 0; i < op->num_args; i++)
      args[i] = op->args[i].value->type;
   for (unsigned i = 0; i < n; i++)
      results[i] = op->results[i].type;
   TlInferCx cx = {.types = v->types, .arena = v->arena};
   if (!tl_infer(&cx, op->opcode, args, op->num_args, op->attrs, results, n)) {
      bad(v, op, "%s", cx.why);
      return false;
   }
   for (unsigned i = 0; i < n; i++) {
      const TlValue *r = &op->results[i];
      if (r->def != op || r->index != i || r->block)
         bad(v, op, "result %u is not linked to its operation", i);
      if (!tl_infer_accepts(v->types, results[i], r->type))
         bad(v, op, "result %u is %s; operands give %s%s", i, text(v, r->type), text(v, results[i]),
             strcmp(text(v, r->type), text(v, results[i])) == 0 ? " in another layout" : "");
   }
   return true;
}

/* ---- regions ---- */
static void check_block(Verifier *v, const TlBlock *block, const TlOp *parent);

/* Type of region argument or yielded value number i, or NULL past their number. */
typedef const TlType *TypeAt(const TlOp *op, unsigned i);

static const TlType *
no_type(const TlOp *op, unsigned i)
{
   (void)op;
   (void)i;
   return NULL;
}

static const TlType *
result_type(const TlOp *op, unsigned i)
{
   return i < op->num_results ? op->results[i].type : NULL;
}

static const TlType *
for_arg(const TlOp *op, unsigned i)
{
   return i == 0 ? tl_for_lower(op)->type : result_type(op, i - tl_first_carried(op));
}

static const TlType *
fold_arg(const TlOp *op, unsigned i)
{
   return i < 2 * op->num_args ? tl_type_elem(op->args[i % op->num_args].value->type) : NULL;
}

static const TlType *
fold_yield(const TlOp *op, unsigned i)
{
   return i < op->num_args ? tl_type_elem(op->args[i].value->type) : NULL;
}

/* `pack` scalars of operand 0, then of operand 1, ... */
static const TlType *
map_arg(const TlOp *op, unsigned i)
{
   unsigned k = i / (unsigned)tl_attr_int(op, TL_ATTR_PACK);
   return k < op->num_args ? tl_type_elem(op->args[k].value->type) : NULL;
}

static const TlType *
map_yield(const TlOp *op, unsigned i)
{
   unsigned k = i / (unsigned)tl_attr_int(op, TL_ATTR_PACK);
   return k < op->num_results ? tl_type_elem(op->results[k].type) : NULL;
}

typedef struct RegionRule {
   unsigned num;        /* regions */
   TypeAt *arg, *yield; /* of every region */
   TlOpcode first_end;  /* terminator of region 0; the others end with yield */
   bool is_pure;        /* nothing with an effect inside */
} RegionRule;

static const RegionRule region_rule[TL_OP_COUNT] = {
   [TL_OP_FOR] = {1, for_arg, result_type, TL_OP_YIELD, false},
   [TL_OP_WHILE] = {2, result_type, result_type, TL_OP_CONDITION, false},
   [TL_OP_IF] = {2, no_type, result_type, TL_OP_YIELD, false},
   [TL_OP_REDUCE] = {1, fold_arg, fold_yield, TL_OP_YIELD, true},
   [TL_OP_SCAN] = {1, fold_arg, fold_yield, TL_OP_YIELD, true},
   [TL_OP_MAP] = {1, map_arg, map_yield, TL_OP_YIELD, false},
   [TL_OP_ROLE] = {1, no_type, no_type, TL_OP_YIELD, false},
};

static void
check_region_args(Verifier *v, const TlOp *op, const TlBlock *block, TypeAt *want)
{
   for (unsigned i = 0;; i++) {
      const TlType *have = i < block->num_args ? block->args[i]->type : NULL;
      if (have != want(op, i))
         bad(v, op, "region argument %u must be %s; got %s", i, text(v, want(op, i)),
             text(v, have));
      if (i >= block->num_args)
         return;
   }
}

static void
check_end(Verifier *v, const TlOp *op, const TlBlock *block, const RegionRule *rule, unsigned r)
{
   TlOpcode want = r == 0 ? rule->first_end : TL_OP_YIELD;
   const TlOp *last = block->last;
   if (!last || last->opcode != want) {
      bad(v, op, "region %u must end with '%s'; it ends with '%s'", r, tl_op_info[want].text,
          last ? tl_info(last)->text : "nothing");
      return;
   }
   unsigned first = tl_first_yielded(last);
   for (unsigned i = 0;; i++) {
      bool is_end = first + i >= last->num_args;
      const TlValue *value = is_end ? NULL : last->args[first + i].value;
      if ((value ? value->type : NULL) != rule->yield(op, i))
         bad(v, last, "value %u must be %s; got %s", i, text(v, rule->yield(op, i)),
             text(v, value ? value->type : NULL));
      if (is_end)
         return;
   }
}

static void
check_pure(Verifier *v, const TlOp *op, const TlBlock *block)
{
   for (const TlOp *inner = block->first; inner; inner = inner->next)
      if (!tl_has_trait(inner, TL_TRAIT_TERM) && !tl_op_is_pure(inner) &&
          inner->opcode != TL_OP_WHILE && inner->opcode != TL_OP_SREG)
         bad(v, inner, "an operation inside '%s' must have no effect", tl_info(op)->text);
}

static void
check_role(Verifier *v, const TlOp *op)
{
   int64_t first = tl_attr_int(op, TL_ATTR_FIRST_WARP), num = tl_attr_int(op, TL_ATTR_NUM_WARPS);
   uint32_t total = tl_total_warps(v->func);
   if (num < 1 || (num & (num - 1)) || first < 0 || first > total || num > total - first)
      bad(v, op, "a role has a power of two of the %u warps; got %d from %d on", total, (int)num,
          (int)first);
}

static void
check_regions(Verifier *v, const TlOp *op)
{
   const RegionRule *rule = &region_rule[op->opcode];
   if (op->num_regions != rule->num) {
      bad(v, op, "'%s' has %u regions; got %u", tl_info(op)->text, rule->num, op->num_regions);
      return;
   }
   if (op->opcode == TL_OP_ROLE)
      check_role(v, op);
   for (unsigned r = 0; r < op->num_regions; r++) {
      const TlRegion *region = op->regions[r];
      if (region->parent != op || region->func != v->func || region->block->region != region)
         bad(v, op, "region %u is not linked to its operation", r);
      check_region_args(v, op, region->block, rule->arg);
      check_block(v, region->block, op);
      check_end(v, op, region->block, rule, r);
      if (rule->is_pure)
         check_pure(v, op, region->block);
   }
}

/* ---- operations and blocks ---- */
static void
check_op(Verifier *v, const TlOp *op)
{
   static const uint32_t state_trait[] = {TL_TRAIT_TYPED, TL_TRAIT_LAID, TL_TRAIT_LOWERED};
   static const char *const state_name[] = {"typed", "laid", "lowered"};
   if (!tl_has_trait(op, state_trait[v->func->state]))
      bad(v, op, "'%s' is not an operation of the %s state", tl_info(op)->text,
          state_name[v->func->state]);
   if (tl_has_trait(op, TL_TRAIT_TERM) != !op->next)
      bad(v, op,
          op->next ? "'%s' must be the last of its block"
                   : "a block must end with a terminator; it ends with '%s'",
          tl_info(op)->text);
   bool linked = check_args(v, op);
   for (unsigned i = 0; i < op->num_results; i++)
      if (!op->results[i].type)
         linked = false;
   if (linked && check_results(v, op)) {
      check_attrs(v, op);
      check_regions(v, op);
   }
   for (unsigned i = 0; i < op->num_results; i++)
      define(v, op, &op->results[i]);
}

static void
check_block(Verifier *v, const TlBlock *block, const TlOp *parent)
{
   if (++v->depth > MAX_DEPTH) {
      bad(v, parent, "regions nest more than %d deep", MAX_DEPTH);
      v->depth--;
      return;
   }
   for (unsigned i = 0; i < block->num_args; i++) {
      const TlValue *a = block->args[i];
      if (a->block != block || a->def || a->index != i)
         bad(v, parent, "argument %u is not linked to its block", i);
      define(v, parent, a);
   }
   const TlOp *before = NULL;
   for (const TlOp *op = block->first; op; before = op, op = op->next) {
      if (op->block != block || op->prev != before)
         bad(v, op, "the operation is not linked to its block");
      check_op(v, op);
   }
   if (block->last != before)
      bad(v, parent, "the end of the block is not its last operation");
   for (unsigned i = 0; i < block->num_args; i++)
      if (block->args[i]->id < v->func->next_value_id)
         v->visible[block->args[i]->id] = false;
   for (const TlOp *op = block->first; op; op = op->next)
      for (unsigned i = 0; i < op->num_results; i++)
         if (op->results[i].id < v->func->next_value_id)
            v->visible[op->results[i].id] = false;
   v->depth--;
}

static void
check_params(Verifier *v)
{
   const TlFunc *f = v->func;
   unsigned arg = 0;
   for (unsigned i = 0; i < f->num_params; i++) {
      const TlParam *p = &f->params[i];
      if (!p->is_runtime)
         continue;
      const TlType *have = arg < f->body->block->num_args ? f->body->block->args[arg]->type : NULL;
      if (!p->type || have != p->type)
         bad(v, NULL, "parameter %s is %s but its argument is %s", p->name, text(v, p->type),
             text(v, have));
      if (!p->divisibility)
         bad(v, NULL, "divisibility of parameter %s must be at least 1", p->name);
      arg++;
   }
   if (arg != f->body->block->num_args)
      bad(v, NULL, "the body has %u arguments; %u parameters are run-time",
          f->body->block->num_args, arg);
}

void
tl_verify_each(const TlFunc *f, TlViolation *report, void *user)
{
   Verifier v = {.func = f,
                 .arena = f->module->arena,
                 .types = f->module->types,
                 .report = report,
                 .user = user};
   v.visible = tl_new_array(v.arena, bool, f->next_value_id);
   v.defined = tl_new_array(v.arena, bool, f->next_value_id);
   if (!f->num_warps || (f->num_warps & (f->num_warps - 1)))
      bad(&v, NULL, "num_warps must be a power of two; got %u", f->num_warps);
   if (f->state == TL_STATE_LOWERED && tl_total_warps(f) > TL_MAX_WARPS)
      bad(&v, NULL, "a block has at most %d warps; got %u", TL_MAX_WARPS, tl_total_warps(f));
   check_params(&v);
   check_block(&v, f->body->block, NULL);
   const TlOp *last = f->body->block->last;
   if (!last || last->opcode != TL_OP_RETURN)
      bad(&v, last, "the body must end with 'return'; it ends with '%s'",
          last ? tl_info(last)->text : "nothing");
}

typedef struct Lines {
   TlSb *out;
   bool ok;
} Lines;

static void
add_line(void *user, const TlOp *op, const char *why)
{
   Lines *lines = user;
   lines->ok = false;
   if (op && op->num_results && op->results[0].name)
      tl_sb_printf(lines->out, "%%%s = ", op->results[0].name);
   tl_sb_printf(lines->out, "%s: %s\n", op ? tl_info(op)->text : "func", why);
}

bool
tl_verify(const TlFunc *f, TlSb *out)
{
   Lines lines = {out, true};
   tl_verify_each(f, add_line, &lines);
   return lines.ok;
}
