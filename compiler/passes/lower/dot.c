/* dot: matrix instructions on register fragments, or multiply-adds on operands in shared memory.
 *
 * The multiply-add form walks K in steps: each thread reads the rows of A and the columns of B that
 * its results need, then does one multiply-add for every result and k.  The loop over K stays a
 * loop. */
#include "passes/dot_layouts.h"
#include "ir/control.h"
#include "passes/lower/impl.h"
#include "layout/cost.h"

#include <assert.h>
#include <string.h>

/* ---- matrix instructions ---- */
bool
tl_is_loaded_by_dot(const TlOp *load)
{
   const TlUse *use = tl_result(load, 0)->uses;
   TlDotForm form;
   if (!use || use->next || use->user->opcode != TL_OP_DOT || use->user->block != load->block)
      return false;
   const TlOp *dot = use->user;
   if (dot->num_args != 3 || tl_arg(dot, 2) == tl_result(load, 0))
      return false;
   for (const TlOp *op = load->next; op != dot; op = op->next)
      if (op->num_regions || tl_has_trait(op, TL_TRAIT_WRITE | TL_TRAIT_SYNC))
         return false;
   return tl_match_mma(dot, &form);
}

/* A part of the product: one step of K of one batch, for a group of rows or columns. */
typedef struct Place {
   unsigned batch, step, group;
} Place;

/* Instructions side by side whose parts of B live at a time. */
enum { GROUP_COLUMNS = 2 };

/* Registers of an operand, and which of their bits number the places. */
typedef struct Fragment {
   TlLinear l;
   uint32_t step_bits, batch_bits, group_bits;
   const TlOp *load; /* a local_load done place by place, or NULL */
   TlValue *all;     /* else every register */
} Fragment;

/* Register bits that move by some bit of `mask`. */
static uint32_t
register_bits(const TlLinear *l, uint32_t mask)
{
   uint32_t bits = 0;
   for (unsigned i = 0; i < l->num[TL_HW_REG]; i++)
      if (l->col[i] & mask)
         bits |= 1u << i;
   return bits;
}

static Fragment
fragment_of(TlLowerCx *cx, const TlOp *op, unsigned index, unsigned instr_k, unsigned group)
{
   const TlValue *v = tl_arg(op, index);
   Fragment f = {.l = tl_layout_of(v->type)};
   unsigned k_dim = index == 0 ? f.l.rank - 1u : f.l.rank - 2u;
   uint32_t steps = tl_axis_mask(&f.l, k_dim) & ~((instr_k - 1) << tl_ll_dim_shift(&f.l, k_dim));
   f.step_bits = register_bits(&f.l, steps);
   f.batch_bits = f.l.rank == 3 ? register_bits(&f.l, tl_axis_mask(&f.l, 0)) : 0;
   if (group) {
      unsigned dim = index == 0 ? f.l.rank - 2u : f.l.rank - 1u;
      uint32_t within = (group - 1) << tl_ll_dim_shift(&f.l, dim);
      f.group_bits = register_bits(&f.l, tl_axis_mask(&f.l, dim) & ~within);
   }
   if (tl_value_is(v, TL_OP_LOCAL_LOAD) && tl_is_loaded_by_dot(v->def))
      f.load = v->def;
   else
      f.all = tl_lower_use(cx, v);
   return f;
}

/* Numbers are consecutive register bits. */
static uint32_t
at_bits(uint32_t bits, unsigned number)
{
   return bits ? number << __builtin_ctz(bits) : 0;
}

static uint32_t
place_bits(const Fragment *f)
{
   return f->step_bits | f->batch_bits | f->group_bits;
}

