/* Shuffles and matrix instructions: what 32 lanes do together. */
#include "exec/sim/impl.h"

#include <assert.h>
#include <string.h>

/* ---- shuffles: PTX ISA "shfl.sync"; c = (32 - width) << 8 | clamp ---- */
static unsigned
source_lane(const SimSite *s, unsigned lane, uint32_t b)
{
   unsigned segment = (32 - s->width) & 31, first = lane & segment, last = first | (31 & ~segment);
   b &= 31;
   unsigned from = lane;
   bool inside = true;
   assert(s->width && s->width <= 32 && (s->width & (s->width - 1)) == 0);
   switch (s->word) {
   case TL_SHFL_UP:
      inside = lane >= first + b;
      from = lane - b;
      break;
   case TL_SHFL_DOWN:
      from = lane + b;
      inside = from <= last;
      break;
   case TL_SHFL_BFLY:
      from = lane ^ b;
      inside = from <= last;
      break;
   default:
      from = first | (b & ~segment);
   }
   return inside ? from & 31 : lane;
}

static uint32_t
lane_operand(const TlHostSite *h, const SimThread *t, uint32_t r)
{
   uint32_t b;
   memcpy(&b, t->frame + h->arg_at[1] + 4 * (size_t)r, 4);
   return b;
}

static void
shuffle(SimWarp *w, const TlHostSite *h)
{
   const SimSite *s = sim_site(h);
   uint32_t es = s->elem_bytes;
   for (unsigned l = 0; l < SIM_WARP; l++) {
      SimThread *t = &w->thread[l];
      unsigned char *to = t->frame + h->result_at[0];
      if (s->num_addresses == 1) {
         unsigned from = source_lane(s, l, lane_operand(h, t, 0));
         memcpy(to, w->thread[from].frame + h->arg_at[0], (size_t)s->count * es);
         continue;
      }
      for (uint32_t r = 0; r < s->count; r++) {
         unsigned from = source_lane(s, l, lane_operand(h, t, r));
         memcpy(to + r * es, w->thread[from].frame + h->arg_at[0] + r * es, es);
      }
   }
   w->thread[0].block->stats.shuffles += s->count * (es > 4 ? es / 4 : 1); /* of 32 bits each */
}

void
sim_shfl(TlHostThread *t, const TlHostSite *h, unsigned char *frame)
{
   sim_together(sim_thread(t), h, frame, shuffle);
}

static void
vote(SimWarp *w, const TlHostSite *h)
{
   unsigned char any = 0;
   for (unsigned l = 0; l < SIM_WARP; l++)
      any |= w->thread[l].frame[h->arg_at[0]] & 1;
   for (unsigned l = 0; l < SIM_WARP; l++)
      w->thread[l].frame[h->result_at[0]] = any;
}

void
sim_vote(TlHostThread *t, const TlHostSite *h, unsigned char *frame)
{
   sim_together(sim_thread(t), h, frame, vote);
}

/* ---- matrix instructions: PTX ISA, "Matrix multiply-accumulate operation using mma" ----
 * With E = 32 / bits elements in a 32-bit register, q = lane / 4, p = lane % 4:
 *    A  register j, element e: row q + 8 (j & 1), column E p + e + 4E (j >> 1)
 *    B  register j, element e: row E p + e + 4E j, column q
 *    C  register i:            row q + 8 (i >> 1), column 2p + (i & 1)
 * m8n8k4 of fp64: A row q column p; B row p column q; C as above with two registers.
 * Products of elements are exact in double; a k step of one instruction is summed in double, from
 * the accumulator, k ascending, and rounded once. */
typedef double Row8 __attribute__((vector_size(64)));

typedef struct MmaKind {
   TlDtype in, b, acc; /* of A, B and C */
   uint8_t m, k;       /* of one instruction; n is 8 */
   uint8_t a_words, b_words, c_regs;
} MmaKind;

