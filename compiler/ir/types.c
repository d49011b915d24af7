/* Uniqued types and interned layouts.
 * Invariant: a TlTypes never holds two equal types or layouts, so equality is pointer equality;
 * every constructor builds a candidate on the stack and looks it up by hash. */
#include "ir/types.h"

#include "base/map.h"

#include <assert.h>
#include <string.h>

typedef struct TypeNode {
   TlType type;
   struct TypeNode *next; /* same hash */
} TypeNode;

typedef struct LayoutNode {
   TlLinear layout;
   struct LayoutNode *next; /* same hash */
} LayoutNode;

struct TlTypes {
   TlArena *arena;
   TlMap types;                           /* hash -> TypeNode chain */
   TlMap layouts;                         /* hash -> LayoutNode chain */
   const TlType *scalars[TL_DTYPE_COUNT]; /* the hot path */
   const TlType *token;
};

static uint64_t
type_hash(const TlType *t)
{
   uint64_t words[6] = {
      (uint64_t)t->kind | (uint64_t)t->dtype << 8 | (uint64_t)t->is_const << 16 |
         (uint64_t)t->is_in_flight << 17 | (uint64_t)t->rank << 24 | (uint64_t)t->count << 32,
      (uint64_t)(uintptr_t)t->elem,
      (uint64_t)(uintptr_t)t->layout,
   };
   uint64_t h = tl_hash(words, 3 * sizeof words[0], 0);
   return t->rank ? tl_hash(t->shape, t->rank * sizeof t->shape[0], h) : h;
}

static bool
type_equal(const TlType *a, const TlType *b)
{
   return a->kind == b->kind && a->dtype == b->dtype && a->is_const == b->is_const &&
          a->elem == b->elem && a->rank == b->rank && a->count == b->count &&
          a->is_in_flight == b->is_in_flight && a->layout == b->layout &&
          memcmp(a->shape, b->shape, a->rank * sizeof a->shape[0]) == 0;
}

static const TlType *
unique(TlTypes *t, const TlType *candidate)
{
   assert(candidate->rank <= TL_MAX_RANK);
   const void *key = (const void *)(uintptr_t)type_hash(candidate);
   TypeNode *head = tl_map_get(&t->types, key);
   for (TypeNode *n = head; n; n = n->next)
      if (type_equal(&n->type, candidate))
         return &n->type;
   TypeNode *node = tl_new(t->arena, TypeNode);
   node->type = *candidate;
   node->next = head;
   tl_map_put(&t->types, key, node);
   return &node->type;
}

TlTypes *
tl_types_new(TlArena *arena)
{
   TlTypes *t = tl_new(arena, TlTypes);
   t->arena = arena;
   tl_map_init(&t->types, arena);
   tl_map_init(&t->layouts, arena);
   for (unsigned d = 0; d < TL_DTYPE_COUNT; d++)
      t->scalars[d] = unique(t, &(TlType){.kind = TL_TYPE_SCALAR, .dtype = (TlDtype)d});
   t->token = unique(t, &(TlType){.kind = TL_TYPE_TOKEN});
   return t;
}

const TlType *
tl_type_scalar(TlTypes *t, TlDtype dtype)
{
   assert(dtype < TL_DTYPE_COUNT);
   return t->scalars[dtype];
}

const TlType *
tl_type_ptr(TlTypes *t, const TlType *pointee, bool is_const)
{
   assert(pointee->kind == TL_TYPE_SCALAR || pointee->kind == TL_TYPE_PTR);
   return unique(t, &(TlType){.kind = TL_TYPE_PTR, .is_const = is_const, .elem = pointee});
}

const TlLinear *
tl_layout_intern(TlTypes *t, const TlLinear *layout)
{
   assert(tl_ll_is_valid(layout));
   const void *key = (const void *)(uintptr_t)tl_ll_hash(layout);
   LayoutNode *head = tl_map_get(&t->layouts, key);
   for (LayoutNode *n = head; n; n = n->next)
      if (tl_ll_equal(&n->layout, layout))
         return &n->layout;
   LayoutNode *node = tl_new(t->arena, LayoutNode);
   node->layout = *layout;
   node->next = head;
   tl_map_put(&t->layouts, key, node);
   return &node->layout;
}

const TlType *
tl_type_tile(TlTypes *t, const TlType *elem, unsigned rank, const uint32_t *shape,
             const TlLinear *layout)
{
   assert(rank >= 1 && rank <= TL_MAX_RANK);
   assert(elem->kind == TL_TYPE_SCALAR || elem->kind == TL_TYPE_PTR);
   assert(rank >= 1 && rank <= TL_MAX_RANK);
   TlType c = {.kind = TL_TYPE_TILE, .elem = elem, .rank = (uint8_t)rank};
   if (elem->kind == TL_TYPE_SCALAR)
      c.dtype = elem->dtype;
   memcpy(c.shape, shape, rank * sizeof shape[0]);
   if (layout)
      c.layout = tl_layout_intern(t, layout);
   return unique(t, &c);
}

const TlType *
tl_type_regs(TlTypes *t, const TlType *elem, uint32_t count)
{
   assert(count >= 1);
   if (count == 1)
      return elem;
   assert(elem->kind == TL_TYPE_SCALAR || elem->kind == TL_TYPE_PTR);
   TlType c = {.kind = TL_TYPE_REGS, .elem = elem, .count = count};
   if (elem->kind == TL_TYPE_SCALAR)
      c.dtype = elem->dtype;
   return unique(t, &c);
}