/* The registers of one place by ordinary loads: it is a constant part of every offset. */
static TlValue *
load_step(TlLowerCx *cx, const Fragment *f, uint32_t want)
{
   const TlType *buffer = tl_arg(f->load, 0)->type;
   unsigned regs = f->l.num[TL_HW_REG], n = 0, es = tl_dtype_info[buffer->dtype].bytes;
   uint32_t fixed = place_bits(f);
   uint32_t col[TL_LL_MAX_IN] = {0}, step = 0;
   bool ok = tl_cost_offset_columns(&f->l, buffer->layout, es, col);
   assert(ok && "a shared arrangement is a bijection");
   (void)ok;
   TlLinear l = f->l;
   for (unsigned i = 0; i < tl_ll_in_bits(&f->l); i++) {
      if (i < regs && (fixed >> i & 1)) {
         step ^= want >> i & 1 ? col[i] : 0;
         continue;
      }
      l.col[n] = f->l.col[i];
      col[n++] = col[i];
   }
   l.num[TL_HW_REG] = (uint8_t)(regs - (unsigned)__builtin_popcount(fixed));
   TlSharedMap map = tl_shared_map_of_columns(cx, &l, col, es);
   assert(step % (map.vec * es) == 0); /* an instruction's K is at least as wide */
   for (unsigned i = 0; i < map.num; i++)
      map.offset[i] ^= step;
   TlSharedRef ref = tl_memdesc_ref(cx, tl_arg(f->load, 0));
   return tl_shared_load(cx, &ref, &map, buffer->dtype);
}

static TlValue *
fragment_at(TlLowerCx *cx, const Fragment *f, Place at)
{
   uint32_t want = at_bits(f->step_bits, at.step) | at_bits(f->batch_bits, at.batch) |
                   at_bits(f->group_bits, at.group);
   uint32_t fixed = place_bits(f), n = 0, total = 1u << f->l.num[TL_HW_REG];
   if (f->load) {
      const TlValue *buffer = tl_arg(f->load, 0);
      TlSharedRef ref = tl_memdesc_ref(cx, buffer);
      TlDtype t = buffer->type->dtype;
      TlValue *v = tl_shared_ldmatrix(cx, &ref, &f->l, buffer->type->layout, t, fixed, want);
      if (v)
         return v;
   }
   if (f->load) /* no matrix loads from this arrangement */
      return load_step(cx, f, want);
   uint32_t *index = tl_new_array(cx->scratch, uint32_t, total);
   for (uint32_t r = 0; r < total; r++)
      if ((r & fixed) == want)
         index[n++] = r;
   return tl_regs_pick(cx, f->all, index, n);
}

static TlValue *
build_mma(TlLowerCx *cx, const TlDotForm *f, TlValue *const args[3], unsigned m, unsigned n)
{
   TlReps reps = {.m = m, .n = n, .k = 1};
   return tl_build_n(&cx->b, TL_OP_MMA, args, 3, args[2]->type,
                     TL_ATTRS_({TL_ATTR_MMA, {.i = f->mma}},
                               {TL_ATTR_REPS, {.ints = tl_reps_ints(cx->arena, reps)}}));
}

static unsigned
at_least_one(uint32_t v)
{
   return v ? v : 1;
}

static TlValue *
cut_tf32(TlLowerCx *cx, TlValue *v)
{
   TlValue *bits = tl_regs_cast(cx, TL_OP_BITCAST, v, TL_I32);
   TlValue *mask = tl_bits_const(cx, bits->type, tl_cut_tf32(UINT32_MAX));
   return tl_regs_cast(cx, TL_OP_BITCAST, tl_op2(cx, TL_OP_AND, bits, mask), TL_FP32);
}

static TlValue *
rounded_part(TlLowerCx *cx, const TlDotSplit *split, TlValue *v)
{
   if (split->is_cut)
      return cut_tf32(cx, v);
   return split->part_type == TL_FP32 ? tl_t1(&cx->b, TL_OP_ROUND_TF32, v->type, v)
                                      : tl_regs_cast(cx, TL_OP_CAST, v, split->part_type);
}

/* The parts of fp32 registers, or the registers as they are. */
static void
split_parts(TlLowerCx *cx, const TlDotSplit *split, TlValue *v, TlValue **part)
{
   part[0] = v;
   for (unsigned i = 0; i < split->parts; i++) {
      part[i] = rounded_part(cx, split, v);
      if (i + 1 < split->parts)
         v = tl_op2(cx, TL_OP_SUB, v, tl_regs_cast(cx, TL_OP_CAST, part[i], TL_FP32));
   }
}

