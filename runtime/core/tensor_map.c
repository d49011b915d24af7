/* Tensor maps: built by the driver's encoder from a recipe of the record and the launch's values,
 * and kept by those values, since a kernel mostly sees the same few arrays again.  That there is no
 * map for such values is kept as well.
 *
 * A slot is guarded by its turn: odd while a writer is in it.  A reader takes what it read only if
 * the turn was even and is the same afterwards; every word is read with acquire and written with
 * release, so that the second look at the turn cannot come early.  A writer that finds the slot
 * taken leaves it alone. */
#include "core/core.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

int
tl_rt_map_dtype(TilecDtype dtype)
{
   switch (tl_dtype_kind(dtype)) {
   case 'F':
      switch ((int)dtype) {
      case TILEC_FP16:
         return TL_CU_TMAP_F16;
      case TILEC_BF16:
         return TL_CU_TMAP_BF16;
      case TILEC_FP32:
         return TL_CU_TMAP_F32;
      case TILEC_FP64:
         return TL_CU_TMAP_F64;
      }
      return TL_CU_TMAP_U8;
   default:
      switch (tl_dtype_bytes(dtype)) {
      case 2:
         return TL_CU_TMAP_U16;
      case 4:
         return tl_dtype_kind(dtype) == 'I' ? TL_CU_TMAP_I32 : TL_CU_TMAP_U32;
      case 8:
         return tl_dtype_kind(dtype) == 'I' ? TL_CU_TMAP_I64 : TL_CU_TMAP_U64;
      }
      return TL_CU_TMAP_U8;
   }
}

TilecStatus
tl_rt_map_values(TilecRuntime *rt, const TlVariant *v, uint32_t index, const int64_t *names,
                 uint64_t *key)
{
   const TilecHiddenArg *h = &v->info->hidden[index];
   const TlHidden *rules = &v->hidden[index];
   assert(h->kind == TILEC_HIDDEN_TENSOR_MAP && h->rank >= 1 && h->rank <= TILEC_TENSOR_MAP_RANK);
   int64_t value = 0;
   TilecStatus status = tl_rt_eval(rt, v, rules->base, h->base, names, &value);
   key[0] = (uint64_t)value;
   for (uint32_t d = 0; d < TILEC_TENSOR_MAP_RANK; d++) {
      value = 0;
      if (status == TILEC_OK && d < h->rank)
         status = tl_rt_eval(rt, v, rules->dims[d], h->dims[d], names, &value);
      key[1 + d] = (uint64_t)value;
      value = 0;
      if (status == TILEC_OK && d > 0 && d < h->rank)
         status = tl_rt_eval(rt, v, rules->strides[d], h->strides[d], names, &value);
      if (d > 0)
         key[TILEC_TENSOR_MAP_RANK + d] = (uint64_t)value;
   }
   return status;
}

static bool
read_slot(TlTensorMapSlot *slot, const uint64_t *key, TlCuResult *code, TlCuTensorMap *out)
{
   uint64_t turn = atomic_load_explicit(&slot->turn, memory_order_acquire);
   if (!turn || turn % 2)
      return false;
   for (int i = 0; i < TL_RT_MAP_KEY; i++)
      if (atomic_load_explicit(&slot->key[i], memory_order_acquire) != key[i])
         return false;
   *code = atomic_load_explicit(&slot->code, memory_order_acquire);
   for (int i = 0; i < 16; i++)
      out->opaque[i] = atomic_load_explicit(&slot->map[i], memory_order_acquire);
   return atomic_load_explicit(&slot->turn, memory_order_relaxed) == turn;
}

/* Beginning with the slot where it was to be put. */
static bool
recall(TlTensorMapSlot *slots, uint32_t first, const uint64_t *key, TlCuResult *code,
       TlCuTensorMap *out)
{
   bool found = false;
   for (uint32_t i = 0; !found && i < TL_RT_MAP_SLOTS; i++)
      found = read_slot(&slots[(first + i) % TL_RT_MAP_SLOTS], key, code, out);
   return found;
}

/* The next empty one, else the first. */
static TlTensorMapSlot *
slot_for_another(TlTensorMapSlot *slots, uint32_t first)
{
   for (uint32_t i = 0; i < TL_RT_MAP_SLOTS; i++) {
      TlTensorMapSlot *slot = &slots[(first + i) % TL_RT_MAP_SLOTS];
      if (!atomic_load_explicit(&slot->turn, memory_order_relaxed))
         return slot;
   }
   return &slots[first % TL_RT_MAP_SLOTS];
}