static const MmaKind mma_kind[] = {
   [TL_MMA_F16_F32] = {TL_FP16, TL_FP16, TL_FP32, 16, 16, 4, 2, 4},
   [TL_MMA_BF16_F32] = {TL_BF16, TL_BF16, TL_FP32, 16, 16, 4, 2, 4},
   [TL_MMA_F16_F16] = {TL_FP16, TL_FP16, TL_FP16, 16, 16, 4, 2, 4},
   [TL_MMA_TF32_F32] = {TL_FP32, TL_FP32, TL_FP32, 16, 8, 4, 2, 4},
   [TL_MMA_E4M3_F32] = {TL_FP8E4NV, TL_FP8E4NV, TL_FP32, 16, 32, 4, 2, 4},
   [TL_MMA_E5M2_F32] = {TL_FP8E5, TL_FP8E5, TL_FP32, 16, 32, 4, 2, 4},
   [TL_MMA_E4M3_E5M2_F32] = {TL_FP8E4NV, TL_FP8E5, TL_FP32, 16, 32, 4, 2, 4},
   [TL_MMA_E5M2_E4M3_F32] = {TL_FP8E5, TL_FP8E4NV, TL_FP32, 16, 32, 4, 2, 4},
   [TL_MMA_S8_S32] = {TL_I8, TL_I8, TL_I32, 16, 32, 4, 2, 4},
   [TL_MMA_U8_S32] = {TL_U8, TL_U8, TL_I32, 16, 32, 4, 2, 4},
   [TL_MMA_F64] = {TL_FP64, TL_FP64, TL_FP64, 8, 4, 1, 1, 2},
};

static double
half_to_double(uint16_t h)
{
   union {
      uint32_t u;
      float f;
   } x = {(uint32_t)(h & 0x7fff) << 13}, scaled;
   scaled.f = x.f * 0x1p112f; /* exponent bias 127 - 15; exact, subnormals too */
   if ((h & 0x7c00) == 0x7c00)
      scaled.u |= 0x7f800000;
   scaled.u |= (uint32_t)(h & 0x8000) << 16;
   return (double)scaled.f;
}

double
sim_decode(TlDtype t, const unsigned char *p)
{
   union {
      uint32_t u;
      float f;
      uint16_t h;
      double d;
   } x;
   switch (t) {
   case TL_FP16:
      memcpy(&x.h, p, 2);
      return half_to_double(x.h);
   case TL_BF16:
      memcpy(&x.h, p, 2);
      x.u = (uint32_t)x.h << 16;
      return (double)x.f;
   case TL_FP32: /* tf32 operand: the low 13 bits are not looked at */
      memcpy(&x.u, p, 4);
      x.u &= 0xFFFFE000;
      return (double)x.f;
   case TL_FP64:
      memcpy(&x.d, p, 8);
      return x.d;
   case TL_I8:
      return (double)(int8_t)*p;
   case TL_U8:
      return (double)*p;
   default:
      return tl_bits_to_double(t, tl_load_elem(t, p));
   }
}

/* One instruction's accumulators, decoded; fp64 has 8 rows. */
typedef struct Acc {
   Row8 row[16];
} Acc;

static void
accumulators(SimWarp *w, const MmaKind *k, uint32_t at, Acc *acc, bool store)
{
   uint32_t es = tl_dtype_info[k->acc].bytes;
   for (unsigned l = 0; l < SIM_WARP; l++)
      for (unsigned i = 0; i < k->c_regs; i++) {
         double *x = (double *)&acc->row[l / 4 + 8 * (i >> 1)] + (2 * (l % 4) + (i & 1));
         unsigned char *p = w->thread[l].frame + at + i * es;
         union {
            float f;
            int32_t i;
         } v;
         if (k->acc == TL_FP32) {
            if (store) {
               v.f = (float)*x;
               memcpy(p, &v.f, 4);
            } else {
               memcpy(&v.f, p, 4);
               *x = (double)v.f;
            }
         } else if (k->acc == TL_I32) {
            if (store) {
               v.i = (int32_t)(uint32_t)(int64_t)*x; /* wraps */
               memcpy(p, &v.i, 4);
            } else {
               memcpy(&v.i, p, 4);
               *x = (double)v.i;
            }
         } else if (store) {
            tl_store_elem(k->acc, p, tl_double_to_bits(k->acc, *x, TL_ROUND_NEAREST_EVEN));
         } else {
            *x = tl_bits_to_double(k->acc, tl_load_elem(k->acc, p));
         }
      }
}