/* Instructions of one warp along M and N. */
static void
count_instrs(const TlDotForm *f, unsigned *m, unsigned *n)
{
   unsigned r = f->tile.rank, instr_m = f->tile.kind == TL_MMA_M8N8_F64 ? 8 : 16;
   *m = at_least_one(f->tile.shape[r - 2] / (instr_m * f->tile.warps[r - 2]));
   *n = at_least_one(f->tile.shape[r - 1] / (8 * f->tile.warps[r - 1]));
}

/* acc += a b, K step by step, so that the fragments of a few steps live at a time; those of the
 * next step are loaded while one is multiplied. */
static TlValue *
mma_steps(TlLowerCx *cx, const TlDotForm *f, const Fragment side[2], Place at, TlValue *acc,
          unsigned steps)
{
   unsigned m, n;
   count_instrs(f, &m, &n);
   TlValue *next[2];
   for (unsigned s = 0; s < steps; s++) {
      TlValue *args[3] = {NULL, NULL, acc};
      for (unsigned i = 0; i < 2; i++) {
         TlValue *now = s ? next[i] : fragment_at(cx, &side[i], at);
         split_parts(cx, f->in.split, now, &args[i]);
      }
      at.step++;
      for (unsigned i = 0; i < 2 && s + 1 < steps; i++)
         next[i] = fragment_at(cx, &side[i], at);
      acc = build_mma(cx, f, args, m, n);
   }
   return acc;
}

/* The same where fp32 is made of several parts: of A those of one row of instructions live at a
 * time, of B those of a group of columns. */
static TlValue *
mma_parts(TlLowerCx *cx, const TlDotForm *f, const Fragment side[2], Place at, TlValue *acc,
          unsigned steps)
{
   const TlDotSplit *split = f->in.split;
   unsigned m, n;
   count_instrs(f, &m, &n);
   unsigned groups = 1u << __builtin_popcount(side[1].group_bits), num = m * groups;
   unsigned share = tl_regs_of(acc->type) / num;
   TlValue **sum = tl_new_array(cx->scratch, TlValue *, num);
   for (unsigned i = 0; i < num; i++)
      sum[i] = tl_regs_slice(cx, acc, i * share, share);
   for (unsigned s = 0; s < steps * groups; s++) {
      TlValue *a[TL_MAX_DOT_PARTS], *b[TL_MAX_DOT_PARTS];
      at.step = s / groups;
      at.group = s % groups;
      split_parts(cx, split, fragment_at(cx, &side[1], at), b);
      for (unsigned i = 0; i < m; i++) {
         TlValue **own = &sum[i * groups + s % groups];
         at.group = i;
         split_parts(cx, split, fragment_at(cx, &side[0], at), a);
         for (unsigned t = 0; t < split->terms; t++) {
            TlValue *args[3] = {a[split->term[t][0]], b[split->term[t][1]], *own};
            *own = build_mma(cx, f, args, 1, n / groups);
         }
      }
   }
   return tl_regs_concat(cx, sum, num);
}

static void
lower_mma(TlLowerCx *cx, TlOp *op, const TlDotForm *f)
{
   unsigned r = f->tile.rank, instr_k = 256 / tl_dot_elem_bits(&f->in);
   unsigned steps = tl_arg(op, 0)->type->shape[r - 1] / instr_k;
   unsigned batches = r == 3 ? at_least_one(f->tile.shape[0] / f->tile.warps[0]) : 1;
   bool in_parts = f->in.split->parts > 1;
   unsigned group[2] = {in_parts ? 16 * f->tile.warps[r - 2] : 0,
                        in_parts ? 8 * f->tile.warps[r - 1] * GROUP_COLUMNS : 0};
   Fragment side[2];
   for (unsigned i = 0; i < 2; i++)
      side[i] = fragment_of(cx, op, i, instr_k, group[i]);
   TlValue *acc = tl_lower_use(cx, tl_arg(op, 2));
   unsigned share = tl_regs_of(acc->type) / batches;
   TlValue **parts = tl_new_array(cx->scratch, TlValue *, batches);
   for (unsigned k = 0; k < batches; k++) {
      TlValue *own = batches > 1 ? tl_regs_slice(cx, acc, k * share, share) : acc;
      Place at = {.batch = k};
      parts[k] = (in_parts ? mma_parts : mma_steps)(cx, f, side, at, own, steps);
   }
   tl_lower_def(cx, tl_result(op, 0), tl_regs_concat(cx, parts, batches));
}

