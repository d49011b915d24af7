/* Loaded operands stored to shared memory at once where registers are short.
 *
 * An operand of a product goes to shared memory in front of it.  Tiles that are loaded one after
 * the other, each for another product, wait there in registers, all of them at the same time:
 *
 *    before:   v = load ..; w = load ..; b = local_alloc v; dot(a, b); c = local_alloc w; dot(a, c)
 *    after:    v = load ..; b = local_alloc v; w = load ..; dot(a, b); c = local_alloc w; dot(a, c)
 *
 * Where more words live than a thread has registers, ptxas would spill them: 968 bytes of two tiles
 * of fp32 and two of fp16.  There a load whose tile only goes to shared memory, cast or transposed
 * on the way, goes there directly behind the load, the earliest one that lives where most words do
 * first, until they fit.  ptxas still begins the loads behind it before, as far as there are
 * registers: global loads pass stores to shared memory.
 *
 * Refused: loads in loops, which have rings for their operands (pipeline_loops) and a balance of
 * registers of their own; tiles that somebody reads in registers; buffers that live so long that a
 * block has less than its shared memory, or a multiprocessor fewer blocks than the registers let
 * it have.  No load is looked at twice, so the pass ends. */
#include "ir/pressure.h"
#include "ir/walk.h"
#include "passes/live_words.h"
#include "passes/lower/lower.h"
#include "passes/pass.h"

#include <assert.h>

typedef struct Stage {
   TlPassCx *cx;
   TlFunc *func;
   TlMap way;             /* operations on the way of the load's tile to shared memory */
   TL_VEC(TlOp *) behind; /* the same, in their order */
   TL_VEC(TlOp *) next;   /* before which these stood */
   TlMap seen;            /* loads that were moved to, or may not be */
} Stage;

/* Do all who read the value bring it to shared memory, by operations of the load's block that read
 * nothing else that is made behind the load? */
static bool
collect_way(Stage *s, const TlOp *load, const TlValue *v)
{
   for (const TlUse *u = v->uses; u; u = u->next) {
      TlOp *op = u->user;
      bool is_copy = op->opcode == TL_OP_LOCAL_ALLOC;
      if (tl_map_has(&s->way, op))
         continue;
      if (op->block != load->block || op->num_regions || (!is_copy && !tl_op_is_pure(op)))
         return false;
      for (unsigned i = 0; i < op->num_args; i++) {
         TlOp *def = tl_arg(op, i)->def;
         if (def && def->block == load->block && !tl_map_has(&s->way, def) &&
             !tl_stands_before(def, load))
            return false;
      }
      tl_map_put(&s->way, op, op);
      if (!is_copy)
         for (unsigned i = 0; i < op->num_results; i++)
            if (!collect_way(s, load, tl_result(op, i)))
               return false;
   }
   return true;
}

/* Is another load issued between the load and where its tile has come to shared memory?  Lists what
 * is on the way. */
static bool
holds_over_a_load(Stage *s, const TlOp *load)
{
   bool over = false, is_over = false;
   s->behind.len = 0;
   for (TlOp *op = load->next; op; op = op->next) {
      over |= op->opcode == TL_OP_LOAD;
      if (tl_map_has(&s->way, op)) {
         tl_vec_push(s->cx->scratch, &s->behind, op);
         is_over |= over;
      }
   }
   return is_over;
}

/* Does the loaded tile wait for the product at `at`? */
static bool
lives_at(const Stage *s, const TlOp *load, const TlOp *at)
{
   const TlOp *last = s->behind.data[s->behind.len - 1];
   return load != at && tl_stands_before(load, at) && tl_stands_before(at, last);
}

static void
move(Stage *s, TlOp *load)
{
   TlOp *where = load->next;
   s->next.len = 0;
   for (size_t i = 0; i < s->behind.len; i++) {
      tl_vec_push(s->cx->scratch, &s->next, s->behind.data[i]->next);
      if (s->behind.data[i] == where)
         where = where->next;
      else
         tl_move_before(s->behind.data[i], where);
   }
}

static void
move_back(Stage *s)
{
   for (size_t i = s->behind.len; i-- > 0;)
      tl_move_before(s->behind.data[i], s->next.data[i]);
}

/* Blocks that a multiprocessor has room for, with all the registers that a thread may have. */
static uint32_t
blocks_of(const Stage *s)
{
   enum { OF_BLOCK = 1024 }; /* taken by the system (CUDA C++ guide, "compute capability 9.0") */
   const TlTarget *target = s->cx->target;
   uint64_t bytes = tl_shared_bytes_for(s->cx, s->func);
   uint32_t by_registers =
      tl_blocks_with(target, tl_total_warps(s->func), tl_registers_at_start(target, s->func));
   if (bytes > target->max_shared_bytes)
      return 0;
   uint64_t by_shared = target->sm_shared_bytes / (bytes + OF_BLOCK);
   return by_shared < by_registers ? (uint32_t)by_shared : by_registers;
}

static bool
stage(Stage *s, TlOp *load, const TlOp *at)
{
   tl_map_init(&s->way, s->cx->scratch);
   tl_map_put(&s->way, load, load);
   if (tl_attr_int(load, TL_ATTR_VOLATILE) || !collect_way(s, load, tl_result(load, 0)) ||
       !holds_over_a_load(s, load) || !lives_at(s, load, at))
      return false;
   tl_map_put(&s->seen, load, load);
   uint32_t before = blocks_of(s);
   move(s, load);
   if (blocks_of(s) >= before)
      return true;
   move_back(s);
   return false;
}

/* Where more words live than there are registers; NULL: nowhere, or in a loop. */
static const TlOp *
find_short(const Stage *s)
{
   TlArena *scratch = s->cx->scratch;
   const TlOp *at = NULL;
   uint32_t words = tl_pressure(scratch, s->func, tl_kept_words_of_all(scratch, s->func), &at);
   bool is_short = words + words / 4 > tl_registers_at_start(s->cx->target, s->func);
   return is_short && at && !tl_is_of_loop(at) ? at : NULL;
}

static bool
stage_one(Stage *s, const TlOp *at)
{
   for (TlOp *op = at ? at->block->first : NULL; op && op != at; op = op->next)
      if (op->opcode == TL_OP_LOAD && !tl_map_has(&s->seen, op) && stage(s, op, at))
         return true;
   return false;
}

bool
tl_pass_stage_loads(TlPassCx *cx, TlFunc *f)
{
   assert(f->state == TL_STATE_LAID);
   Stage s = {.cx = cx, .func = f};
   bool changed = false;
   tl_map_init(&s.seen, cx->scratch);
   while (!f->extra_warps && stage_one(&s, find_short(&s)))
      changed = true;
   return changed;
}
