/* wgmma: four warps multiply as a group, reading shared memory through descriptors, and are done
 * when they wait.
 *
 * A warp's part of the product is computed when the warp issues it, from what the hardware would
 * find at the addresses of its descriptors; then the warp waits for the other three.  Until the
 * group is waited for
 *    the bytes it reads count as being read: who writes them races, whatever barriers there are;
 *    its results are handles, NaNs that name the group and the register: whoever computes with
 *    them shows, and a wait that takes a group to be done which is not is a fault.
 * Writes of threads that it reads must have been fenced by them before the barrier (fence_async):
 * that is looked at in shared.c. */
#include "exec/sim/impl.h"

#include <string.h>

enum {
   GROUP_WARPS = 4,
   ROWS = 16, /* of an instruction that a warp has */
   CORE = 16, /* bytes read at a time */
   MAX_COLUMNS = 256,
   MAX_K = 32,
   MAX_REGS = 512, /* of a result */
   HANDLE = 0x7FE00000,
   HANDLE_GROUPS = 1 << 12,
};

typedef struct WgmmaKind {
   TlDtype a, b, acc;
   uint8_t k; /* of one instruction */
} WgmmaKind;

static const WgmmaKind wgmma_kind[] = {
   [TL_MMA_WG_F16_F32] = {TL_FP16, TL_FP16, TL_FP32, 16},
   [TL_MMA_WG_BF16_F32] = {TL_BF16, TL_BF16, TL_FP32, 16},
   [TL_MMA_WG_TF32_F32] = {TL_FP32, TL_FP32, TL_FP32, 8}, /* sim_decode cuts */
   [TL_MMA_WG_E4M3_F32] = {TL_FP8E4NV, TL_FP8E4NV, TL_FP32, 32},
   [TL_MMA_WG_E5M2_F32] = {TL_FP8E5, TL_FP8E5, TL_FP32, 32},
   [TL_MMA_WG_E4M3_E5M2_F32] = {TL_FP8E4NV, TL_FP8E5, TL_FP32, 32},
   [TL_MMA_WG_E5M2_E4M3_F32] = {TL_FP8E5, TL_FP8E4NV, TL_FP32, 32},
   [TL_MMA_WG_S8_S32] = {TL_I8, TL_I8, TL_I32, 32},
   [TL_MMA_WG_U8_S32] = {TL_U8, TL_U8, TL_I32, 32},
};

/* ---- groups in flight ---- */
static uint32_t
handle_of(uint32_t group, uint32_t reg)
{
   return HANDLE | group % HANDLE_GROUPS * MAX_REGS | reg;
}

/* The value in register `reg`, and the group that it waits for (0 = none). */
static uint32_t
resolve(const SimThread *t, uint32_t bits, uint32_t reg, uint32_t *group)
{
   const SimWgmmas *w = &t->wgmmas;
   *group = 0;
   for (uint32_t g = w->issued; g > 0 && g + SIM_WGMMA_GROUPS > w->issued; g--)
      if (bits == handle_of(g, reg)) {
         *group = g;
         return w->value[g % SIM_WGMMA_GROUPS][reg];
      }
   return bits;
}

/* ---- shared memory ---- */
typedef struct Operand {
   SimWarp *warp;
   const TlHostSite *site;
   TlDtype dtype;
   TlDesc desc;
   TlExtent extent;
   uint32_t base;
} Operand;

/* PTX ISA, "Strides" and "Swizzling modes" of wgmma: the byte of element (row, k). */
static uint32_t
address(const Operand *o, uint32_t start, uint32_t row, uint32_t k)
{
   static const uint32_t width_of[] = {0, 128, 64, 32};
   uint32_t es = tl_dtype_info[o->dtype].bytes, w = width_of[o->desc.swizzle & 3];
   uint32_t lbo = (uint32_t)o->desc.leading, sbo = (uint32_t)o->desc.stride, at = start;
   uint32_t r = row * es;
   k *= o->desc.mn_major ? 1 : es;
   if (o->desc.mn_major)
      at += w ? r / w * lbo + k / 8 * sbo + k % 8 * w + r % w
              : r / 16 * sbo + k / 8 * lbo + k % 8 * 16 + r % 16;
   else
      at +=
         w ? row / 8 * sbo + row % 8 * w + k : row / 8 * sbo + k / 16 * lbo + row % 8 * 16 + k % 16;
   return w ? at ^ (at >> 7 & (w / 16 - 1)) << 4 : at;
}

