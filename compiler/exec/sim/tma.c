/* Copies and stores of boxes: PTX ISA "cp.async.bulk.tensor", "Tensors", "Swizzling modes".
 *
 * A box lies in shared memory row by row, the last dimension innermost.  A swizzle moves chunks of
 * 16 bytes by bits of the shared address: of 128 bytes a[6:4] ^= a[9:7], of 64 a[5:4] ^= a[8:7], of
 * 32 a[4] ^= a[7].  Elements outside of the tensor are 0 or NaN and count like others; stored they
 * go nowhere.  What is stored is read when the thread begins, and counts as being read until it
 * waits. */
#include "exec/sim/impl.h"

#include <string.h>

enum { CHUNK = 16 };

static const TlType *
map_type(const SimBox *box)
{
   return tl_arg(box->site->op, 1)->type;
}

static const TlOp *
map_op(const SimBox *box)
{
   return tl_arg(box->site->op, 1)->def;
}

uint32_t
sim_box_bytes(const SimBox *box)
{
   const TlType *map = map_type(box);
   uint32_t bytes = tl_dtype_info[map->dtype].bytes;
   for (unsigned d = 0; d < map->rank; d++)
      bytes *= map->shape[d];
   return bytes;
}

static uint32_t
swizzled(uint32_t at, uint32_t swizzle)
{
   uint32_t mask = swizzle ? swizzle - CHUNK : 0; /* of the bits that move */
   return at ^ (at >> 3 & mask);
}

/* What stands for elements outside of the tensor.  The NaN of 16 bits is that of an H200. */
static TlBits
outside(const SimBox *box, TlDtype t)
{
   enum { NAN_OF_16_BITS = 0x7FF7 };
   if (!tl_attr_int(map_op(box), TL_ATTR_FILL_NAN) || !tl_dtype_is_float(t))
      return 0;
   return tl_dtype_info[t].bits == 16
             ? NAN_OF_16_BITS
             : tl_double_to_bits(t, __builtin_nan(""), TL_ROUND_NEAREST_EVEN);
}

/* The address of an element; false outside of the tensor.  What is stored is whole chunks: those
 * that a row's last one has beyond the tensor's end are written as well (seen on an H200). */
static bool
find_element(const SimBox *box, const int64_t *index, bool is_store, uint64_t *address)
{
   const TlType *map = map_type(box);
   int64_t offset = index[map->rank - 1];
   bool is_in = true;
   for (unsigned d = 0; d < map->rank; d++) {
      int64_t per = is_store && d + 1 == map->rank ? CHUNK / tl_dtype_info[map->dtype].bytes : 1;
      is_in &= index[d] >= 0 && index[d] < (box->map[1 + d] + per - 1) / per * per;
   }
   for (unsigned d = 0; d + 1 < map->rank; d++)
      offset += index[d] * box->map[1 + map->rank + d];
   *address = (uint64_t)(box->map[0] + offset * (int64_t)tl_dtype_info[map->dtype].bytes);
   return is_in;
}

/* The bytes of one element, or of what stands for one outside; what goes outside goes nowhere. */
static void
move_element(const SimBox *box, const int64_t *index, SimUse use, uint8_t *data)
{
   TlDtype t = map_type(box)->dtype;
   uint32_t bytes = tl_dtype_info[t].bytes;
   uint64_t address;
   bool is_store = use == SIM_WRITES, is_in = find_element(box, index, is_store, &address);
   if (is_in) {
      uint8_t *p = sim_global(box->t, box->site, address, bytes, use, data);
      memcpy(is_store ? p : data, is_store ? data : p, bytes);
   } else if (!is_store) {
      tl_store_elem(t, data, outside(box, t));
   }
}

typedef void ChunkFn(const SimBox *box, uint32_t at, const uint8_t *data);

/* Loads call fn with the data of a chunk; stores, without it, take them from shared memory. */
static void
each_chunk(const SimBox *box, SimUse use, ChunkFn *fn)
{
   const TlType *map = map_type(box);
   uint32_t bytes = tl_dtype_info[map->dtype].bytes, per = CHUNK / bytes;
   uint32_t chunks = sim_box_bytes(box) / CHUNK;
   uint32_t swizzle = (uint32_t)tl_attr_int(map_op(box), TL_ATTR_SWIZZLE);
   for (uint32_t c = 0; c < chunks; c++) {
      uint8_t data[CHUNK];
      int64_t index[TL_TMAP_RANK];
      uint32_t rest = c * per;
      for (unsigned d = map->rank; d-- > 0; rest /= map->shape[d])
         index[d] = box->coordinate[d] + (int64_t)(rest % map->shape[d]);
      uint32_t at = swizzled(box->at + c * CHUNK, swizzle);
      if (!fn)
         memcpy(data, sim_begin_stored(box->t, box->site, at), CHUNK);
      for (uint32_t e = 0; e < per; e++, index[map->rank - 1]++)
         move_element(box, index, use, data + e * bytes);
      if (fn)
         fn(box, at, data);
   }
}