/* ---- multiply-adds ---- */
enum { MOST_CHUNK_REGS = 64, MOST_CHUNK_FMAS = 1024, MOST_STEP_FMAS = 256 };

/* One operand: which of its registers a result register needs, for one k. */
typedef struct Side {
   const TlValue *buffer;
   unsigned index;                 /* 0 A, 1 B */
   TlLinear l;                     /* synthetic: chunk k bits first, then own bits */
   uint32_t col[TL_LL_MAX_IN];     /* byte columns */
   unsigned own_bits;              /* register bits that this operand shares with the result */
   uint32_t own;                   /* which register bits of the result those are */
   uint32_t k_col[TL_LL_MAX_BITS]; /* byte columns of k: k_bytes << i, and what they flip */
   uint32_t k_bytes;               /* byte stride of k */
   TlDtype dtype;
   const TlDotSplit *split;
} Side;

/* Byte offset in the buffer of the element that a result column moves to (its other field gone). */
static uint32_t
operand_offset(const Side *s, const TlLinear *acc, uint32_t image, const TlLinear *memory,
               unsigned es)
{
   unsigned r = acc->rank, gone = s->index == 0 ? r - 1 : r - 2;
   uint32_t mask = ((1u << acc->log2_dim[gone]) - 1) << tl_ll_dim_shift(acc, gone);
   uint32_t word = image & ~mask, out = 0;
   uint64_t inv[TL_LL_MAX_BITS];
   bool ok = tl_ll_invert(memory, inv);
   assert(ok);
   (void)ok;
   for (unsigned d = 0; d < r; d++) {
      if (d == gone)
         continue;
      uint32_t field = word >> tl_ll_dim_shift(acc, d) & ((1u << acc->log2_dim[d]) - 1);
      for (unsigned i = 0; i < acc->log2_dim[d]; i++)
         if (field >> i & 1)
            out ^= (uint32_t)inv[tl_ll_dim_shift(memory, d) + i];
   }
   return out * es;
}

static Side
make_side(const TlOp *op, unsigned index, const TlLinear *acc, unsigned chunk_bits)
{
   Side s = {.buffer = tl_arg(op, index), .index = index};
   const TlType *t = s.buffer->type;
   unsigned r = acc->rank, k_dim = index == 0 ? r - 1 : r - 2, n = 0;
   uint64_t inv[TL_LL_MAX_BITS];
   s.dtype = t->dtype;
   s.split = tl_dot_split(t->dtype, tl_attr_int(op, TL_ATTR_PRECISION));
   unsigned es = tl_dtype_info[s.dtype].bytes;
   tl_ll_invert(t->layout, inv);
   for (unsigned i = 0; i < t->layout->log2_dim[k_dim]; i++)
      s.k_col[i] = (uint32_t)inv[tl_ll_dim_shift(t->layout, k_dim) + i] * es;
   s.k_bytes = s.k_col[0]; /* the first k flip nothing */
   for (unsigned i = 0; i < chunk_bits; i++)
      s.col[n++] = s.k_col[i];
   for (unsigned i = 0; i < acc->num[TL_HW_REG]; i++) {
      uint32_t offset = operand_offset(&s, acc, acc->col[i], t->layout, es);
      if (offset) {
         s.col[n++] = offset;
         s.own |= 1u << i;
         s.own_bits++;
      }
   }
   s.l.rank = 1;
   s.l.num[TL_HW_REG] = (uint8_t)n;
   s.l.num[TL_HW_LANE] = acc->num[TL_HW_LANE];
   s.l.num[TL_HW_WARP] = acc->num[TL_HW_WARP];
   for (unsigned i = acc->num[TL_HW_REG]; i < tl_ll_in_bits(acc); i++)
      s.col[n++] = operand_offset(&s, acc, acc->col[i], t->layout, es);
   return s;
}