/* rows x k elements of an instruction that starts at `start`, to[row][k]; noted as being read. */
static void
read_operand(const Operand *o, uint32_t start, uint32_t first_row, uint32_t rows, uint32_t num_k,
             double *to)
{
   SimThread *t = &o->warp->thread[0];
   uint32_t es = tl_dtype_info[o->dtype].bytes, run = CORE / es;
   bool along_rows = o->desc.mn_major != 0;
   uint32_t num_row = along_rows ? rows / run : rows, num = along_rows ? num_k : num_k / run;
   uint32_t extent[2] = {(uint32_t)o->extent.begin, (uint32_t)o->extent.end};
   for (uint32_t i = 0; i < num_row; i++)
      for (uint32_t j = 0; j < num; j++) {
         uint32_t row = along_rows ? i * run : i, k = along_rows ? j : j * run;
         uint32_t at = address(o, start, first_row + row, k);
         const uint8_t *p = sim_read_async(t, o->site, at, CORE, extent);
         for (uint32_t e = 0; e < run; e++)
            to[(row + (along_rows ? e : 0)) * MAX_K + k + (along_rows ? 0 : e)] =
               sim_decode(o->dtype, p + e * es);
      }
}

/* ---- one instruction ---- */
typedef struct Issue {
   SimWarp *warp;
   const TlHostSite *site;
   const WgmmaKind *kind;
   Operand a, b;
   bool a_in_registers;
   uint32_t m, n, k, columns;
   const int64_t *a_offset, *b_offset;
   uint32_t group;
   double *room; /* A: ROWS x MAX_K, B: MAX_COLUMNS x MAX_K */
} Issue;

static void
registers_of_a(const Issue *x, uint32_t fragment, double *to)
{
   uint32_t es = tl_dtype_info[x->kind->a].bytes, per = 4 / es;
   uint32_t at = x->site->arg_at[0] + fragment * 16;
   for (unsigned l = 0; l < SIM_WARP; l++)
      for (unsigned j = 0; j < 4; j++)
         for (unsigned e = 0; e < per; e++)
            to[(l / 4 + 8 * (j & 1)) * MAX_K + per * (l % 4) + e + 4 * per * (j >> 1)] =
               sim_decode(x->kind->a, x->warp->thread[l].frame + at + (j * per + e) * es);
}

static double
to_double(TlDtype t, uint32_t bits)
{
   return t == TL_I32 ? (double)(int32_t)bits : tl_bits_to_double(t, bits);
}

static uint32_t
to_bits(TlDtype t, double v)
{
   return t == TL_I32 ? (uint32_t)(int64_t)v
                      : (uint32_t)tl_double_to_bits(t, v, TL_ROUND_NEAREST_EVEN);
}

/* Adds to the results of instruction (m, n), rounded once. */
static void
multiply(const Issue *x, uint32_t m, uint32_t n)
{
   const double *a = x->room, *b = x->room + ROWS * MAX_K;
   uint32_t regs = x->columns / 2;
   for (unsigned l = 0; l < SIM_WARP; l++) {
      uint32_t *value =
         x->warp->thread[l].wgmmas.value[x->group % SIM_WGMMA_GROUPS] + (m * x->n + n) * regs;
      for (uint32_t i = 0; i < regs; i++) {
         uint32_t row = l / 4 + 8 * (i >> 1 & 1), column = 8 * (i >> 2) + 2 * (l % 4) + (i & 1);
         double sum = to_double(x->kind->acc, value[i]);
         for (uint32_t k = 0; k < x->kind->k; k++)
            sum += a[row * MAX_K + k] * b[column * MAX_K + k];
         value[i] = to_bits(x->kind->acc, sum);
      }
   }
}

static void
compute(Issue *x)
{
   uint32_t row = x->warp->index % GROUP_WARPS * ROWS;
   for (uint32_t k = 0; k < x->k; k++)
      for (uint32_t n = 0; n < x->n; n++) {
         read_operand(&x->b, x->b.base + (uint32_t)x->b_offset[n * x->k + k], 0, x->columns,
                      x->kind->k, x->room + ROWS * MAX_K);
         for (uint32_t m = 0; m < x->m; m++) {
            if (x->a_in_registers)
               registers_of_a(x, m * x->k + k, x->room);
            else
               read_operand(&x->a, x->a.base + (uint32_t)x->a_offset[m * x->k + k], row, ROWS,
                            x->kind->k, x->room);
            multiply(x, m, n);
         }
      }
   x->warp->thread[0].block->stats.wgmmas += (uint64_t)x->m * x->n * x->k;
}

/* The address that the lanes agree on. */
static uint32_t
address_of(const SimWarp *w, const TlHostSite *h, unsigned operand)
{
   uint32_t at;
   memcpy(&at, w->thread[0].frame + h->arg_at[operand], 4);
   return at;
}

/* ---- the group of warps ---- */
/* Nothing is ordered by this: the warps only must all come, and to the same place. */
static void
meet_group(SimWarp *w, const TlHostSite *h)
{
   SimBlock *b = w->thread[0].block;
   unsigned id = w->index / GROUP_WARPS;
   SimBarrier *group = &b->wgmma_group[id];
   if (group->arrived == 0)
      group->site = h;
   else if (group->site != h)
      sim_diverged(b->running, h, group->site, (uint32_t)__builtin_ctz(group->arrived) * SIM_WARP);
   group->arrived |= 1u << w->index;
   w->at_barrier = SIM_BARRIERS + (int)id;
   if (__builtin_popcount(group->arrived) < GROUP_WARPS)
      return;
   for (uint32_t m = group->arrived; m; m &= m - 1)
      sim_release(&b->warp[__builtin_ctz(m)]);
   group->arrived = 0;
}