static void
begin_chunk(const SimBox *box, uint32_t at, const uint8_t *data)
{
   sim_begin_box(box->t, &box->t->block->shared[box->rank], box->site, at, data);
}

static void
land_chunk(const SimBox *box, uint32_t at, const uint8_t *data)
{
   sim_land_box(&box->t->block->shared[box->rank], at, data, box->epoch);
}

void
sim_box_arrives(const SimBox *box)
{
   each_chunk(box, SIM_LANDS, land_chunk);
   if (box->own)
      sim_own_map_landed(box->own);
}

/* What the driver's encoder refuses, an odd address of the box, and a row that does not begin at a
 * chunk: an H200 answers that with "illegal instruction". */
static void
check_box(const SimBox *box)
{
   const TlType *map = map_type(box);
   uint32_t bytes = tl_dtype_info[map->dtype].bytes;
   uint32_t swizzle = (uint32_t)tl_attr_int(map_op(box), TL_ATTR_SWIZZLE);
   uint32_t align = swizzle ? 8 * swizzle : 128; /* the pattern repeats after 8 rows */
   int64_t odd = box->map[0] | (int64_t)box->coordinate[map->rank - 1] * bytes;
   for (unsigned d = 0; d + 1 < map->rank; d++)
      odd |= box->map[1 + map->rank + d] * bytes;
   if (odd % CHUNK || box->at % align)
      sim_fault(box->t, box->site,
                (TlSimFault){.kind = TL_SIM_FAULT_ALIGNMENT,
                             .shared_at = box->at,
                             .shared_bytes = box->at % align ? align : CHUNK});
}

/* Operands 0 and 1 are the address and the map. */
static SimBox
box_of(SimThread *t, const TlHostSite *s, const unsigned char *frame, unsigned coordinates)
{
   SimBox box = {.t = t, .site = s, .rank = t->warp->rank};
   unsigned rank = map_type(&box)->rank;
   const int64_t *words;
   if (tl_value_is(tl_arg(s->op, 1), TL_OP_MAP_WRITE))
      box.own = sim_use_own_map(t, s, frame);
   memcpy(&box.at, frame + s->arg_at[0], sizeof box.at);
   memcpy(&words, frame + s->arg_at[1], sizeof words);
   memcpy(box.map, words, 2 * rank * sizeof box.map[0]);
   for (unsigned d = 0; d < rank; d++)
      memcpy(&box.coordinate[d], frame + s->arg_at[coordinates + d], sizeof box.coordinate[d]);
   check_box(&box);
   return box;
}

void
sim_tma_store(TlHostThread *host, const TlHostSite *s, unsigned char *frame)
{
   enum { PRED = 2, COORDINATES };
   if (!frame[s->arg_at[PRED]])
      return;
   SimBox box = box_of(sim_thread(host), s, frame, COORDINATES);
   each_chunk(&box, SIM_WRITES, NULL);
}

void
sim_tma_stores_wait(TlHostThread *host, const TlHostSite *s, unsigned char *frame)
{
   (void)frame;
   sim_end_stored(sim_thread(host));
   if (tl_attr_int(s->op, TL_ATTR_WRITTEN))
      sim_own_maps_written(sim_thread(host));
}

void
sim_tma_load(TlHostThread *host, const TlHostSite *s, unsigned char *frame)
{
   enum { BARRIER = 2, PRED, COORDINATES };
   uint32_t mbarrier;
   if (!frame[s->arg_at[PRED]])
      return;
   memcpy(&mbarrier, frame + s->arg_at[BARRIER], sizeof mbarrier);
   SimThread *t = sim_thread(host);
   SimBox box = box_of(t, s, frame, COORDINATES);
   bool is_both = tl_attr_int(s->op, TL_ATTR_BOTH);
   for (uint32_t r = 0; r < t->block->cluster; r++) {
      box.rank = is_both ? r : t->warp->rank;
      if (box.rank != r)
         continue;
      sim_reach_block(t, s, r);
      each_chunk(&box, SIM_READS, begin_chunk);
      sim_mbarrier_takes(mbarrier, &box);
   }
}