static TlDtype
compute_dtype(TlDtype in)
{
   if (tl_dtype_is_int(in))
      return TL_I32;
   return in == TL_FP64 ? TL_FP64 : TL_FP32;
}

/* Adds a run-time k to the place of a chunk: its rows, and what it flips within them.  Each bit of
 * k flips one bit, those of neighbours are neighbours. */
static void
add_k(TlLowerCx *cx, const Side *s, TlValue *k, TlSharedRef *ref)
{
   TlValue *offset = tl_op2(cx, TL_OP_MUL, k, tl_i32(cx, s->k_bytes));
   ref->base = ref->base ? tl_op2(cx, TL_OP_ADD, ref->base, offset) : offset;
   unsigned left = 0;
   for (unsigned i = 0; i < TL_LL_MAX_BITS && s->k_col[i]; i++) {
      uint32_t flipped = s->k_col[i] ^ s->k_bytes << i;
      assert(flipped < s->k_bytes && (flipped & (flipped - 1)) == 0);
      if (flipped)
         left = (unsigned)__builtin_ctz(flipped) - i;
      ref->flipped |= flipped;
   }
   if (ref->flipped)
      ref->flip = tl_op2(cx, TL_OP_AND, tl_op2(cx, TL_OP_SHL, k, tl_i32(cx, left)),
                         tl_i32(cx, ref->flipped));
}

/* A chunk of an operand from k (NULL = 0) + more on, in the dtype of the arithmetic. */
static TlValue *
load_chunk(TlLowerCx *cx, const Side *s, TlValue *k, uint32_t more)
{
   TlSharedRef ref = tl_memdesc_ref(cx, s->buffer);
   uint32_t offset = 0; /* other bits than a chunk's */
   if (k)
      add_k(cx, s, k, &ref);
   for (unsigned i = 0; more >> i; i++)
      offset ^= more >> i & 1 ? s->k_col[i] : 0;
   TlSharedMap map = tl_shared_map_of_columns(cx, &s->l, s->col, tl_dtype_info[s->dtype].bytes);
   for (unsigned i = 0; i < map.num; i++)
      map.offset[i] ^= offset;
   TlValue *v = tl_shared_load(cx, &ref, &map, s->dtype);
   if (s->split->parts == 1) /* of several parts all bits are taken */
      v = rounded_part(cx, s->split, v);
   return tl_regs_cast(cx, TL_OP_CAST, v, compute_dtype(s->dtype));
}

static TlValue *
multiply_add(TlLowerCx *cx, TlValue *a, TlValue *b, TlValue *c)
{
   if (tl_dtype_is_float(tl_type_elem(c->type)->dtype))
      return tl_b3(&cx->b, TL_OP_FMA, a, b, c);
   return tl_op2(cx, TL_OP_ADD, tl_op2(cx, TL_OP_MUL, a, b), c);
}

/* acc += A[:, from .. from + chunk] B[from .. from + chunk, :], from = k + more */
static TlValue *
add_chunk(TlLowerCx *cx, const Side *side, unsigned chunk, TlValue *k, uint32_t more, TlValue *acc)
{
   unsigned n = tl_regs_of(acc->type);
   TlValue *v[2];
   uint32_t *index = tl_new_array(cx->scratch, uint32_t, n);
   for (unsigned i = 0; i < 2; i++)
      v[i] = load_chunk(cx, &side[i], k, more);
   for (uint32_t kk = 0; kk < chunk; kk++) {
      TlValue *x[2];
      for (unsigned i = 0; i < 2; i++) {
         for (uint32_t r = 0; r < n; r++) {
            unsigned at = 0;
            index[r] = kk;
            for (uint32_t own = side[i].own; own; own &= own - 1)
               index[r] |= (r >> __builtin_ctz(own) & 1) * chunk << at++;
         }
         x[i] = tl_regs_pick(cx, v[i], index, n);
      }
      acc = multiply_add(cx, x[0], x[1], acc);
   }
   return acc;
}