const TlType *
tl_type_in_flight(TlTypes *t, const TlType *of, bool is_in_flight)
{
   assert(of->kind == TL_TYPE_REGS || (of->kind == TL_TYPE_TILE && of->layout));
   TlType c = *of;
   c.is_in_flight = is_in_flight;
   return unique(t, &c);
}

const TlType *
tl_type_memdesc(TlTypes *t, TlDtype dtype, unsigned rank, const uint32_t *shape,
                const TlLinear *layout, uint32_t stages)
{
   assert(rank >= 1 && rank <= TL_MAX_RANK && stages >= 1);
   TlType c = {.kind = TL_TYPE_MEMDESC, .dtype = dtype, .rank = (uint8_t)rank, .count = stages};
   memcpy(c.shape, shape, rank * sizeof shape[0]);
   if (layout)
      c.layout = tl_layout_intern(t, layout);
   return unique(t, &c);
}

const TlType *
tl_type_token(TlTypes *t)
{
   return t->token;
}

const TlType *
tl_type_tmap(TlTypes *t, TlDtype dtype, unsigned rank, const uint32_t *box)
{
   assert(rank >= 1 && rank <= TL_TMAP_RANK);
   TlType c = {.kind = TL_TYPE_TMAP, .dtype = dtype, .rank = (uint8_t)rank};
   memcpy(c.shape, box, rank * sizeof box[0]);
   return unique(t, &c);
}

const TlType *
tl_type_with_elem(TlTypes *t, const TlType *like, const TlType *elem)
{
   assert(elem->kind == TL_TYPE_SCALAR || elem->kind == TL_TYPE_PTR);
   if (like->kind == TL_TYPE_TILE)
      return tl_type_tile(t, elem, like->rank, like->shape, like->layout);
   if (like->kind == TL_TYPE_REGS)
      return tl_type_regs(t, elem, like->count);
   return elem;
}

const TlType *
tl_type_with_layout(TlTypes *t, const TlType *tile, const TlLinear *layout)
{
   if (tile->kind == TL_TYPE_MEMDESC)
      return tl_type_memdesc(t, tile->dtype, tile->rank, tile->shape, layout, tile->count);
   if (tile->kind != TL_TYPE_TILE)
      return tile;
   return tl_type_tile(t, tile->elem, tile->rank, tile->shape, layout);
}

uint64_t
tl_type_num_elems(const TlType *t)
{
   if (t->kind == TL_TYPE_REGS)
      return t->count;
   uint64_t n = 1;
   for (unsigned d = 0; d < t->rank; d++)
      n *= t->shape[d];
   return n;
}

bool
tl_type_same_shape(const TlType *a, const TlType *b)
{
   assert(a->rank <= TL_MAX_RANK && b->rank <= TL_MAX_RANK);
   bool a_tile = a->kind == TL_TYPE_TILE, b_tile = b->kind == TL_TYPE_TILE;
   uint32_t a_regs = tl_type_num_regs(a), b_regs = tl_type_num_regs(b);
   return a_tile == b_tile && a_regs == b_regs && a->rank == b->rank &&
          memcmp(a->shape, b->shape, a->rank * sizeof a->shape[0]) == 0;
}

static void
print_shape(const TlType *t, TlSb *out)
{
   for (unsigned d = 0; d < t->rank; d++)
      tl_sb_printf(out, "%s%u", d ? "x" : "", t->shape[d]);
}

static void
print_layout(const TlLinear *layout, const TlMap *names, TlSb *out)
{
   const char *name = names ? tl_map_get(names, layout) : NULL;
   tl_sb_str(out, ", ");
   if (name)
      tl_sb_str(out, name);
   else
      tl_ll_print(layout, out);
}

static void
print(const TlType *t, bool with_layout, const TlMap *names, TlSb *out)
{
   switch (t->kind) {
   case TL_TYPE_SCALAR:
      tl_sb_str(out, tl_dtype_info[t->dtype].text);
      return;
   case TL_TYPE_PTR:
      tl_sb_str(out, t->is_const ? "ptr<const " : "ptr<");
      print(t->elem, false, NULL, out);
      break;
   case TL_TYPE_TILE:
      tl_sb_str(out, t->is_in_flight ? "inflight_tile<" : "tile<");
      print(t->elem, false, NULL, out);
      tl_sb_str(out, ", ");
      print_shape(t, out);
      break;
   case TL_TYPE_REGS:
      tl_sb_str(out, t->is_in_flight ? "inflight<" : "regs<");
      print(t->elem, false, NULL, out);
      tl_sb_printf(out, ", %u", t->count);
      break;
   case TL_TYPE_MEMDESC:
      tl_sb_printf(out, "memdesc<%s, ", tl_dtype_info[t->dtype].text);
      if (t->count != 1)
         tl_sb_printf(out, "%u x ", t->count);
      print_shape(t, out);
      break;
   case TL_TYPE_TOKEN:
      tl_sb_str(out, "token");
      return;
   case TL_TYPE_TMAP:
      tl_sb_printf(out, "tmap<%s, ", tl_dtype_info[t->dtype].text);
      print_shape(t, out);
      break;
   }
   if (t->layout && with_layout)
      print_layout(t->layout, names, out);
   tl_sb_char(out, '>');
}

void
tl_type_print_named(const TlType *t, const TlMap *layout_names, TlSb *out)
{
   print(t, true, layout_names, out);
}

const char *
tl_type_cstr(TlArena *arena, const TlType *t)
{
   TlSb sb;
   tl_sb_init(&sb, arena);
   print(t, false, NULL, &sb);
   return tl_sb_cstr(&sb);
}

int
tl_print_width(uint32_t size)
{
   int width = 0;
   for (uint32_t last = size - 1; last; last /= 10)
      width++;
   return width;
}