static void
remember(TlTensorMapSlot *slot, const uint64_t *key, TlCuResult code, const TlCuTensorMap *map)
{
   uint64_t turn = atomic_load_explicit(&slot->turn, memory_order_relaxed);
   if (turn % 2 || !atomic_compare_exchange_strong(&slot->turn, &turn, turn + 1))
      return;
   for (int i = 0; i < TL_RT_MAP_KEY; i++)
      atomic_store_explicit(&slot->key[i], key[i], memory_order_release);
   atomic_store_explicit(&slot->code, code, memory_order_release);
   for (int i = 0; i < 16; i++)
      atomic_store_explicit(&slot->map[i], map->opaque[i], memory_order_release);
   assert(atomic_load_explicit(&slot->turn, memory_order_relaxed) == turn + 1); /* still ours */
   atomic_store_explicit(&slot->turn, turn + 2, memory_order_release);
}

/* Coordinates have 32 bits and a sign: the dimension that they do not reach the end of, else the
 * rank.  The driver makes maps of twice that, with which copies would begin in the wrong place. */
static uint32_t
too_long_dim(const TilecHiddenArg *h, const uint64_t *dims)
{
   uint32_t d = 0;
   while (d < h->rank && dims[d] <= INT32_MAX)
      d++;
   return d;
}

/* What a miss brings into L2.  Rows of narrow boxes lie apart: 256 bytes for each would be mostly
 * what nobody asked for yet, and attention in fp8 with rows of 32 bytes took 1.3 times as long. */
static int
l2_promotion(const TilecHiddenArg *h)
{
   enum { WIDE = 128 };
   return h->box[0] * tl_dtype_bytes(h->dtype) < WIDE ? TL_CU_TMAP_L2_128B : TL_CU_TMAP_L2_256B;
}

static TlCuResult
encode(TilecRuntime *rt, const TilecHiddenArg *h, const uint64_t *key, TlCuTensorMap *out)
{
   static const uint32_t steps[TILEC_TENSOR_MAP_RANK] = {1, 1, 1, 1, 1};
   const uint64_t *dims = key + 1, *strides = dims + TILEC_TENSOR_MAP_RANK;
   int swizzle = h->swizzle_bytes == 128 ? 3 : h->swizzle_bytes == 64 ? 2 : h->swizzle_bytes == 32;
   assert(rt->cu.tensor_map); /* a driver without it has refused the image */
   *out = (TlCuTensorMap){0};
   return rt->cu.tensor_map(out, tl_rt_map_dtype(h->dtype), h->rank, (void *)(uintptr_t)key[0],
                            dims, strides, h->box, steps, 0, swizzle, l2_promotion(h), h->fill_nan);
}

/* Why there is no map: the length of a dimension, or else what the encoder answered. */
static TilecStatus
explain(TilecRuntime *rt, const TlVariant *v, uint32_t index, const uint64_t *key, TlCuResult code)
{
   const TilecHiddenArg *h = &v->info->hidden[index];
   uint32_t dim = too_long_dim(h, key + 1);
   if (dim < h->rank)
      return tl_rt_fail(rt, TILEC_LIMIT,
                        "kernel '%s': tensor map %u (rank %u, base 0x%" PRIx64 "): dimension %u "
                        "has %" PRIu64 " elements, at most %d are allowed",
                        v->info->name, index, h->rank, key[0], dim, key[1 + dim], INT32_MAX);
   char doing[256];
   snprintf(doing, sizeof doing,
            "kernel '%s': tensor map %u (rank %u, base 0x%" PRIx64 ", rows of %" PRIu64 ")",
            v->info->name, index, h->rank, key[0], key[1]);
   return tl_rt_check(rt, code, doing);
}

TilecStatus
tl_rt_tensor_map(TilecRuntime *rt, const TlVariant *v, uint32_t index, const int64_t *names,
                 bool *refused, TlCuTensorMap *out)
{
   const TilecHiddenArg *h = &v->info->hidden[index];
   uint64_t key[TL_RT_MAP_KEY], hash = 0xcbf29ce484222325u;
   TilecStatus status = tl_rt_map_values(rt, v, index, names, key);
   if (status != TILEC_OK)
      return status;
   for (int i = 0; i < TL_RT_MAP_KEY; i++)
      hash = (hash ^ key[i]) * 0x9e3779b97f4a7c15u;
   assert(v->hidden[index].maps);
   TlTensorMapSlot *slots = v->hidden[index].maps;
   uint32_t first = (uint32_t)(hash >> 60);
   TlCuResult code = TL_CU_INVALID_VALUE;
   if (too_long_dim(h, key + 1) == h->rank && !recall(slots, first, key, &code, out)) {
      code = encode(rt, h, key, out);
      if (code == TL_CU_SUCCESS || code == TL_CU_INVALID_VALUE)
         remember(slot_for_another(slots, first), key, code, out);
   }
   if (code == TL_CU_SUCCESS)
      return TILEC_OK;
   if (code != TL_CU_INVALID_VALUE || !refused)
      return explain(rt, v, index, key, code);
   *refused = true;
   return TILEC_OK;
}
