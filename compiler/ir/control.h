/* for, while and if: operands, region arguments and what the regions yield, by name.
 *
 *   for(lower, upper, step, inits..)   region 0 (index, carried..)   yield(values..)
 *   while(inits..)                     region 0 (carried..)          condition(go_on, values..)
 *                                      region 1 (carried..)          yield(values..)
 *   if(condition)                      regions 0 and 1 ()            yield(values..)
 *
 * Number i of the inits, carried arguments, yielded values and results belong together. */
#ifndef TL_IR_CONTROL_H
#define TL_IR_CONTROL_H

#include "ir/ir.h"

static inline bool
tl_is_loop(const TlOp *op)
{
   return op->opcode == TL_OP_FOR || op->opcode == TL_OP_WHILE;
}

/* What a loop repeats: of a while without its condition. */
static inline TlBlock *
tl_loop_body(const TlOp *loop)
{
   return loop->regions[loop->num_regions - 1]->block;
}

/* Stages that copies of a for have: those it asks for, else its function's. */
static inline unsigned
tl_for_stages(const TlOp *loop)
{
   int64_t asked = tl_attr_int(loop, TL_ATTR_NUM_STAGES);
   return asked > 0 ? (unsigned)asked : tl_op_func(loop)->num_stages;
}

/* for, while, if: the regions run zero or more times, and their results are what these yield. */
static inline bool
tl_is_branching(const TlOp *op)
{
   return tl_is_loop(op) || op->opcode == TL_OP_IF;
}

static inline TlValue *
tl_for_lower(const TlOp *loop)
{
   return tl_arg(loop, 0);
}
static inline TlValue *
tl_for_upper(const TlOp *loop)
{
   return tl_arg(loop, 1);
}
static inline TlValue *
tl_for_step(const TlOp *loop)
{
   return tl_arg(loop, 2);
}
static inline TlValue *
tl_for_index(const TlOp *loop)
{
   return loop->regions[0]->block->args[0];
}

/* Where the numbered parts begin: operands, arguments of a region, operands of its end. */
static inline unsigned
tl_first_init(const TlOp *op)
{
   return op->opcode == TL_OP_FOR ? 3 : op->opcode == TL_OP_IF ? 1 : 0;
}
static inline unsigned
tl_first_carried(const TlOp *loop)
{
   return loop->opcode == TL_OP_FOR ? 1 : 0;
}
static inline unsigned
tl_first_yielded(const TlOp *end)
{
   return end->opcode == TL_OP_CONDITION ? 1 : 0;
}

static inline TlValue *
tl_init(const TlOp *loop, unsigned i)
{
   return tl_arg(loop, tl_first_init(loop) + i);
}
static inline void
tl_set_init(TlOp *loop, unsigned i, TlValue *v)
{
   tl_set_arg(loop, tl_first_init(loop) + i, v);
}
static inline TlValue *
tl_carried(const TlBlock *body, unsigned i)
{
   return body->args[tl_first_carried(body->region->parent) + i];
}
static inline TlValue *
tl_yielded(const TlBlock *block, unsigned i)
{
   return tl_arg(block->last, tl_first_yielded(block->last) + i);
}
static inline void
tl_set_yielded(TlBlock *block, unsigned i, TlValue *v)
{
   tl_set_arg(block->last, tl_first_yielded(block->last) + i, v);
}

/* At the end of an operation's region, with the place in the source of what it is built for. */
static inline TlBuilder
tl_builder_inside(TlFunc *f, const TlOp *op, unsigned region, TlRange range)
{
   TlBuilder b = tl_builder_at_end(f, op->regions[region]->block);
   b.range = range;
   return b;
}
/* Ends a region. */
static inline void
tl_build_yield(TlBuilder *b, TlValue *const *values, unsigned num)
{
   tl_build(b, TL_OP_YIELD, values, num, NULL, 0, NULL, 0, 0);
}

/* All values with number i: those that flow in, and the result and arguments that they make. */
typedef struct TlJoin {
   TlValue *in[3], *out[3];
   unsigned num_in, num_out;
} TlJoin;
static inline TlJoin
tl_join(const TlOp *op, unsigned i)
{
   TlJoin j = {.out = {tl_result(op, i)}, .num_out = 1};
   if (tl_is_loop(op))
      j.in[j.num_in++] = tl_init(op, i);
   for (unsigned r = 0; r < op->num_regions; r++) {
      const TlBlock *block = op->regions[r]->block;
      j.in[j.num_in++] = tl_yielded(block, i);
      if (tl_is_loop(op))
         j.out[j.num_out++] = tl_carried(block, i);
   }
   return j;
}

#endif
