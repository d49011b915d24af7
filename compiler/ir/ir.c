/* Operation and attribute tables, and the structure that they describe: functions, blocks, values,
 * use lists, editing, cloning and dominance.
 * Invariant: a TlUse is in exactly the use list of its value, and `link` names the pointer that
 * leads to it; every function here that moves a TlUse re-links it. */
#include "ir/ir.h"
#include "ir/walk.h"

#include <assert.h>
#include <string.h>

/* One struct for each operation with a char for each attribute after a leading one: sizeof counts
 * the attributes, offsetof gives their positions, so the rows of ops.def stay the only list. */
struct attrs_begin_ {
   char base;
#define TL_OP(id, ...)                                                                             \
   }                                                                                               \
   ;                                                                                               \
   struct attrs_##id {                                                                             \
      char base;
#define TL_OP_ATTR(id, key, initial) char at_##key;
#include "ir/ops.def"
};

/* The words of ops.def; enumerators, as attributes are called END or PURE, too. */
enum {
   ANY = TL_ANY,
   READS_SHARED = TL_TRAIT_READ | TL_TRAIT_READS_SHARED,
   WRITES_SHARED = TL_TRAIT_WRITE | TL_TRAIT_WRITES_SHARED,
   ALL_STATES = TL_TRAIT_TYPED | TL_TRAIT_LAID | TL_TRAIT_LOWERED,
#define X(id) id = TL_TRAIT_##id,
   TL_TRAITS(X)
#undef X
};
#define PRED(i)     ((i)*TL_TRAIT_PRED)
#define MIN_A(min, max) min
#define MAX_A(min, max) max