static void
fragment_a(SimWarp *w, const MmaKind *k, uint32_t at, double a[16][32])
{
   uint32_t es = tl_dtype_info[k->in].bytes, e_count = es < 4 ? 4 / es : 1;
   for (unsigned l = 0; l < SIM_WARP; l++)
      for (unsigned j = 0; j < k->a_words; j++)
         for (unsigned e = 0; e < e_count; e++)
            a[l / 4 + 8 * (j & 1)][e_count * (l % 4) + e + 4 * e_count * (j >> 1)] =
               sim_decode(k->in, w->thread[l].frame + at + (j * e_count + e) * es);
}

static void
fragment_b(SimWarp *w, const MmaKind *k, uint32_t at, Row8 b[32])
{
   uint32_t es = tl_dtype_info[k->in].bytes, e_count = es < 4 ? 4 / es : 1;
   for (unsigned l = 0; l < SIM_WARP; l++)
      for (unsigned j = 0; j < k->b_words; j++)
         for (unsigned e = 0; e < e_count; e++)
            ((double *)&b[e_count * (l % 4) + e + 4 * e_count * j])[l / 4] =
               sim_decode(k->b, w->thread[l].frame + at + (j * e_count + e) * es);
}

/* Rounding after each instruction keeps accumulators in their own type. */
static void
round_acc(const MmaKind *k, Acc *acc)
{
   for (unsigned i = 0; i < k->m; i++)
      for (unsigned j = 0; j < 8; j++) {
         double *x = (double *)&acc->row[i] + j;
         if (k->acc == TL_FP32)
            *x = (double)(float)*x;
         else if (k->acc == TL_FP16)
            *x = tl_bits_to_double(TL_FP16, tl_double_to_bits(TL_FP16, *x, TL_ROUND_NEAREST_EVEN));
         else if (k->acc == TL_I32)
            *x = (double)(int32_t)(uint32_t)(int64_t)*x;
      }
}

size_t
sim_mma_room(const SimSite *s)
{
   size_t rm = (size_t)s->reps.m, rn = (size_t)s->reps.n, rk = (size_t)s->reps.k;
   return rm * rk * sizeof(double[16][32]) + rn * rk * sizeof(Row8[32]);
}

static void
multiply(SimWarp *w, const TlHostSite *h)
{
   const SimSite *s = sim_site(h);
   const MmaKind *k = &mma_kind[s->word];
   uint32_t in = tl_dtype_info[k->in].bytes, words = in < 4 ? 4 : in;
   uint32_t a_bytes = k->a_words * words, b_bytes = k->b_words * words;
   uint32_t c_bytes = k->c_regs * tl_dtype_info[k->acc].bytes;
   uint32_t rm = (uint32_t)s->reps.m, rn = (uint32_t)s->reps.n, rk = (uint32_t)s->reps.k;
   SimBlock *block = w->thread[0].block;
   assert(s->word < (int64_t)(sizeof mma_kind / sizeof mma_kind[0]) && k->k);
   assert(sim_mma_room(s) <= block->launch->kernel->mma_room &&
          (uintptr_t)block->mma_room % 64 == 0);
   double (*a)[16][32] = block->mma_room;
   Row8(*b)[32] = (void *)(a + (size_t)rm * rk);
   for (uint32_t i = 0; i < rm * rk; i++)
      fragment_a(w, k, h->arg_at[0] + i * a_bytes, a[i]);
   for (uint32_t i = 0; i < rn * rk; i++)
      fragment_b(w, k, h->arg_at[1] + i * b_bytes, b[i]);
   for (uint32_t m = 0; m < rm; m++)
      for (uint32_t n = 0; n < rn; n++) {
         Acc acc;
         uint32_t at = (m * rn + n) * c_bytes;
         accumulators(w, k, h->arg_at[2] + at, &acc, false);
         for (uint32_t kk = 0; kk < rk; kk++) {
            const double (*x)[32] = (const double (*)[32])a[m * rk + kk];
            const Row8 *y = b[n * rk + kk];
            for (unsigned i = 0; i < k->m; i++) {
               Row8 sum = acc.row[i];
               for (unsigned j = 0; j < k->k; j++)
                  sum += x[i][j] * y[j];
               acc.row[i] = sum;
            }
            round_acc(k, &acc);
         }
         accumulators(w, k, h->result_at[0] + at, &acc, true);
      }
   block->stats.mmas += (uint64_t)rm * rn * rk;
}

void
sim_mma(TlHostThread *t, const TlHostSite *h, unsigned char *frame)
{
   sim_together(sim_thread(t), h, frame, multiply);
}