static unsigned
chunk_bits_of(const TlOp *op, const TlLinear *acc)
{
   uint32_t k = tl_arg(op, 0)->type->shape[acc->rank - 1];
   Side a = make_side(op, 0, acc, 0), b = make_side(op, 1, acc, 0);
   unsigned regs = 1u << acc->num[TL_HW_REG], bits = 0;
   unsigned per_k = (1u << a.own_bits) + (1u << b.own_bits);
   while (2u << bits <= k && bits < 4 && (per_k << (bits + 1)) <= MOST_CHUNK_REGS &&
          (regs << (bits + 1)) <= MOST_CHUNK_FMAS)
      bits++;
   return bits;
}

static TlValue *
add_chunks(TlLowerCx *cx, const Side *side, unsigned chunk, TlValue *k, uint32_t step, TlValue *acc)
{
   for (uint32_t more = 0; more < step; more += chunk)
      acc = add_chunk(cx, side, chunk, k, more, acc);
   return acc;
}

/* Several chunks a step, so that the loads of one are under way while another is multiplied. */
static TlValue *
loop_over_k(TlLowerCx *cx, const Side *side, uint32_t k, unsigned chunk, TlValue *acc)
{
   uint32_t step = chunk, regs = tl_regs_of(acc->type);
   while (2 * step <= k && 2 * step * regs <= MOST_STEP_FMAS)
      step *= 2;
   if (k == step)
      return add_chunks(cx, side, chunk, NULL, step, acc);
   TlValue *args[4] = {tl_i32(cx, 0), tl_i32(cx, k), tl_i32(cx, step), acc};
   const TlType *types[1] = {acc->type};
   TlOp *loop = tl_build(&cx->b, TL_OP_FOR, args, 4, types, 1, NULL, 0, 1);
   TlBlock *body = loop->regions[0]->block;
   TlBuilder saved = cx->b;
   cx->b.block = body;
   cx->b.before = NULL;
   TlValue *index = tl_block_add_arg(body, args[0]->type, NULL);
   TlValue *carried = tl_block_add_arg(body, acc->type, NULL);
   TlValue *next = add_chunks(cx, side, chunk, index, step, carried);
   tl_build_yield(&cx->b, &next, 1);
   cx->b = saved;
   return tl_result(loop, 0);
}

static void
lower_fma(TlLowerCx *cx, TlOp *op)
{
   TlLinear acc = tl_layout_of(tl_result(op, 0)->type);
   unsigned bits = chunk_bits_of(op, &acc);
   Side side[2] = {make_side(op, 0, &acc, bits), make_side(op, 1, &acc, bits)};
   TlValue *v = tl_lower_use(cx, tl_arg(op, 2));
   TlDtype result = tl_result(op, 0)->type->dtype;
   v = tl_regs_cast(cx, TL_OP_CAST, v, compute_dtype(side[0].dtype));
   v = loop_over_k(cx, side, tl_arg(op, 0)->type->shape[acc.rank - 1], 1u << bits, v);
   tl_lower_def(cx, tl_result(op, 0), tl_regs_cast(cx, TL_OP_CAST, v, result));
}

void
tl_lower_dot(TlLowerCx *cx, TlOp *op)
{
   TlDotForm form;
   TlWgmmaOperand shared[2];
   const TlType *a = tl_arg(op, 0)->type, *b = tl_arg(op, 1)->type;
   if (tl_match_wgmma(op, &form, shared)) {
      tl_lower_wgmma(cx, op, &form, shared);
   } else if (tl_match_mma(op, &form)) {
      lower_mma(cx, op, &form);
   } else if (a->kind == TL_TYPE_MEMDESC && b->kind == TL_TYPE_MEMDESC) {
      lower_fma(cx, op);
   } else {
      tl_report(cx->pass->diags, E0409, op->range);
      tl_fail(cx);
   }
}