const TlOpInfo tl_op_info[TL_OP_COUNT] = {
#define TL_OP(id, name, args_, n, infer, layout, eval, fold, exec, lower, emit, how_, model,       \
              traits_, doc)                                                                        \
   [TL_OP_##id].text = #name, [TL_OP_##id].min_args = MIN_##args_,                                 \
   [TL_OP_##id].max_args = MAX_##args_, [TL_OP_##id].num_results = n,                              \
   [TL_OP_##id].traits = traits_, [TL_OP_##id].how = how_,                                         \
   [TL_OP_##id].num_attrs = sizeof(struct attrs_##id) - 1,
#define TL_OP_ATTR(id, key_, initial_)                                                             \
   [TL_OP_##id].attr[offsetof(struct attrs_##id, at_##key_) - 1] = {TL_ATTR_##key_, initial_},
#include "ir/ops.def"
};

enum { CHANGED, ALWAYS };
const TlAttrInfo tl_attr_info[TL_ATTR_COUNT] = {
#define TL_ATTR_KEY(id, text, kind, shown, doc) [TL_ATTR_##id] = {text, TL_AK_##kind, shown},
#include "ir/attrs.def"
};

static const TlAttrField fields[] = {
#define TL_ATTR_FIELD(kind, field, shown, initial, doc) {TL_AK_##kind, #field, shown, initial},
#include "ir/attrs.def"
};

const TlAttrField *
tl_attr_fields(TlAttrKind kind, unsigned *num)
{
   const TlAttrField *first = NULL;
   *num = 0;
   for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
      if (fields[i].kind == kind) {
         first = first ? first : &fields[i];
         ++*num;
      }
   return first;
}

bool
tl_attr_is_ints(TlAttrKind kind)
{
   unsigned num_fields;
   return kind == TL_AK_INTS || tl_attr_fields(kind, &num_fields);
}

TlAttr
tl_attr_default(TlAttrKey key, int64_t initial)
{
   TlAttrKind kind = tl_attr_info[key].kind;
   if (kind == TL_AK_STR || kind == TL_AK_LAYOUT || tl_attr_is_ints(kind))
      return (TlAttr){.s = NULL};
   return (TlAttr){.i = initial};
}

static const struct {
   TlAttrKind kind;
   const char *text;
} words[] = {
#define TL_ATTR_WORD(kind, id, text) {TL_AK_##kind, text},
#include "ir/attrs.def"
};
enum { NUM_WORDS = sizeof words / sizeof words[0] };

const char *
tl_attr_word(TlAttrKind kind, int64_t value)
{
   unsigned first = 0;
   while (first < NUM_WORDS && words[first].kind != kind)
      first++;
   if (value < 0 || value >= (int64_t)(NUM_WORDS - first))
      return NULL;
   unsigned at = first + (unsigned)value;
   return words[at].kind == kind ? words[at].text : NULL;
}

const char *
tl_source_name(const TlOp *op)
{
   static const char *const atomics[] = {[TL_RMW_ADD] = "atomic_add",  [TL_RMW_AND] = "atomic_and",
                                         [TL_RMW_OR] = "atomic_or",    [TL_RMW_XOR] = "atomic_xor",
                                         [TL_RMW_MAX] = "atomic_max",  [TL_RMW_MIN] = "atomic_min",
                                         [TL_RMW_XCHG] = "atomic_xchg"};
   switch (op->opcode) {
   case TL_OP_ATOMIC_RMW:
   case TL_OP_ATOM_RMW:
      return atomics[tl_attr_int(op, TL_ATTR_RMW)];
   case TL_OP_ATOMIC_CAS:
   case TL_OP_ATOM_CAS:
      return "atomic_cas";
   case TL_OP_LD_GLOBAL:
   case TL_OP_CP_ASYNC:
      return "load";
   case TL_OP_ST_GLOBAL:
      return "store";
   default:
      return tl_info(op)->text;
   }
}

bool
tl_attr_word_value(TlAttrKind kind, const char *word, size_t len, int64_t *value)
{
   int64_t n = 0;
   for (unsigned i = 0; i < NUM_WORDS; i++) {
      if (words[i].kind != kind)
         continue;
      if (strlen(words[i].text) == len && memcmp(words[i].text, word, len) == 0) {
         *value = n;
         return true;
      }
      n++;
   }
   return false;
}

/* ---- modules, functions, blocks ---- */
TlModule *
tl_module_new(TlArena *arena, TlTypes *types, TlStrings *strings, TlDiags *diags)
{
   assert(types && strings && diags);
   TlModule *m = tl_new(arena, TlModule);
   m->arena = arena;
   m->types = types;
   m->strings = strings;
   m->diags = diags;
   return m;
}

TlRegion *
tl_region_new(TlFunc *f, TlOp *parent)
{
   TlArena *arena = f->module->arena;
   TlRegion *r = tl_new(arena, TlRegion);
   r->parent = parent;
   r->func = f;
   r->block = tl_new(arena, TlBlock);
   r->block->region = r;
   return r;
}

TlFunc *
tl_func_new(TlModule *m, const char *name, TlRange range)
{
   TlFunc *f = tl_new(m->arena, TlFunc);
   f->module = m;
   f->name = tl_intern_cstr(m->strings, name);
   f->num_warps = 4;
   f->num_stages = 3;
   f->num_ctas = 1;
   f->range = range;
   f->body = tl_region_new(f, NULL);
   assert(!m->first_func == !m->last_func && (!m->last_func || !m->last_func->next));
   *(m->last_func ? &m->last_func->next : &m->first_func) = f;
   f->prev = m->last_func;
   m->last_func = f;
   return f;
}

void
tl_func_remove_last(TlModule *m)
{
   TlFunc *f = m->last_func;
   assert(f && !f->next);
   m->last_func = f->prev;
   *(f->prev ? &f->prev->next : &m->first_func) = NULL;
   f->prev = NULL;
}

TlValue *
tl_block_add_arg(TlBlock *block, const TlType *type, const char *name)
{
   assert(type);
   TlFunc *f = block->region->func;
   TlArena *arena = f->module->arena;
   if (block->num_args == block->cap_args) {
      uint32_t cap = block->cap_args ? block->cap_args * 2 : 4;
      TlValue **args = tl_new_array(arena, TlValue *, cap);
      if (block->num_args)
         memcpy(args, block->args, block->num_args * sizeof args[0]);
      block->args = args;
      block->cap_args = cap;
   }
   TlValue *v = tl_new(arena, TlValue);
   v->type = type;
   v->block = block;
   v->index = block->num_args;
   v->id = f->next_value_id++;
   v->name = name;
   block->args[block->num_args++] = v;
   return v;
}

void
tl_block_remove_arg(TlBlock *block, unsigned i)
{
   assert(i < block->num_args && !block->args[i]->uses);
   for (unsigned k = i + 1; k < block->num_args; k++) {
      block->args[k - 1] = block->args[k];
      block->args[k - 1]->index = k - 1;
   }
   block->num_args--;
}

TlFunc *
tl_op_func(const TlOp *op)
{
   return op->block->region->func;
}

TlBlock *
tl_value_block(const TlValue *v)
{
   return v->def ? v->def->block : v->block;
}

/* ---- attributes ---- */
unsigned
tl_attr_at(TlOpcode opcode, TlAttrKey key)
{
   const TlOpInfo *info = &tl_op_info[opcode];
   for (unsigned i = 0; i < info->num_attrs; i++)
      if (info->attr[i].key == key)
         return i;
   assert(false && "the operation has no such attribute");
   return 0;
}

bool
tl_has_attr(const TlOp *op, TlAttrKey key)
{
   const TlOpInfo *info = tl_info(op);
   for (unsigned i = 0; i < info->num_attrs; i++)
      if (info->attr[i].key == key)
         return true;
   return false;
}

TlAttr *
tl_attr(TlOp *op, TlAttrKey key)
{
   return &op->attrs[tl_attr_at(op->opcode, key)];
}

int64_t
tl_attr_int(const TlOp *op, TlAttrKey key)
{
   return op->attrs[tl_attr_at(op->opcode, key)].i;
}

uint64_t
tl_attr_bits(const TlOp *op, TlAttrKey key)
{
   return op->attrs[tl_attr_at(op->opcode, key)].bits;
}

const char *
tl_attr_str(const TlOp *op, TlAttrKey key)
{
   return op->attrs[tl_attr_at(op->opcode, key)].s;
}

TlInts
tl_attr_ints(const TlOp *op, TlAttrKey key)
{
   const TlInts *ints = op->attrs[tl_attr_at(op->opcode, key)].ints;
   return ints ? *ints : (TlInts){NULL, 0};
}

/* Fills a record; leaves it as it is when the attribute is absent. */
static bool
take_record(TlInts ints, void *record, size_t size)
{
   assert(!ints.len || ints.len * sizeof ints.data[0] == size);
   if (ints.len)
      memcpy(record, ints.data, size);
   return ints.len > 0;
}

static bool
get_record(const TlOp *op, TlAttrKey key, void *record, size_t size)
{
   return take_record(tl_attr_ints(op, key), record, size);
}

bool
tl_attr_extent(const TlOp *op, TlExtent *out)
{
   return get_record(op, TL_ATTR_EXTENT, out, sizeof *out);
}

const TlInts *
tl_extent_ints(TlArena *arena, TlExtent extent)
{
   return tl_ints(arena, (const int64_t *)&extent, sizeof extent / sizeof(int64_t));
}

TlReps
tl_reps_of(TlInts ints)
{
   TlReps reps = {.m = 1, .n = 1, .k = 1};
   take_record(ints, &reps, sizeof reps);
   return reps;
}

TlReps
tl_attr_reps(const TlOp *op)
{
   return tl_reps_of(tl_attr_ints(op, TL_ATTR_REPS));
}

const TlInts *
tl_reps_ints(TlArena *arena, TlReps reps)
{
   return tl_ints(arena, (const int64_t *)&reps, sizeof reps / sizeof(int64_t));
}

bool
tl_wgmma_is_shared(const TlOp *op, unsigned operand)
{
   assert(op->opcode == TL_OP_WGMMA && operand < 2);
   return tl_arg(op, operand)->type->kind == TL_TYPE_SCALAR;
}

TlDesc
tl_wgmma_desc(const TlOp *op, unsigned operand)
{
   TlDesc desc = {0};
   assert(tl_wgmma_is_shared(op, operand));
   get_record(op, operand == 0 ? TL_ATTR_A_DESC : TL_ATTR_B_DESC, &desc, sizeof desc);
   return desc;
}

TlExtent
tl_wgmma_extent(const TlOp *op, unsigned operand)
{
   TlExtent extent = {.end = INT32_MAX};
   assert(tl_wgmma_is_shared(op, operand));
   get_record(op, operand == 0 ? TL_ATTR_A_EXTENT : TL_ATTR_B_EXTENT, &extent, sizeof extent);
   return extent;
}

const TlInts *
tl_desc_ints(TlArena *arena, TlDesc desc)
{
   return tl_ints(arena, (const int64_t *)&desc, sizeof desc / sizeof(int64_t));
}

const TlInts *
tl_ints(TlArena *arena, const int64_t *data, size_t len)
{
   assert(data || !len);
   TlInts *ints = tl_new(arena, TlInts);
   int64_t *copy = tl_new_array(arena, int64_t, len);
   if (len)
      memcpy(copy, data, len * sizeof data[0]);
   *ints = (TlInts){copy, len};
   return ints;
}

/* ---- uses ---- */
static void
use_link(TlUse *use, TlOp *user, TlValue *v)
{
   use->user = user;
   use->value = v;
   use->next = v->uses;
   use->link = &v->uses;
   if (v->uses)
      v->uses->link = &use->next;
   v->uses = use;
}

static void
use_unlink(TlUse *use)
{
   if (!use->value)
      return;
   *use->link = use->next;
   if (use->next)
      use->next->link = use->link;
   use->value = NULL;
}

/* The use moves from one place in memory to another; its list stays in order. */
static void
use_move(TlUse *to, TlUse *from)
{
   *to = *from;
   if (!to->value)
      return;
   *to->link = to;
   if (to->next)
      to->next->link = &to->next;
   from->value = NULL;
}

void
tl_set_arg(TlOp *op, unsigned i, TlValue *v)
{
   assert(i < op->num_args);
   use_unlink(&op->args[i]);
   use_link(&op->args[i], op, v);
}

void
tl_append_arg(TlOp *op, TlValue *v)
{
   assert(op->block && v);
   TlUse *args = tl_new_array(tl_op_func(op)->module->arena, TlUse, op->num_args + 1);
   for (unsigned i = 0; i < op->num_args; i++)
      use_move(&args[i], &op->args[i]);
   op->args = args;
   use_link(&op->args[op->num_args++], op, v);
}

void
tl_remove_arg(TlOp *op, unsigned i)
{
   assert(i < op->num_args);
   use_unlink(&op->args[i]);
   for (unsigned k = i + 1; k < op->num_args; k++)
      use_move(&op->args[k - 1], &op->args[k]);
   op->num_args--;
}

void
tl_replace_uses(TlValue *old, TlValue *with)
{
   assert(old != with);
   while (old->uses) {
      TlUse *use = old->uses;
      TlOp *user = use->user;
      use_unlink(use);
      use_link(use, user, with);
   }
}

bool
tl_is_unused(const TlOp *op)
{
   for (unsigned i = 0; i < op->num_results; i++)
      if (op->results[i].uses)
         return false;
   return true;
}

/* ---- the list of a block's operations ---- */
void
tl_op_link(TlOp *op, TlBlock *block, TlOp *before)
{
   assert(!op->block && "linked once");
   assert(!before || before->block == block);
   op->block = block;
   op->next = before;
   op->prev = before ? before->prev : block->last;
   *(op->prev ? &op->prev->next : &block->first) = op;
   *(before ? &before->prev : &block->last) = op;
}

static void
op_unlink(TlOp *op)
{
   assert(op->block);
   TlBlock *block = op->block;
   *(op->prev ? &op->prev->next : &block->first) = op->next;
   *(op->next ? &op->next->prev : &block->last) = op->prev;
   op->prev = op->next = NULL;
   op->block = NULL;
}

static void
drop_uses(TlOp *op)
{
   for (unsigned i = 0; i < op->num_args; i++)
      use_unlink(&op->args[i]);
   for (unsigned r = 0; r < op->num_regions; r++)
      for (TlOp *inner = op->regions[r]->block->last; inner; inner = inner->prev)
         drop_uses(inner);
}

void
tl_remove(TlOp *op)
{
   assert(tl_is_unused(op));
   drop_uses(op);
   op_unlink(op);
}

void
tl_remove_poisoned(TlOp *op)
{
   TlBuilder b = tl_builder_before(op);
   for (unsigned i = 0; i < op->num_results; i++)
      if (op->results[i].uses)
         tl_replace_uses(&op->results[i], tl_b0(&b, TL_OP_POISON, op->results[i].type));
   tl_remove(op);
}

void
tl_move_before(TlOp *op, TlOp *where)
{
   assert(op != where && op->block && where->block);
   if (op == where)
      return;
   op_unlink(op);
   tl_op_link(op, where->block, where);
}

void
tl_move_to_end(TlOp *op, TlBlock *block)
{
   assert(op->block && block);
   op_unlink(op);
   tl_op_link(op, block, NULL);
}

/* ---- dominance of structured code ---- */
/* True when a comes before b in their common block: searched from a both ways at once. */
static bool
comes_before(const TlOp *a, const TlOp *b)
{
   if (a == b)
      return false;
   const TlOp *back = a->prev, *forward = a->next;
   while (back || forward) {
      if (back == b)
         return false;
      if (forward == b)
         return true;
      back = back ? back->prev : NULL;
      forward = forward ? forward->next : NULL;
   }
   return false;
}

bool
tl_value_dominates(const TlValue *v, const TlOp *at)
{
   const TlBlock *home = tl_value_block(v);
   while (at && at->block != home)
      at = tl_parent(at);
   if (!at)
      return false;
   return !v->def || comes_before(v->def, at);
}

/* ---- effects ---- */
bool
tl_op_is_pure(const TlOp *op)
{
   uint32_t traits = tl_info(op)->traits;
   if (tl_has_attr(op, TL_ATTR_PURE) && !(traits & TL_TRAIT_PURE))
      return tl_attr_int(op, TL_ATTR_PURE) != 0;
   uint32_t effects = TL_TRAIT_READ | TL_TRAIT_WRITE | TL_TRAIT_SYNC | TL_TRAIT_TERM;
   if ((traits & effects) || !(traits & (TL_TRAIT_PURE | TL_TRAIT_CONTROL)))
      return false;
   if (op->opcode == TL_OP_WHILE) /* may not end */
      return false;
   for (unsigned r = 0; r < op->num_regions; r++)
      for (const TlOp *inner = op->regions[r]->block->first; inner; inner = inner->next)
         if (!tl_has_trait(inner, TL_TRAIT_TERM) && !tl_op_is_pure(inner))
            return false;
   return true;
}

/* ---- cloning ---- */
static TlValue *
mapped(const TlMap *map, TlValue *v)
{
   TlValue *to = map ? tl_map_get(map, v) : NULL;
   return to ? to : v;
}

static void
clone_region(TlBuilder *b, const TlRegion *from, TlRegion *to, TlMap *map)
{
   for (unsigned i = 0; i < from->block->num_args; i++) {
      TlValue *arg = from->block->args[i];
      tl_map_put(map, arg, tl_block_add_arg(to->block, arg->type, arg->name));
   }
   TlBuilder inner = tl_builder_at_end(b->func, to->block);
   for (const TlOp *op = from->block->first; op; op = op->next)
      tl_clone_op(&inner, op, map);
}

TlOp *
tl_clone_op(TlBuilder *b, const TlOp *op, TlMap *map)
{
   assert(op->opcode < TL_OP_COUNT);
   TlOp *copy = tl_op_new(b, op->opcode, op->num_args, op->num_results, op->num_regions);
   memcpy(copy->attrs, op->attrs, sizeof copy->attrs);
   copy->range = op->range;
   for (unsigned i = 0; i < op->num_args; i++)
      use_link(&copy->args[i], copy, mapped(map, op->args[i].value));
   for (unsigned i = 0; i < op->num_results; i++) {
      copy->results[i].type = op->results[i].type;
      copy->results[i].name = op->results[i].name;
      if (map)
         tl_map_put(map, &op->results[i], &copy->results[i]);
   }
   TlMap own;
   if (!map && op->num_regions) {
      tl_map_init(&own, b->module->arena);
      map = &own;
   }
   for (unsigned r = 0; r < op->num_regions; r++)
      clone_region(b, op->regions[r], copy->regions[r], map);
   return copy;
}

TlFunc *
tl_func_clone(TlFunc *f)
{
   assert(f->body && f->module);
   TlModule *m = f->module;
   TlFunc *copy = tl_func_new(m, f->name, f->range);
   TlRegion *body = copy->body;
   TlFunc *prev = copy->prev;
   *copy = *f;
   copy->body = body;
   copy->prev = prev;
   copy->next = NULL;
   copy->next_value_id = 0;
   copy->params = tl_new_array(m->arena, TlParam, f->num_params);
   if (f->num_params)
      memcpy(copy->params, f->params, f->num_params * sizeof f->params[0]);
   TlMap map;
   tl_map_init(&map, m->arena);
   TlBuilder b = tl_builder_at_end(copy, body->block);
   clone_region(&b, f->body, body, &map);
   return copy;
}

static const char overflow_in[] = " overflow in ";

const char *
tl_overflow_text(TlArena *arena, TlDtype dtype, TlOpcode opcode)
{
   return tl_arena_printf(arena, "%s%s'%s'", tl_dtype_info[dtype].text, overflow_in,
                          tl_op_info[opcode].text);
}

bool
tl_is_overflow_text(const char *text, TlDtype *out)
{
   size_t len = strcspn(text, " ");
   return tl_dtype_from_text(text, len, out) && tl_starts_with(text + len, overflow_in);
}

/* argmax and argmin keep the pair whose value is greater, or less. */
static TlOpcode
chosen_by(const TlOp *reduce)
{
   const TlBlock *body = reduce->regions[0]->block;
   for (const TlOp *op = body->first; op; op = op->next) {
      bool is_of_values =
         op->num_args == 2 && tl_arg(op, 0) == body->args[0] && tl_arg(op, 1) == body->args[2];
      if (is_of_values && (op->opcode == TL_OP_GT || op->opcode == TL_OP_LT))
         return op->opcode == TL_OP_GT ? TL_OP_MAX : TL_OP_MIN;
   }
   return TL_OP_COUNT;
}

TlOpcode
tl_combined_by(const TlOp *reduce)
{
   if (reduce->num_args == 2)
      return chosen_by(reduce);
   const TlOp *last = reduce->num_args == 1 ? reduce->regions[0]->block->last : NULL;
   const TlOp *op = last && last->opcode == TL_OP_YIELD ? tl_arg(last, 0)->def : NULL;
   bool is_known = op && (op->opcode == TL_OP_ADD || op->opcode == TL_OP_MUL ||
                          op->opcode == TL_OP_MAX || op->opcode == TL_OP_MIN);
   return is_known ? op->opcode : TL_OP_COUNT;
}