static Operand
shared_operand(SimWarp *w, const TlHostSite *h, unsigned i, TlDtype dtype)
{
   return (Operand){.warp = w,
                    .site = h,
                    .dtype = dtype,
                    .desc = tl_wgmma_desc(h->op, i),
                    .extent = tl_wgmma_extent(h->op, i),
                    .base = address_of(w, h, i)};
}

static void
issue(SimWarp *w, const TlHostSite *h)
{
   const TlOp *op = h->op;
   TlReps reps = tl_attr_reps(op);
   TlInts offsets = tl_attr_ints(op, TL_ATTR_OFFSETS);
   Issue x = {.warp = w, .site = h, .kind = &wgmma_kind[tl_attr_int(op, TL_ATTR_MMA)]};
   SimBlock *block = w->thread[0].block;
   x.a_in_registers = !tl_wgmma_is_shared(op, 0);
   x.m = (uint32_t)reps.m;
   x.n = (uint32_t)reps.n;
   x.k = (uint32_t)reps.k;
   x.columns = (uint32_t)tl_attr_int(op, TL_ATTR_COLUMNS);
   x.a_offset = offsets.data;
   x.b_offset = offsets.data + (x.a_in_registers ? 0 : x.m * x.k);
   if (!x.a_in_registers)
      x.a = shared_operand(w, h, 0, x.kind->a);
   x.b = shared_operand(w, h, 1, x.kind->b);
   x.room = block->mma_room;
   x.group = ++w->thread[0].wgmmas.issued;
   sim_begin_reads(w, x.group);
   uint32_t count = tl_type_num_regs(tl_result(op, 0)->type);
   for (unsigned l = 0; l < SIM_WARP; l++) {
      SimThread *t = &w->thread[l];
      uint32_t *value = t->wgmmas.value[x.group % SIM_WGMMA_GROUPS], from;
      for (uint32_t i = 0; i < count; i++) {
         uint32_t bits = 0, handle = handle_of(x.group, i);
         if (op->num_args > 2)
            memcpy(&bits, t->frame + h->arg_at[2] + 4 * i, 4);
         value[i] = op->num_args > 2 ? resolve(t, bits, i, &from) : 0;
         memcpy(t->frame + h->result_at[0] + 4 * i, &handle, 4);
      }
      t->wgmmas.issued = x.group;
   }
   compute(&x);
   meet_group(w, h);
}

void
sim_wgmma(TlHostThread *host, const TlHostSite *h, unsigned char *frame)
{
   SimThread *t = sim_thread(host);
   for (unsigned g = 0; g < SIM_WGMMA_GROUPS && !t->wgmmas.value[g]; g++)
      t->wgmmas.value[g] = sim_alloc(t, MAX_REGS * sizeof(uint32_t));
   sim_together(t, h, frame, issue);
}

void
sim_wgmma_start(TlHostThread *host, const TlHostSite *h, unsigned char *frame)
{
   (void)host;
   memcpy(frame + h->result_at[0], frame + h->arg_at[0], 4 * (size_t)sim_site(h)->count);
}

/* Results of groups that are done become values; what is still in flight stays a handle. */
static void
collect(SimThread *t, const TlHostSite *h)
{
   for (unsigned i = 0; i < h->op->num_results; i++) {
      const TlType *type = tl_result(h->op, i)->type;
      for (uint32_t r = 0; r < type->count; r++) {
         uint32_t bits, group;
         memcpy(&bits, t->frame + h->arg_at[i] + 4 * r, 4);
         uint32_t value = resolve(t, bits, r, &group);
         if (group > t->wgmmas.done && !type->is_in_flight)
            sim_fault(t, h, (TlSimFault){.kind = TL_SIM_FAULT_WGMMA});
         bits = group > t->wgmmas.done ? bits : value;
         memcpy(t->frame + h->result_at[i] + 4 * r, &bits, 4);
      }
   }
}

static void
wait(SimWarp *w, const TlHostSite *h)
{
   uint32_t keep = (uint32_t)tl_attr_int(h->op, TL_ATTR_NUM);
   uint32_t issued = w->thread[0].wgmmas.issued, done = issued > keep ? issued - keep : 0;
   sim_end_reads(w, done);
   for (unsigned l = 0; l < SIM_WARP; l++) {
      SimThread *t = &w->thread[l];
      if (done > t->wgmmas.done)
         t->wgmmas.done = done;
      collect(t, h);
   }
}

void
sim_wgmma_wait(TlHostThread *t, const TlHostSite *h, unsigned char *frame)
{
   sim_together(sim_thread(t), h, frame, wait);
}

size_t
sim_wgmma_room(void)
{
   return (ROWS + MAX_COLUMNS) * MAX_K * sizeof(double);
}
