/* Compiles a function to a flat plan: a slot for every value, an instruction for every operation.
 *
 * Storage is given out by size class while walking the function in execution order.  A value's
 * storage is taken back after the last operation of its block that uses it, itself or inside its
 * regions; region arguments keep theirs until the region has ended, because the terminator writes
 * them.
 * Invariant: a result never shares storage with an operand of its operation, except for the rules
 * that only rename (retype, identity, hint), whose result is the operand's storage under another
 * type.
 *
 * Regions of reduce, scan and map that consist of elementwise operations only are batched: their
 * scalars get room for TL_EXEC_CHUNK elements, and each instruction runs for the whole batch. */
#include "exec/cpu_impl.h"
#include "ir/analysis.h"
#include "ir/control.h"
#include "ir/walk.h"

#include <assert.h>
#include <math.h>
#include <string.h>

enum { MAX_DEPTH = 320, NUM_CLASSES = 48, MIN_CLASS = 6 };

static TlExecRule *const exec_rule[TL_OP_COUNT] = {
#define TL_OP(id, name, args, n, infer, layout, eval, fold, exec, ...)                             \
   [TL_OP_##id] = tl_cpu_##exec,
#include "ir/ops.def"
};

typedef struct Storage {
   size_t offset;
   unsigned size_class;
   unsigned refs;
   bool is_fixed; /* constants and parameters: never taken back */
} Storage;

/* Where the terminator of the block being compiled delivers its values; NULL: it only yields. */
typedef struct Targets {
   const TlExecSlot **go, **leave; /* leave: of a while's condition */
   uint32_t num;
} Targets;

typedef struct Planner {
   TlExecPlan *plan;
   TlArena *arena;
   const TlExecSlot **slot; /* by value id */
   const TlExecSlot *
      *spread;              /* by value id: batched copy of an outer scalar, in a batched region */
   const TlRegion *batched; /* the batched region being compiled, or NULL */
   uint32_t batch;          /* its capacity */
   TL_VEC(Storage) storage; /* by root */
   TL_VEC(size_t) free_list[NUM_CLASSES];
   TL_VEC(TlExecInst) prologue;
   TL_VEC(const TlExecSlot *) capture_from, capture_to;
   bool *is_index, *is_access; /* by value id; checked mode */
   unsigned num_divisions;     /* of integers */
   TlAnalysis *facts;          /* checked mode, and where integers are divided; or NULL */
   TlMap order;                /* const TlOp * -> position in its block */
   unsigned depth;
} Planner;

/* ---- storage ---- */
static uint32_t
elem_bytes_of(const TlType *elem)
{
   return elem->kind == TL_TYPE_PTR ? 8 : tl_dtype_info[elem->dtype].bytes;
}

static uint32_t
new_root(Planner *p, size_t bytes, bool is_fixed)
{
   unsigned k = MIN_CLASS;
   while (((size_t)1 << k) < bytes)
      k++;
   assert(k < NUM_CLASSES);
   Storage s = {.size_class = k, .refs = 1, .is_fixed = is_fixed};
   if (!is_fixed && p->free_list[k].len) { /* fixed storage is written before everything else */
      s.offset = tl_vec_pop(&p->free_list[k]);
   } else {
      s.offset = p->plan->frame_bytes;
      p->plan->frame_bytes += (size_t)1 << k;
   }
   tl_vec_push(p->arena, &p->storage, s);
   return (uint32_t)p->storage.len - 1;
}

static void
release(Planner *p, uint32_t root)
{
   Storage *s = &p->storage.data[root];
   assert(s->refs);
   if (--s->refs == 0 && !s->is_fixed)
      tl_vec_push(p->arena, &p->free_list[s->size_class], s->offset);
}

/* room 0: as many elements as the type has; else a batched scalar. */
static TlExecSlot *
make_slot(Planner *p, const TlType *type, uint32_t room, bool is_fixed)
{
   const TlType *elem = tl_type_elem(type);
   TlExecSlot *s = tl_new(p->arena, TlExecSlot);
   s->type = type;
   s->dtype = elem->kind == TL_TYPE_PTR ? TL_U64 : elem->dtype;
   s->elem_bytes = elem_bytes_of(elem);
   s->n = room ? room : (uint32_t)tl_type_num_elems(type);
   s->is_batched = room != 0;
   size_t data = ((size_t)s->n * s->elem_bytes + 15) & ~(size_t)15;
   s->root = new_root(p, data + (p->plan->checked ? s->n : 0), is_fixed);
   s->offset = p->storage.data[s->root].offset;
   assert(s->offset % (1u << MIN_CLASS) == 0 && s->elem_bytes <= 8);
   s->shadow = s->offset + data;
   return s;
}

static const TlExecSlot *
alias_slot(Planner *p, const TlExecSlot *of, const TlType *type)
{
   TlExecSlot *s = tl_new(p->arena, TlExecSlot);
   *s = *of;
   s->type = type;
   assert(p->storage.data[s->root].refs > 0);
   p->storage.data[s->root].refs++;
   return s;
}

static bool
is_in_batched(const Planner *p, const TlValue *v)
{
   return p->batched && tl_value_block(v)->region == p->batched;
}

static const TlExecSlot *
slot_of(Planner *p, const TlValue *v)
{
   const TlExecSlot *s = p->slot[v->id];
   assert(s);
   if (!p->batched || is_in_batched(p, v))
      return s;
   if (!p->spread[v->id]) { /* taken back when the region is done */
      p->spread[v->id] = make_slot(p, v->type, p->batch, false);
      tl_vec_push(p->arena, &p->capture_from, s);
      tl_vec_push(p->arena, &p->capture_to, p->spread[v->id]);
   }
   return p->spread[v->id];
}

/* ---- last uses ---- */
static size_t
position(const Planner *p, const TlOp *op)
{
   return (size_t)(uintptr_t)tl_map_get(&p->order, op);
}

typedef struct Dying {
   uint32_t root;
   struct Dying *next;
} Dying;

static void
note_last_use(Planner *p, Dying **dying, const TlValue *v, const TlBlock *block)
{
   size_t last = position(p, v->def);
   for (const TlUse *use = v->uses; use; use = use->next) {
      const TlOp *user = tl_in_block(use->user, block);
      assert(user); /* a use lies in its definition's block or below */
      size_t at = position(p, user);
      last = at > last ? at : last;
   }
   assert(last >= position(p, v->def));
   Dying *d = tl_new(p->arena, Dying);
   d->root = p->slot[v->id]->root;
   d->next = dying[last];
   dying[last] = d;
}

/* ---- instructions ---- */
static TlExecInst
new_inst(Planner *p, const TlOp *op)
{
   TlExecInst inst = {.run = exec_rule[op->opcode],
                      .op = op,
                      .num_args = op->num_args,
                      .num_results = op->num_results,
                      .number = p->plan->num_insts++};
   inst.arg = tl_new_array(p->arena, const TlExecSlot *, op->num_args);
   inst.result = tl_new_array(p->arena, const TlExecSlot *, op->num_results);
   inst.block = tl_new_array(p->arena, TlExecBlock *, op->num_regions);
   for (unsigned i = 0; i < op->num_args; i++)
      inst.arg[i] = slot_of(p, tl_arg(op, i));
   return inst;
}

static bool
only_renames(const TlExecInst *inst)
{
   return inst->run == tl_cpu_retype || inst->run == tl_cpu_identity || inst->run == tl_cpu_hint;
}

static void
make_results(Planner *p, TlExecInst *inst)
{
   for (unsigned i = 0; i < inst->num_results; i++) {
      const TlValue *v = tl_result(inst->op, i);
      inst->result[i] = only_renames(inst)
                           ? alias_slot(p, inst->arg[0], v->type)
                           : make_slot(p, v->type, p->batched ? p->batch : 0, false);
      p->slot[v->id] = inst->result[i];
   }
}

/* from[i] goes to to[i], all at once: a source that is also a target passes through scratch. */
static TlExecCopies
make_copies(Planner *p, const TlExecSlot *const *from, const TlExecSlot *const *to, uint32_t num)
{
   TlExecCopies c = {.num = num};
   c.from = tl_new_array(p->arena, const TlExecSlot *, num);
   c.to = tl_new_array(p->arena, const TlExecSlot *, num);
   c.via = tl_new_array(p->arena, const TlExecSlot *, num);
   for (uint32_t i = 0; i < num; i++) {
      c.from[i] = from[i];
      c.to[i] = to[i];
      for (uint32_t k = 0; k < num && !c.via[i]; k++)
         if (k != i && from[i]->root == to[k]->root)
            c.via[i] = make_slot(p, from[i]->type, 0, false);
   }
   for (uint32_t i = 0; i < num; i++)
      if (c.via[i])
         release(p, c.via[i]->root);
   return c;
}

/* ---- checked mode ---- */
static uint8_t
next_source(TlExecPlan *plan)
{
   if (plan->num_sources < TL_EXEC_MAX_UNDEF)
      plan->num_sources++;
   return (uint8_t)plan->num_sources; /* the last number is shared by all further ones */
}

static bool
makes_undefined(const TlOp *op)
{
   return (op->opcode == TL_OP_LOAD && op->num_args == 2) || op->opcode == TL_OP_POISON ||
          op->opcode == TL_OP_DIV || op->opcode == TL_OP_REM || op->opcode == TL_OP_GATHER ||
          (op->opcode == TL_OP_ATOMIC_RMW && op->num_args == 3);
}

static bool
reads_memory(const TlOp *op)
{
   return op->opcode == TL_OP_LOAD || op->opcode == TL_OP_ATOMIC_RMW ||
          op->opcode == TL_OP_ATOMIC_CAS;
}

/* Index arithmetic that a wrap goes through unchanged. */
static bool
passes_index(const TlOp *op)
{
   return op->opcode == TL_OP_ADD || op->opcode == TL_OP_SUB || op->opcode == TL_OP_MUL ||
          op->opcode == TL_OP_BROADCAST || op->opcode == TL_OP_EXPAND_DIMS ||
          op->opcode == TL_OP_SPLAT || op->opcode == TL_OP_CAST || op->opcode == TL_OP_HINT ||
          op->opcode == TL_OP_RESHAPE || op->opcode == TL_OP_TRANS;
}

/* Marks the values from which v is computed by operations that `passes` accepts. */
static void
mark(Planner *p, bool *marks, const TlValue *v, bool (*passes)(const TlOp *))
{
   TL_VEC(const TlValue *) work = {0};
   tl_vec_push(p->arena, &work, v);
   while (work.len) {
      const TlValue *now = tl_vec_pop(&work);
      if (marks[now->id])
         continue;
      marks[now->id] = true;
      for (unsigned i = 0; now->def && passes(now->def) && i < now->def->num_args; i++)
         tl_vec_push(p->arena, &work, tl_arg(now->def, i));
   }
}

static void
mark_indices(Planner *p, const TlBlock *block) /* offsets and masks */
{
   for (const TlOp *op = block->first; op; op = tl_walk_next(op, block)) {
      bool is_address = op->opcode == TL_OP_ADDPTR;
      unsigned mask_at = op->opcode == TL_OP_STORE ? 2 : 1;
      if (is_address)
         mark(p, p->is_index, tl_arg(op, 1), passes_index);
      if (is_address || op->opcode == TL_OP_LOAD || op->opcode == TL_OP_STORE)
         for (unsigned i = mask_at; i < op->num_args && i <= mask_at; i++)
            mark(p, p->is_access, tl_arg(op, i), tl_op_is_pure);
   }
}

static void
prepare_checks(Planner *p, TlExecInst *inst)
{
   enum { MOST_DIVISIONS = 64 };
   const TlOp *op = inst->op;
   if (!p->plan->checked)
      return;
   if (makes_undefined(op))
      inst->source = next_source(p->plan);
   bool is_division = op->opcode == TL_OP_DIV || op->opcode == TL_OP_REM;
   bool is_whole = is_division && tl_dtype_is_int(inst->result[0]->dtype);
   if (is_whole && !p->facts)
      p->facts = tl_analysis_new(p->arena, p->plan->func);
   if (is_whole && p->num_divisions++ < MOST_DIVISIONS &&
       p->plan->num_sources + 1 < TL_EXEC_MAX_UNDEF && /* the last is shared */
       tl_cpu_may_cut(p->arena, p->facts, p->plan->func, op))
      inst->cut_source = next_source(p->plan);
   if (p->plan->has_empty && reads_memory(op))
      inst->empty_source = next_source(p->plan);
   if (!p->plan->is_strict)
      return;
   bool can_wrap = op->opcode == TL_OP_ADD || op->opcode == TL_OP_SUB || op->opcode == TL_OP_MUL;
   inst->watch_wrap = can_wrap && !p->batched && inst->result[0]->dtype == TL_I32 &&
                      p->is_index[tl_result(op, 0)->id];
   inst->watch_sign =
      !p->batched && tl_axis_takes_index(p->facts, op) && p->is_access[tl_result(op, 0)->id];
}

/* ---- regions ---- */
static TlExecBlock *compile_block(Planner *p, const TlRegion *region, const TlExecSlot **args,
                                  const Targets *targets);

static const TlExecSlot **
region_args(Planner *p, const TlRegion *region)
{
   return tl_new_array(p->arena, const TlExecSlot *, region->block->num_args);
}

static void
release_slots(Planner *p, const TlExecSlot **slots, uint32_t num)
{
   for (uint32_t i = 0; i < num; i++)
      release(p, slots[i]->root);
}

/* Carried values live in the results' storage. */
static void
compile_for(Planner *p, TlExecInst *inst)
{
   const TlRegion *region = inst->op->regions[0];
   const TlExecSlot **args = region_args(p, region);
   assert(inst->num_args == tl_first_init(inst->op) + inst->num_results);
   unsigned inits = tl_first_init(inst->op), carried = tl_first_carried(inst->op);
   inst->copies = make_copies(p, inst->arg + inits, inst->result, inst->num_results);
   args[0] = make_slot(p, tl_for_index(inst->op)->type, 0, false);
   for (unsigned i = 0; i < inst->num_results; i++)
      args[carried + i] = alias_slot(p, inst->result[i], inst->result[i]->type);
   Targets targets = {.go = inst->result, .num = inst->num_results};
   inst->block[0] = compile_block(p, region, args, &targets);
   release_slots(p, args, region->block->num_args);
}

static void
compile_while(Planner *p, TlExecInst *inst)
{
   const TlRegion *test = inst->op->regions[0], *body = inst->op->regions[1];
   const TlExecSlot **test_args = region_args(p, test), **body_args = region_args(p, body);
   assert(test->block->num_args == inst->num_results && body->block->num_args == inst->num_results);
   for (unsigned i = 0; i < inst->num_results; i++) {
      test_args[i] = make_slot(p, inst->result[i]->type, 0, false);
      body_args[i] = make_slot(p, inst->result[i]->type, 0, false);
   }
   inst->copies = make_copies(p, inst->arg, test_args, inst->num_results);
   Targets to_body = {.go = body_args, .leave = inst->result, .num = inst->num_results};
   Targets to_test = {.go = test_args, .num = inst->num_results};
   inst->block[0] = compile_block(p, test, test_args, &to_body);
   inst->block[1] = compile_block(p, body, body_args, &to_test);
   release_slots(p, test_args, inst->num_results);
   release_slots(p, body_args, inst->num_results);
}

static void
compile_if(Planner *p, TlExecInst *inst)
{
   Targets targets = {.go = inst->result, .num = inst->num_results};
   for (unsigned r = 0; r < 2; r++)
      inst->block[r] = compile_block(p, inst->op->regions[r], NULL, &targets);
}

static bool
can_batch(const TlRegion *region)
{
   for (const TlOp *op = region->block->first; op; op = op->next) {
      if (op->opcode == TL_OP_YIELD)
         continue;
      if (op->opcode != TL_OP_CONSTANT && exec_rule[op->opcode] != tl_cpu_eltwise)
         return false;
      for (unsigned i = 0; i < op->num_args; i++)
         if (tl_type_is_tile(tl_arg(op, i)->type))
            return false;
   }
   return true;
}

/* The region is one elementwise operation on (accumulated, new), in either order. */
static void
find_direct(TlExecInst *inst)
{
   const TlExecBlock *b = inst->block[0];
   if (!b->is_batched || b->num_args != 2 || b->num_outs != 1 || b->num != 2)
      return;
   const TlExecInst *op = &b->inst[0];
   if (op->run != tl_cpu_eltwise || op->num_args != 2 || b->out[0] != op->result[0])
      return;
   inst->is_swapped = op->arg[0] == b->arg[1] && op->arg[1] == b->arg[0];
   if (inst->is_swapped || (op->arg[0] == b->arg[0] && op->arg[1] == b->arg[1]))
      inst->direct = op;
}

/* Copies of outer scalars are made before the region runs, so their storage is taken before that of
 * any of its values. */
static void
take_captures(Planner *p, const TlRegion *region)
{
   for (const TlOp *op = region->block->first; op; op = op->next)
      for (unsigned i = 0; i < op->num_args; i++)
         if (!is_in_batched(p, tl_arg(op, i)))
            slot_of(p, tl_arg(op, i));
}

/* reduce, scan, map */
static void
compile_fold(Planner *p, TlExecInst *inst)
{
   const TlRegion *region = inst->op->regions[0];
   const TlRegion *outer_region = p->batched;
   uint32_t outer_batch = p->batch;
   size_t first_capture = p->capture_from.len;
   const TlExecSlot **args = region_args(p, region);
   uint32_t n = inst->arg[0]->n;
   bool batched = can_batch(region);
   p->batched = batched ? region : NULL;
   p->batch = !batched ? 0 : n < TL_EXEC_CHUNK ? n : TL_EXEC_CHUNK;
   for (unsigned i = 0; i < region->block->num_args; i++)
      args[i] = make_slot(p, region->block->args[i]->type, p->batch, false);
   bool folds = inst->run != tl_cpu_map;
   inst->scratch = tl_new_array(p->arena, const TlExecSlot *, inst->num_args);
   for (unsigned i = 0; folds && i < inst->num_args; i++)
      inst->scratch[i] = make_slot(p, inst->arg[i]->type, 0, false);
   if (batched)
      take_captures(p, region);
   TlExecBlock *block = compile_block(p, region, args, NULL);
   inst->block[0] = block;
   release_slots(p, args, region->block->num_args);
   assert(p->capture_from.len == p->capture_to.len && p->capture_from.len >= first_capture);
   block->captures.num = (uint32_t)(p->capture_from.len - first_capture);
   block->captures.from = tl_new_array(p->arena, const TlExecSlot *, block->captures.num);
   block->captures.to = tl_new_array(p->arena, const TlExecSlot *, block->captures.num);
   for (uint32_t i = 0; i < block->captures.num; i++) {
      block->captures.from[i] = p->capture_from.data[first_capture + i];
      block->captures.to[i] = p->capture_to.data[first_capture + i];
      release(p, block->captures.to[i]->root);
   }
   if (batched)
      memset(p->spread, 0, p->plan->func->next_value_id * sizeof(void *));
   p->capture_from.len = p->capture_to.len = first_capture;
   p->batched = outer_region;
   p->batch = outer_batch;
   if (folds) {
      find_direct(inst);
      release_slots(p, inst->scratch, inst->num_args);
   }
}

static void
compile_regions(Planner *p, TlExecInst *inst)
{
   if (inst->run == tl_cpu_for)
      compile_for(p, inst);
   else if (inst->run == tl_cpu_while)
      compile_while(p, inst);
   else if (inst->run == tl_cpu_if)
      compile_if(p, inst);
   else if (inst->op->num_regions)
      compile_fold(p, inst);
}

/* ---- blocks ---- */
static void
compile_end(Planner *p, TlExecInst *inst, TlExecBlock *block, const Targets *targets)
{
   unsigned first = tl_first_yielded(inst->op);
   assert(first <= inst->num_args && !inst->op->next);
   block->out = inst->arg + first;
   block->num_outs = inst->num_args - first;
   if (!targets)
      return;
   assert(block->num_outs == targets->num);
   inst->copies = make_copies(p, block->out, targets->go, targets->num);
   if (targets->leave)
      inst->leave = make_copies(p, block->out, targets->leave, targets->num);
}

static void
unsupported(Planner *p, const TlOp *op, const char *why)
{
   if (!p->plan->unsupported) {
      p->plan->unsupported = why;
      p->plan->unsupported_op = op;
   }
}

static void
compile_constant(Planner *p, const TlOp *op)
{
   TlExecInst inst = new_inst(p, op);
   const TlValue *v = tl_result(op, 0);
   inst.result[0] = make_slot(p, v->type, is_in_batched(p, v) ? p->batch : 0, true);
   TlDtype t = inst.result[0]->dtype;
   p->plan->has_nan |=
      tl_dtype_is_float(t) && isnan(tl_bits_to_number(t, tl_attr_bits(op, TL_ATTR_VALUE)));
   p->slot[v->id] = inst.result[0];
   tl_vec_push(p->arena, &p->prologue, inst);
}

static void
compile_op(Planner *p, TlExecInst *inst, TlExecBlock *block, const Targets *targets)
{
   const TlOp *op = inst->op;
   if (exec_rule[op->opcode] == tl_cpu_none)
      unsupported(p, op, "operations on shared memory and threads run in the simulator only");
   make_results(p, inst);
   prepare_checks(p, inst);
   compile_regions(p, inst);
   if (inst->run == tl_cpu_eltwise)
      tl_cpu_pick_kernel(inst);
   if (op->opcode == TL_OP_INLINE_ASM)
      inst->ptx = tl_ptx_new(p->arena, op, &inst->ptx_error);
   if (tl_has_trait(op, TL_TRAIT_TERM))
      compile_end(p, inst, block, targets);
}

static TlExecBlock *
compile_block(Planner *p, const TlRegion *region, const TlExecSlot **args, const Targets *targets)
{
   const TlBlock *from = region->block;
   TlExecBlock *block = tl_new(p->arena, TlExecBlock);
   block->arg = args;
   block->num_args = from->num_args;
   block->is_batched = p->batched == region;
   for (unsigned i = 0; i < from->num_args; i++)
      p->slot[from->args[i]->id] = args[i];
   if (++p->depth > MAX_DEPTH) {
      unsupported(p, region->parent, "regions nest too deep");
      return block;
   }
   size_t num = 0;
   for (const TlOp *op = from->first; op; op = op->next)
      tl_map_put(&p->order, op, (void *)(uintptr_t)num++);
   Dying **dying = tl_new_array(p->arena, Dying *, num);
   block->inst = tl_new_array(p->arena, TlExecInst, num);
   size_t at = 0;
   for (const TlOp *op = from->first; op && !p->plan->unsupported; op = op->next, at++) {
      if (op->opcode == TL_OP_CONSTANT) {
         compile_constant(p, op);
      } else {
         TlExecInst *inst = &block->inst[block->num++];
         *inst = new_inst(p, op);
         compile_op(p, inst, block, targets);
         for (unsigned i = 0; i < op->num_results; i++)
            note_last_use(p, dying, tl_result(op, i), from);
         if (inst->source)
            p->plan->source[inst->source] = inst;
         if (inst->cut_source) {
            p->plan->source[inst->cut_source] = inst;
            p->plan->is_cut[inst->cut_source] = true;
         }
         if (inst->empty_source) {
            p->plan->source[inst->empty_source] = inst;
            p->plan->is_empty[inst->empty_source] = true;
         }
      }
      for (Dying *d = dying[at]; d; d = d->next)
         release(p, d->root);
   }
   p->depth--;
   return block;
}

TlExecPlan *
tl_cpu_plan(TlArena *arena, const TlFunc *f, const TlExecOptions *o, bool has_empty)
{
   Planner p = {.arena = arena};
   p.plan = tl_new(arena, TlExecPlan);
   *p.plan = (TlExecPlan){
      .arena = arena, .func = f, .checked = o->checked || o->watched, .is_strict = o->checked};
   p.plan->spares_asserts = o->spares_asserts;
   p.plan->has_empty = has_empty && p.plan->checked;
   p.slot = tl_new_array(arena, const TlExecSlot *, f->next_value_id);
   p.spread = tl_new_array(arena, const TlExecSlot *, f->next_value_id);
   tl_map_init(&p.order, arena);
   if (p.plan->is_strict) {
      p.is_index = tl_new_array(arena, bool, f->next_value_id);
      p.is_access = tl_new_array(arena, bool, f->next_value_id);
      p.facts = tl_analysis_new(arena, f);
      mark_indices(&p, f->body->block);
   }
   const TlBlock *body = f->body->block;
   const TlExecSlot **args = region_args(&p, f->body);
   for (unsigned i = 0; i < body->num_args; i++)
      args[i] = make_slot(&p, body->args[i]->type, 0, true);
   p.plan->body = compile_block(&p, f->body, args, NULL);
   p.plan->prologue = tl_new(arena, TlExecBlock);
   p.plan->prologue->inst = p.prologue.data;
   p.plan->prologue->num = (uint32_t)p.prologue.len;
   p.plan->num_roots = (uint32_t)p.storage.len;
   assert(p.plan->unsupported || (p.depth == 0 && !p.batched));
   return p.plan;
}
