/* See causes.h.  Two coordinates are called rows and columns; columns lie beside each other. */
#include "exec/causes.h"
#include "exec/cause_index.h"
#include "ir/control.h"
#include "ir/walk.h"

#include <stdlib.h>
#include <string.h>

/* ---- what there is ---- */
/* "'x', [20, 100]" */
static const char *
array_text(const TlLaunched *l, unsigned arg)
{
   const TlExecArg *a = &l->args[arg];
   TlSb sb;
   tl_sb_init(&sb, l->arena);
   tl_sb_printf(&sb, "'%s'", l->func->body->block->args[arg]->name);
   for (unsigned d = 0; a->shape && a->shape_rank >= 2 && d < a->shape_rank; d++)
      tl_sb_printf(&sb, "%s%llu", d ? ", " : ", which is [", (unsigned long long)a->shape[d]);
   if (a->shape && a->shape_rank >= 2)
      tl_sb_str(&sb, "],");
   return tl_sb_cstr(&sb);
}

static const char *
name_of(const TlLaunched *l, unsigned arg)
{
   return l->func->body->block->args[arg]->name;
}

/* "'n' = 100", "100" */
static const char *
number_text(const TlLaunched *l, const char *name, int64_t value)
{
   return name ? tl_arena_printf(l->arena, "'%s' = %lld", name, (long long)value)
               : tl_arena_printf(l->arena, "%lld", (long long)value);
}

/* The one constexpr parameter that has the value: 'BLOCK'. */
static const char *
constant_named(const TlLaunched *l, int64_t value)
{
   const char *found = NULL;
   for (uint32_t i = 0; i < l->func->num_params; i++) {
      const TlParam *p = &l->func->params[i];
      if (p->is_runtime || p->type || !p->constant || strtoll(p->constant, NULL, 10) != value)
         continue;
      if (found)
         return NULL;
      found = p->name;
   }
   return found;
}

static int64_t
next_power(int64_t n)
{
   int64_t p = 1;
   while (p < n)
      p *= 2;
   return p;
}

/* ---- one coordinate ---- */
/* How many programs along the axis reach so many elements. */
static int64_t
programs_for(const TlCoord *c, const TlLaunched *l, int64_t num)
{
   int64_t each = c->natural / l->grid[c->axis];
   return each > 0 ? (num + each - 1) / each : num;
}

/* " of 256 elements" */
static const char *
of_elements(const TlLaunched *l, int64_t each)
{
   return each == 1 ? "" : tl_arena_printf(l->arena, " of %lld elements", (long long)each);
}

/* A size of elements was given where that of a buffer is in bytes, maybe; NULL: it was not. */
static const char *
size_in_bytes(const TlLaunched *l, unsigned arg, const char *name, int64_t num)
{
   int64_t bytes = (int64_t)l->args[arg].bytes, count = tl_reach_count(l, arg);
   if (num != bytes || num == count || l->args[arg].shape)
      return NULL;
   return tl_arena_printf(
      l->arena,
      "'%s' is given %lld bytes, which are %lld elements, and '%s' is %lld: "
      "tilec_buffer_new and tilec_ptr count bytes, and %lld elements are %lld bytes; "
      "or pass %s=%lld",
      name_of(l, arg), (long long)bytes, (long long)count, name, (long long)num, (long long)num,
      (long long)(bytes / count * num), name, (long long)count);
}

/* How many programs the coordinate needs, where one has a block of it, a mask ends it and no loop
 * goes on; 0: it is another. */
static int64_t
programs_wanted(const TlLaunched *l, const TlCoord *c)
{
   bool is_block = c->axis >= 0 && c->limit_name && !c->has_rounds && !c->wraps && c->lanes > 0 &&
                   c->natural == c->lanes * (int64_t)l->grid[c->axis];
   return is_block ? (c->limit + c->lanes - 1) / c->lanes : 0;
}

/* "'n' = 1000", of which the programs along the axis have a block each, exactly, of another array;
 * NULL: there is none. */
static const char *
size_of_blocks(TlLaunched *l, unsigned but, int axis)
{
   const TlBlock *top = l->func->body->block;
   for (const TlOp *op = top->first; op; op = tl_walk_next(op, top)) {
      TlReach other;
      if (!tl_has_trait(op, TL_TRAIT_ACCESS) || !tl_reach_of(l, op, &other) || other.arg == but)
         continue;
      for (unsigned i = 0; i < other.num; i++) {
         const TlCoord *c = &other.coord[i];
         if (c->axis == axis && c->lanes > 1 && programs_wanted(l, c) == l->grid[axis])
            return number_text(l, c->limit_name, c->limit);
      }
   }
   return NULL;
}

/* store(out + pid, ..), of an array that is too short. */
static const char *
one_for_each_program(TlLaunched *l, const TlReach *r)
{
   const TlCoord *c = &r->coord[0];
   const char *name = name_of(l, r->arg), *size = size_of_blocks(l, r->arg, c->axis);
   long long count = tl_reach_count(l, r->arg);
   if (size)
      return tl_arena_printf(l->arena,
                             "each of the %u programs has an element of '%s', and a block of %s: "
                             "give '%s', which has %lld, %u elements, one for each program, such "
                             "as cdiv(n, BLOCK)",
                             l->grid[c->axis], name, size, name, count, l->grid[c->axis]);
   return tl_arena_printf(l->arena,
                          "without a mask the %u programs reach %u elements, and '%s' has %lld: "
                          "give '%s' %u elements, one for each program, or, where fewer are "
                          "needed, the grid %lld programs, or a mask, such as i < n",
                          l->grid[c->axis], l->grid[c->axis], name, count, name, l->grid[c->axis],
                          count);
}

/* The integer argument, but for the one of the name, that is as many; NULL: none or several are. */
static const char *
other_of_value(const TlLaunched *l, const char *but, long long count)
{
   const TlBlock *top = l->func->body->block;
   const char *found = NULL;
   for (unsigned i = 0; i < top->num_args && i < l->num_args; i++) {
      const TlValue *v = top->args[i];
      bool is_number = v->type->kind == TL_TYPE_SCALAR && tl_dtype_is_int(v->type->dtype) &&
                       v->name && !l->args[i].is_buffer;
      if (!is_number || strcmp(v->name, but) == 0 ||
          tl_bits_to_int(v->type->dtype, l->args[i].bits) != count)
         continue;
      if (found)
         return NULL;
      found = v->name;
   }
   return found;
}

/* Does the mask's size hold for another array, which has elements for all that it counts there? */
static bool
counts_another(TlLaunched *l, const TlReach *r, const char *size, int64_t limit)
{
   const TlBlock *top = l->func->body->block;
   for (const TlOp *op = top->first; op; op = tl_walk_next(op, top)) {
      TlReach x;
      if (!tl_has_trait(op, TL_TRAIT_ACCESS) || !tl_reach_of(l, op, &x) || x.arg == r->arg)
         continue;
      for (unsigned i = 0; i < x.num; i++) {
         const char *name = x.coord[i].limit_name ? x.coord[i].limit_name : x.coord[i].divided_name;
         if (name && strcmp(name, size) == 0 && tl_reach_count(l, x.arg) >= limit &&
             x.end <= tl_reach_count(l, x.arg))
            return true;
      }
   }
   return false;
}

/* load(x + parts * i): the elements of another array are taken in groups. */
static bool
takes_groups(TlLaunched *l, unsigned but, int64_t parts)
{
   const TlBlock *top = l->func->body->block;
   for (const TlOp *op = top->first; op; op = tl_walk_next(op, top)) {
      TlReach x;
      if (!tl_has_trait(op, TL_TRAIT_ACCESS) || !tl_reach_of(l, op, &x) || x.arg == but)
         continue;
      for (unsigned i = 0; i < x.num; i++)
         if (x.coord[i].step == parts)
            return true;
   }
   return false;
}

/* The length of an array that has `count` elements where another has `limit`: "m", "n // 2". */
static const char *
shorter_length(const TlLaunched *l, const char *size, int64_t limit, int64_t count)
{
   enum { MAX_PARTS = 16 };
   const char *other = other_of_value(l, size, count);
   int64_t parts = count > 0 ? (limit + count - 1) / count : 0;
   if (other || parts < 2 || parts > MAX_PARTS)
      return other;
   if (limit / parts == count)
      return tl_arena_printf(l->arena, "%s // %lld", size, (long long)parts);
   if ((limit + parts - 1) / parts == count)
      return tl_arena_printf(l->arena, "(%s + %lld) // %lld", size, (long long)parts - 1,
                             (long long)parts);
   return NULL;
}

/* store(y + i, .., i < n), where n counts what is loaded and y has fewer. */
static const char *
mask_of_another(TlLaunched *l, const TlReach *r)
{
   const TlCoord *c = &r->coord[0];
   long long count = tl_reach_count(l, r->arg);
   const char *name = name_of(l, r->arg), *size = c->limit_name;
   const char *own = r->op->opcode == TL_OP_STORE && counts_another(l, r, size, c->limit)
                        ? shorter_length(l, size, c->limit, count)
                        : NULL;
   if (!own)
      return NULL;
   int64_t parts = (c->limit + count - 1) / count;
   bool is_likelier = takes_groups(l, r->arg, parts) || other_of_value(l, size, count);
   if (!is_likelier)
      return tl_arena_printf(l->arena,
                             "'%s' is %lld, as other arrays have, and '%s' has %lld elements: give "
                             "an array of %lld, or, where '%s' is to be shorter, end the mask of "
                             "this store at %s in place of %s",
                             size, (long long)c->limit, name, count, (long long)c->limit, name, own,
                             size);
   return tl_arena_printf(l->arena,
                          "'%s' is %lld, as other arrays have, and '%s' has %lld elements: the "
                          "mask of this store is to end at the length of '%s', %s in place of %s; "
                          "where '%s' is to have as many as the others, give an array of %lld",
                          size, (long long)c->limit, name, count, name, own, size, name,
                          (long long)c->limit);
}

static const char *
too_far_alone(TlLaunched *l, const TlReach *r)
{
   const TlCoord *c = &r->coord[0];
   const char *name = name_of(l, r->arg);
   long long count = tl_reach_count(l, r->arg);
   if (c->step != 1 || r->start)
      return NULL;
   const char *bytes =
      c->limit > count && c->limit_name ? size_in_bytes(l, r->arg, c->limit_name, c->limit) : NULL;
   if (bytes)
      return bytes;
   const char *masked = c->limit > count && c->limit_name ? mask_of_another(l, r) : NULL;
   if (masked)
      return masked;
   if (c->limit > count && c->limit_name)
      return tl_arena_printf(l->arena,
                             "'%s' is %lld, and '%s' has %lld elements: give an array of %lld, or "
                             "%s=%lld",
                             c->limit_name, (long long)c->limit, name, count, (long long)c->limit,
                             c->limit_name, count);
   if (c->limit > count)
      return tl_arena_printf(l->arena,
                             "the mask ends at %lld, and '%s' has %lld elements: compare with its "
                             "size, or give an array of %lld",
                             (long long)c->limit, name, count, (long long)c->limit);
   if (c->limit < 0 && c->axis >= 0 && c->lanes > 0 && count % c->lanes == 0 &&
       c->natural == c->lanes * l->grid[c->axis])
      return c->lanes == 1
                ? one_for_each_program(l, r)
                : tl_arena_printf(l->arena,
                                  "without a mask the %u programs%s reach %lld "
                                  "elements, and '%s' has %lld: give the grid %lld "
                                  "programs, or a mask, such as i < n%s",
                                  l->grid[c->axis], of_elements(l, c->lanes), (long long)c->natural,
                                  name, count, count / (long long)c->lanes,
                                  c->natural > 2 * count
                                     ? ""
                                     : tl_arena_printf(l->arena, ", or '%s' %lld elements", name,
                                                       (long long)c->natural));
   return NULL;
}

/* The name of a size that another access has lanes for, as many as the array has elements, where
 * this one has but the program's number: load(w + row) beside load(x + row * cols + c). */
static const char *
size_of_lanes(TlLaunched *l, const TlReach *r)
{
   const TlBlock *top = l->func->body->block;
   for (const TlOp *op = top->first; op; op = tl_walk_next(op, top)) {
      TlReach other;
      if (!tl_has_trait(op, TL_TRAIT_ACCESS) || !tl_reach_of(l, op, &other) || other.arg == r->arg)
         continue;
      for (unsigned i = 0; i < other.num; i++) {
         const TlCoord *c = &other.coord[i];
         if (c->axis < 0 && c->lanes > 1 && c->limit_name && c->step == 1 &&
             c->limit == tl_reach_count(l, r->arg))
            return c->limit_name;
      }
   }
   return NULL;
}

static const char *
left_alone(TlLaunched *l, const TlReach *r)
{
   const TlCoord *c = &r->coord[0];
   const char *name = name_of(l, r->arg);
   long long count = tl_reach_count(l, r->arg);
   if (c->step != 1 || r->start || r->end >= count)
      return NULL;
   if (c->limit >= 0 && c->axis < 0 && c->num == tl_reach_row(l, r->arg))
      return tl_arena_printf(l->arena,
                             "nothing moves the index from row to row: the program's number, or "
                             "the loop's index, times the stride, which is %lld",
                             (long long)c->num);
   bool is_cut = c->limit >= 0 && c->limit < count && c->natural >= c->limit;
   const char *other = is_cut && c->limit_name ? other_of_value(l, c->limit_name, count) : NULL;
   if (other)
      return tl_arena_printf(l->arena,
                             "the mask ends at %s, and '%s' has %lld elements, as many as '%s': "
                             "take it by the index that goes to '%s'",
                             number_text(l, c->limit_name, c->limit), name, count, other, other);
   if (is_cut)
      return tl_arena_printf(l->arena,
                             "nothing gets so far: the mask ends at %s, and '%s' has %lld "
                             "elements%s",
                             number_text(l, c->limit_name, c->limit), name, count,
                             c->limit_name ? tl_arena_printf(l->arena, ": for all of them %s=%lld",
                                                             c->limit_name, count)
                                           : "");
   if (c->axis < 0 || c->natural >= count)
      return NULL;
   if (c->natural < c->lanes * (int64_t)l->grid[c->axis] && !c->has_rounds && !c->wraps)
      return tl_arena_printf(l->arena,
                             "programs overlap: the index moves by %lld from one to the next, "
                             "and each has %lld elements: program_id(%d) * %lld",
                             (long long)((c->natural - c->lanes) / (l->grid[c->axis] - 1)),
                             (long long)c->lanes, c->axis, (long long)c->lanes);
   long long wanted = programs_for(c, l, count), each = c->natural / l->grid[c->axis];
   const char *size = each == 1 && c->lanes == 1 ? size_of_lanes(l, r) : NULL;
   if (size)
      return tl_arena_printf(l->arena,
                             "the index is the program's number, one of %u, and '%s' has an "
                             "element for each of '%s' = %lld: take it by the index that goes to "
                             "'%s'",
                             l->grid[c->axis], name, size, count, size);
   return tl_arena_printf(
      l->arena,
      "nothing gets so far: the grid has %u program%s%s, and %lld elements need "
      "%lld%s",
      l->grid[c->axis], l->grid[c->axis] == 1 ? "" : "s", of_elements(l, each), count, wanted,
      each == 1 ? "" : tl_arena_printf(l->arena, ", cdiv(n, %lld)", each));
}

/* ---- rows and columns ---- */
static const char *
too_many_rows(TlLaunched *l, const TlReach *r, int64_t rows)
{
   const TlCoord *c = &r->coord[0];
   if (c->limit_name && c->num == c->limit)
      return tl_arena_printf(l->arena, "'%s' is %lld, and %s has %lld rows", c->limit_name,
                             (long long)c->limit, array_text(l, r->arg), (long long)rows);
   if (c->axis >= 0 && c->lanes == 1)
      return tl_arena_printf(l->arena,
                             "the grid has %u programs along axis %d, one for each row, and %s has "
                             "%lld rows",
                             l->grid[c->axis], c->axis, array_text(l, r->arg), (long long)rows);
   return tl_arena_printf(l->arena,
                          "the index has rows 0 to %lld, and %s has %lld: a mask, such as row < "
                          "rows, keeps the others out",
                          (long long)c->num - 1, array_text(l, r->arg), (long long)rows);
}

static const char *
other_step_text(TlLaunched *l, const TlReach *r, int64_t row)
{
   const TlCoord *rows = &r->coord[0];
   return tl_arena_printf(l->arena,
                          "the index goes on by %s elements from row to row, and rows of %s are "
                          "%lld elements long",
                          number_text(l, rows->step_name, rows->step), array_text(l, r->arg),
                          (long long)row);
}

/* Of an array whose rows are known. */
static const char *
too_far_in_rows(TlLaunched *l, const TlReach *r, int64_t row)
{
   const TlCoord *rows = &r->coord[0], *columns = &r->coord[1];
   int64_t num = tl_reach_count(l, r->arg) / row;
   if (rows->step != row)
      return other_step_text(l, r, row);
   if (columns->num > row && columns->limit >= 0)
      return tl_arena_printf(l->arena, "the mask lets in %s columns, and rows of %s have %lld",
                             number_text(l, columns->limit_name, columns->limit),
                             array_text(l, r->arg), (long long)row);
   if (columns->num > row)
      return tl_arena_printf(l->arena,
                             "each row of the tile has %lld elements, and rows of %s have %lld: a "
                             "mask, such as column < columns, keeps the others out",
                             (long long)columns->num, array_text(l, r->arg), (long long)row);
   return rows->num > num ? too_many_rows(l, r, num) : NULL;
}

/* Of an array of which the number of elements is known alone. */
static const char *
too_far_in_all(TlLaunched *l, const TlReach *r)
{
   const TlCoord *rows = &r->coord[0], *columns = &r->coord[1];
   long long count = tl_reach_count(l, r->arg);
   if (r->end <= count)
      return NULL;
   return tl_arena_printf(l->arena,
                          "%lld rows, %s elements apart, and %lld elements in each reach %lld "
                          "elements, and '%s' has %lld: are the sizes, the stride and the grid "
                          "those of this array?",
                          (long long)rows->num, number_text(l, rows->step_name, rows->step),
                          (long long)columns->num, (long long)r->end, name_of(l, r->arg), count);
}

/* ---- a last round that has less left than a whole block ---- */
/* The integer argument, of those that v is computed from, that `rounds` blocks of `lanes` cover and
 * do not divide.  NULL: none, or several. */
static const TlValue *
uneven_size(const TlLaunched *l, const TlValue *v, const TlCoord *c, unsigned depth)
{
   enum { MAX_DEPTH = 8 };
   const TlValue *found = NULL;
   if (!v->def && !v->block->region->parent && v->index < l->num_args &&
       v->type->kind == TL_TYPE_SCALAR && tl_dtype_is_int(v->type->dtype)) {
      int64_t n = tl_bits_to_int(v->type->dtype, l->args[v->index].bits);
      return n > 0 && n < c->natural && c->natural - n < c->lanes ? v : NULL;
   }
   for (unsigned i = 0; v->def && depth < MAX_DEPTH && i < v->def->num_args; i++) {
      const TlValue *here = uneven_size(l, tl_arg(v->def, i), c, depth + 1);
      if (here && found && here != found)
         return NULL;
      found = here ? here : found;
   }
   return found;
}

/* for k in range(0, K, BLOCK), or cdiv(K, BLOCK) rounds, without a mask along K. */
static const char *
too_far_in_last_round(TlLaunched *l, const TlReach *r)
{
   for (unsigned i = 0; i < r->num; i++) {
      const TlCoord *c = &r->coord[i];
      uint64_t from, step;
      if (!c->loop || c->limit >= 0 || c->axis >= 0 || c->lanes < 2 || c->natural % c->lanes ||
          c->loop->opcode != TL_OP_FOR || !tl_is_const(tl_for_lower(c->loop), &from) || from ||
          !tl_is_const(tl_for_step(c->loop), &step))
         continue;
      const TlValue *size = uneven_size(l, tl_for_upper(c->loop), c, 0);
      if (!size || !size->name)
         continue;
      long long n = tl_bits_to_int(size->type->dtype, l->args[size->index].bits);
      if (r->end - c->step * (c->natural - n) > tl_reach_count(l, r->arg))
         continue;
      unsigned rank = tl_arg(r->op, 0)->type->rank;
      const char *block = constant_named(l, c->lanes), *index = tl_for_index(c->loop)->name;
      block = block ? block : tl_arena_printf(l->arena, "%lld", (long long)c->lanes);
      index = index ? index : "k";
      return tl_arena_printf(
         l->arena,
         "in the last round of the loop %lld of %lld elements are left, as '%s' is %lld, and no "
         "mask keeps the others out: mask=tl.arange(0, %s)%s < %s - %s%s%s%s",
         n % (long long)c->lanes, (long long)c->lanes, size->name, n, block,
         rank != 2     ? ""
         : c->dim == 0 ? "[:, None]"
                       : "[None, :]",
         size->name, index, step == (uint64_t)c->lanes ? "" : " * ",
         step == (uint64_t)c->lanes ? "" : block, r->op->opcode == TL_OP_LOAD ? ", other=0.0" : "");
   }
   return NULL;
}

/* numpy's strides, which are in bytes: in elements all that is reached is the array, exactly.
 * Dimensions whose elements lie side by side may have none. */
static const char *
strides_in_bytes(TlLaunched *l, const TlReach *r)
{
   const TlType *elem = tl_type_elem(l->func->body->block->args[r->arg]->type)->elem;
   int64_t size = elem->kind == TL_TYPE_SCALAR ? tl_dtype_info[elem->dtype].bytes : 1;
   int64_t end = r->start + 1;
   const TlCoord *first = NULL; /* of those whose stride is an argument */
   TlSb sb;
   tl_sb_init(&sb, l->arena);
   for (unsigned i = 0; i < r->num; i++) {
      const TlCoord *c = &r->coord[i];
      bool is_element = !c->step_name && c->step == 1; /* columns that are written without one */
      if (!is_element && (!c->step_name || c->step % size))
         return NULL;
      end += (c->num - 1) * (is_element ? 1 : c->step / size);
      if (is_element)
         continue;
      tl_sb_printf(&sb, "%s%s=%lld", first ? ", " : "", c->step_name, (long long)(c->step / size));
      first = first ? first : c;
   }
   if (size == 1 || !first || end != tl_reach_count(l, r->arg))
      return NULL;
   return tl_arena_printf(l->arena,
                          "'%s' is %lld, the stride in bytes, as numpy has it; a kernel counts "
                          "elements, here of %lld bytes: %s (.strides // .itemsize)",
                          first->step_name, (long long)first->step, (long long)size,
                          tl_sb_cstr(&sb));
}

/* x + i * 4 of floats: by the factor, which is their size, the index is one of bytes. */
static const char *
index_in_bytes(TlLaunched *l, const TlReach *r)
{
   const TlType *elem = tl_type_elem(l->func->body->block->args[r->arg]->type)->elem;
   int64_t size = elem->kind == TL_TYPE_SCALAR ? tl_dtype_info[elem->dtype].bytes : 1;
   int64_t end = r->start / size + 1;
   for (unsigned i = 0; i < r->num; i++) {
      if (r->coord[i].step % size || (r->coord[i].step == size && r->coord[i].step_name))
         return NULL;
      end += (r->coord[i].num - 1) * (r->coord[i].step / size);
   }
   if (size == 1 || !r->num || r->coord[r->num - 1].step != size || r->start % size ||
       end > tl_reach_count(l, r->arg))
      return NULL;
   return tl_arena_printf(l->arena,
                          "the index goes on by %lld from element to element, the size of %s in "
                          "bytes: a pointer is moved by elements, so leave '* %lld' out",
                          (long long)size, tl_dtype_info[elem->dtype].text, (long long)size);
}

static const char *
too_far(TlLaunched *l, const TlReach *r)
{
   const char *bytes = strides_in_bytes(l, r);
   bytes = bytes ? bytes : index_in_bytes(l, r);
   if (bytes)
      return bytes;
   int64_t row = tl_reach_row(l, r->arg);
   if (r->num == 1)
      return too_far_alone(l, r);
   if (r->num != 2 || r->coord[1].step != 1)
      return NULL;
   const char *text = row ? too_far_in_rows(l, r, row) : NULL;
   return text ? text : too_far_in_all(l, r);
}

/* The lanes of each row end before the mask does, and no loop goes on behind them. */
static bool
is_too_short(const TlCoord *c)
{
   return c->limit > c->natural && c->axis < 0 && !c->has_rounds && c->lanes >= 2;
}

static const char *
longer_block(TlLaunched *l, const TlCoord *c)
{
   const char *block = constant_named(l, c->natural);
   return tl_arena_printf(l->arena, "%s%lld, or loop over what is behind them",
                          block ? tl_arena_printf(l->arena, "give it %s=", block)
                                : "make the tile as long, ",
                          (long long)next_power(c->limit));
}

static const char *
too_short_block(TlLaunched *l, const TlCoord *c)
{
   if (!is_too_short(c))
      return NULL;
   return tl_arena_printf(l->arena, "the tile has %s lanes, and the mask lets in %s: %s",
                          number_text(l, constant_named(l, c->natural), c->natural),
                          number_text(l, c->limit_name, c->limit), longer_block(l, c));
}

static const char *
left_in_rows(TlLaunched *l, const TlReach *r)
{
   const TlCoord *rows = &r->coord[0], *columns = &r->coord[1];
   int64_t row = tl_reach_row(l, r->arg), count = tl_reach_count(l, r->arg);
   const char *text = too_short_block(l, columns);
   if (text)
      return text;
   if (rows->step < columns->num)
      return tl_arena_printf(
         l->arena,
         "rows overlap: the index goes on by %s elements from row to row, and a row has %s",
         number_text(l, rows->step_name, rows->step),
         number_text(l, columns->num == columns->limit ? columns->limit_name : NULL, columns->num));
   if (row && rows->step % row)
      return other_step_text(l, r, row);
   row = row ? row : rows->step;
   if (columns->num < row && columns->limit == columns->num)
      return tl_arena_printf(l->arena, "the mask lets in %s of the %lld elements of each row",
                             number_text(l, columns->limit_name, columns->limit), (long long)row);
   if (rows->num * row >= count)
      return NULL;
   const TlExecArg *a = &l->args[r->arg];
   if (rows->limit >= 0 && a->shape && a->shape_rank > 2 &&
       rows->limit == (int64_t)a->shape[a->shape_rank - 2])
      return tl_arena_printf(l->arena,
                             "nothing moves the index on behind the first %lld rows: the program's "
                             "number, or the loop's index, times the stride, which is %lld",
                             (long long)rows->num, (long long)(rows->num * row));
   if (rows->limit >= 0 && rows->num == rows->limit)
      return tl_arena_printf(l->arena,
                             "nothing gets so far: the mask ends at %s rows, and '%s' has "
                             "%lld",
                             number_text(l, rows->limit_name, rows->limit), name_of(l, r->arg),
                             (long long)(count / row));
   if (rows->axis < 0)
      return NULL;
   return tl_arena_printf(l->arena,
                          "nothing gets so far: the %u programs of axis %d of the grid have %lld "
                          "rows, and '%s' has %lld: %lld programs are needed",
                          l->grid[rows->axis], rows->axis, (long long)rows->natural,
                          name_of(l, r->arg), (long long)(count / row),
                          (long long)programs_for(rows, l, count / row));
}

static const char *
left_out(TlLaunched *l, const TlReach *r)
{
   const char *text = r->num == 1 ? too_short_block(l, &r->coord[0]) : NULL;
   const char *bytes = r->num && r->coord[r->num - 1].lanes > 1 ? index_in_bytes(l, r) : NULL;
   if (bytes)
      return bytes;
   if (r->num == 1)
      return text ? text : left_alone(l, r);
   return r->num == 2 && r->coord[1].step == 1 ? left_in_rows(l, r) : NULL;
}

/* ---- two integers exchanged ---- */
typedef struct Exchange {
   unsigned a, b; /* arguments */
   unsigned arg;  /* an array that they fit when they are exchanged, and not as they are */
} Exchange;

typedef enum Fit {
   NOT_KNOWN,
   NOT_FIT,
   TURNED, /* the array's rows are as many as its columns should be */
   EXACT,
} Fit;

/* An access beside the sizes of its array. */
static Fit
fit_of(TlLaunched *l, const TlReach *r)
{
   int64_t row = tl_reach_row(l, r->arg), count = tl_reach_count(l, r->arg);
   if (r->end > count)
      return NOT_FIT;
   if (!row || !count || r->num != 2 || r->coord[1].step != 1 || r->start)
      return NOT_KNOWN;
   int64_t rows = count / row;
   const TlCoord *a = &r->coord[0], *b = &r->coord[1];
   if (a->step == row && a->num == rows && b->num == row)
      return EXACT;
   if (rows != row && a->step == rows && a->num == row && b->num <= rows)
      return TURNED;
   return a->step == row && a->num <= rows && b->num <= row ? NOT_KNOWN : NOT_FIT;
}

/* Do all accesses fit, and one to `of` (NULL: some array) is exact? */
static bool
all_fit(TlLaunched *l, const TlReach *of)
{
   const TlBlock *top = l->func->body->block;
   bool any = false;
   for (const TlOp *op = top->first; op; op = tl_walk_next(op, top)) {
      TlReach r;
      if (!tl_has_trait(op, TL_TRAIT_ACCESS) || !tl_reach_of(l, op, &r))
         continue;
      Fit fit = fit_of(l, &r);
      if (fit == NOT_FIT || fit == TURNED)
         return false;
      any |= fit == EXACT && (!of || of->arg == r.arg);
   }
   return any;
}

static bool
is_size(const TlLaunched *l, unsigned i)
{
   const TlType *t = l->func->body->block->args[i]->type;
   return !l->args[i].is_buffer && t->kind == TL_TYPE_SCALAR && tl_dtype_is_int(t->dtype) &&
          tl_bits_to_int(t->dtype, l->args[i].bits) > 1;
}

/* The one pair that makes all fit when it is exchanged. */
static bool
find_exchange(const TlLaunched *l, const TlReach *of, TlGridFn *grid, void *user, Exchange *out)
{
   unsigned found = 0;
   TlExecArg *args = tl_new_array(l->arena, TlExecArg, l->num_args + 1);
   memcpy(args, l->args, l->num_args * sizeof *args);
   for (unsigned a = 0; a < l->num_args; a++)
      for (unsigned b = a + 1; b < l->num_args; b++) {
         if (!is_size(l, a) || !is_size(l, b) || l->args[a].bits == l->args[b].bits ||
             l->func->body->block->args[a]->type != l->func->body->block->args[b]->type)
            continue;
         TlLaunched other = *l;
         args[a].bits = l->args[b].bits;
         args[b].bits = l->args[a].bits;
         other.args = args;
         if (grid)
            (void)grid(user, args, l->num_args, other.grid);
         if (all_fit(&other, of)) {
            *out = (Exchange){.a = a, .b = b, .arg = of->arg};
            found++;
         }
         args[a].bits = l->args[a].bits;
         args[b].bits = l->args[b].bits;
      }
   return found == 1;
}

static const char *
exchange_text(const TlLaunched *l, const Exchange *x)
{
   const TlValue *const *args = (const TlValue *const *)l->func->body->block->args;
   long long a = tl_bits_to_int(args[x->a]->type->dtype, l->args[x->a].bits);
   long long b = tl_bits_to_int(args[x->b]->type->dtype, l->args[x->b].bits);
   return tl_arena_printf(l->arena,
                          "'%s' is %lld and '%s' is %lld: exchanged, %s=%lld and %s=%lld, they fit "
                          "%s and all accesses stay within",
                          args[x->a]->name, a, args[x->b]->name, b, args[x->a]->name, b,
                          args[x->b]->name, a, array_text(l, x->arg));
}

/* The stride is an argument that has to do with no length of the array's rows. */
static bool
has_other_stride(const TlLaunched *l, const TlReach *r)
{
   int64_t row = tl_reach_row(l, r->arg), step = r->coord[0].step;
   return row && l->args[r->arg].shape_rank == 2 && r->num == 2 && r->coord[1].step == 1 &&
          r->coord[0].step_name && r->coord[0].num > 1 && step % row && row % step;
}

/* The one integer argument that has the value; NULL: none, or several. */
static const char *
argument_of(const TlLaunched *l, int64_t value)
{
   const char *found = NULL;
   for (unsigned i = 0; i < l->num_args; i++) {
      const TlValue *v = l->func->body->block->args[i];
      if (!is_size(l, i) || tl_bits_to_int(v->type->dtype, l->args[i].bits) != value)
         continue;
      if (found)
         return NULL;
      found = v->name;
   }
   return found;
}

/* How many elements of the rows that r's step makes the accesses to the array reach together, each
 * one part; 0: they are others. */
static int64_t
columns_reached(TlLaunched *l, const TlReach *r)
{
   const TlBlock *top = l->func->body->block;
   int64_t end = 0;
   for (const TlOp *op = top->first; op; op = tl_walk_next(op, top)) {
      TlReach x;
      if (!tl_has_trait(op, TL_TRAIT_ACCESS) || !tl_reach_of(l, op, &x) || x.arg != r->arg)
         continue;
      bool is_of_part = x.num == 2 && x.coord[0].step == r->coord[0].step && x.coord[1].step == 1 &&
                        x.coord[1].num <= x.coord[0].step;
      if (!is_of_part)
         return 0;
      int64_t here = x.start + x.coord[1].num;
      end = here > end ? here : end;
   }
   return end;
}

/* Rows of two or three parts beside each other, all of which are read, and the index goes on by one
 * part from row to row. */
static bool
is_part_of_row(TlLaunched *l, const TlReach *r)
{
   int64_t row = tl_reach_row(l, r->arg), step = r->coord[0].step;
   return row && l->args[r->arg].shape_rank == 2 && r->num == 2 && r->coord[1].step == 1 &&
          r->coord[0].step_name && r->coord[0].num > 1 && step < row && row % step == 0 &&
          r->coord[0].num * row == tl_reach_count(l, r->arg) && columns_reached(l, r) == row;
}

/* A store of a table that goes over [M, N] as rows and columns, of an array that is [N, M]. */
static bool
is_untransposed(TlLaunched *l, const TlReach *r)
{
   int64_t row = tl_reach_row(l, r->arg);
   return r->op->opcode == TL_OP_STORE && row && l->args[r->arg].shape_rank == 2 && r->num == 2 &&
          !r->start && r->coord[1].step == 1 && r->coord[0].num != r->coord[1].num &&
          r->coord[0].step == r->coord[1].num && r->coord[0].num == row &&
          r->coord[1].num * row == tl_reach_count(l, r->arg);
}

bool
tl_exec_other_rows(TlLaunched *l, TlGridFn *grid, void *user, TlOtherRows *out)
{
   const TlBlock *top = l->func->body->block;
   for (const TlOp *op = top->first; op; op = tl_walk_next(op, top)) {
      TlReach r;
      Exchange x;
      if (!tl_has_trait(op, TL_TRAIT_ACCESS) || !tl_reach_of(l, op, &r))
         continue;
      bool is_turned = fit_of(l, &r) == TURNED;
      *out = (TlOtherRows){.op = op, .array = array_text(l, r.arg), .step = r.coord[0].step};
      if ((is_turned || has_other_stride(l, &r)) && find_exchange(l, &r, grid, user, &x)) {
         out->help = exchange_text(l, &x);
         return true;
      }
      if (is_part_of_row(l, &r)) {
         long long row = tl_reach_row(l, r.arg), step = r.coord[0].step;
         const char *name = r.coord[0].step_name;
         out->help =
            tl_arena_printf(l->arena,
                            "%lld elements of each row are accessed, and the index goes on "
                            "by '%s' = %lld, so that rows overlap: by %lld * %s",
                            row, name, step, row / step, name);
         return true;
      }
      const char *length = has_other_stride(l, &r) ? argument_of(l, tl_reach_row(l, r.arg)) : NULL;
      if (length && is_untransposed(l, &r)) {
         out->help = tl_arena_printf(
            l->arena,
            "%lld rows of %lld elements are stored, and %s has %lld of %lld: a transposed store "
            "exchanges row and column, columns * '%s' + rows; for a copy the array is to be "
            "[%lld, %lld]",
            (long long)r.coord[0].num, (long long)r.coord[1].num, out->array,
            (long long)r.coord[1].num, (long long)r.coord[0].num, length, (long long)r.coord[0].num,
            (long long)r.coord[1].num);
         return true;
      }
      if (length) {
         out->help = tl_arena_printf(l->arena,
                                     "rows of '%s' are %lld elements long, which is '%s', and "
                                     "'%s' is %lld: the stride of this index is to be '%s'",
                                     name_of(l, r.arg), (long long)tl_reach_row(l, r.arg), length,
                                     r.coord[0].step_name, (long long)r.coord[0].step, length);
         return true;
      }
      if (has_other_stride(l, &r)) {
         const char *name = r.coord[0].step_name;
         out->help =
            tl_arena_printf(l->arena, "'%s' is %lld, and a row is %lld elements long: %s=%lld",
                            name, (long long)r.coord[0].step, (long long)tl_reach_row(l, r.arg),
                            name, (long long)tl_reach_row(l, r.arg));
         return true;
      }
   }
   return false;
}

/* Does nothing else that has one of the traits come to the array?  It may take, or store, what the
 * access leaves out. */
static bool
is_only_access(TlLaunched *l, const TlOp *access, unsigned arg, uint32_t traits)
{
   const TlBlock *top = l->func->body->block;
   for (const TlOp *op = top->first; op; op = tl_walk_next(op, top)) {
      TlReach r;
      if (op != access && (tl_info(op)->traits & traits) &&
          (!tl_has_trait(op, TL_TRAIT_ACCESS) || !tl_reach_of(l, op, &r) || r.arg == arg))
         return false;
   }
   return true;
}

bool
tl_exec_short_grid(TlLaunched *l, TlShortGrid *out)
{
   const TlBlock *top = l->func->body->block;
   for (const TlOp *op = top->first; op; op = tl_walk_next(op, top)) {
      TlReach r;
      if (op->opcode != TL_OP_STORE || !tl_reach_of(l, op, &r))
         continue;
      for (unsigned i = 0; i < r.num; i++) {
         const TlCoord *c = &r.coord[i];
         bool is_short = c->axis >= 0 && c->lanes > 1 && !c->has_rounds && !c->wraps &&
                         (c->limit_name || c->divided_name) && c->natural < c->limit &&
                         c->limit - c->natural < c->lanes &&
                         c->natural == c->lanes * (int64_t)l->grid[c->axis];
         if (is_short && is_only_access(l, op, r.arg, TL_TRAIT_WRITE)) {
            const char *name = c->limit_name ? c->limit_name : c->divided_name;
            *out = (TlShortGrid){
               .op = op,
               .coord = *c,
               .limit = c->limit_name ? number_text(l, name, c->limit)
                                      : tl_arena_printf(l->arena, "'%s' / %lld = %lld", name,
                                                        (long long)c->unit, (long long)c->limit),
               .help = tl_arena_printf(l->arena, "cdiv(%s, %lld)", name,
                                       (long long)(c->lanes * c->unit))};
            return true;
         }
      }
   }
   return false;
}

bool
tl_exec_turned_grid(TlLaunched *l, TlTurnedGrid *out)
{
   const TlBlock *top = l->func->body->block;
   for (const TlOp *op = top->first; op; op = tl_walk_next(op, top)) {
      TlReach r;
      if (op->opcode != TL_OP_STORE || !tl_reach_of(l, op, &r))
         continue;
      for (unsigned i = 0; i < r.num; i++)
         for (unsigned k = 0; k < i; k++) {
            const TlCoord *a = &r.coord[i], *b = &r.coord[k];
            if (a->axis < 0 || b->axis < 0 || l->grid[a->axis] == l->grid[b->axis] ||
                programs_wanted(l, a) != l->grid[b->axis] ||
                programs_wanted(l, b) != l->grid[a->axis])
               continue;
            bool is_first = a->axis < b->axis;
            *out = (TlTurnedGrid){.op = op, .a = is_first ? *a : *b, .b = is_first ? *b : *a};
            return true;
         }
   }
   return false;
}

/* Is it in a loop that goes on by so many, and does not move the pointers?  That is told of where
 * they stand. */
static bool
is_stepped_over(const TlOp *op, int64_t lanes)
{
   for (const TlOp *loop = tl_parent(op); loop; loop = tl_parent(loop)) {
      uint64_t step;
      if (loop->opcode == TL_OP_FOR && tl_is_const(tl_for_step(loop), &step) &&
          (int64_t)step == lanes)
         return true;
   }
   return false;
}

/* The lanes are all of it: nothing else comes as far as the limit in the same array's rows. */
bool
tl_exec_short_block(TlLaunched *l, TlShortBlock *out)
{
   const TlBlock *top = l->func->body->block;
   for (const TlOp *op = top->first; op; op = tl_walk_next(op, top)) {
      TlReach r;
      bool is_tile = op->opcode == TL_OP_STORE || op->opcode == TL_OP_LOAD;
      if (!is_tile || !tl_reach_of(l, op, &r) || r.start)
         continue;
      for (unsigned i = 0; i < r.num; i++) {
         const TlCoord *c = &r.coord[i];
         bool has_more = r.end + (c->limit - c->natural) * c->step <= tl_reach_count(l, r.arg);
         if (!is_too_short(c) || !c->limit_name || c->wraps || !has_more ||
             is_stepped_over(op, c->natural) ||
             !is_only_access(l, op, r.arg, TL_TRAIT_READ | TL_TRAIT_WRITE))
            continue;
         const char *block = constant_named(l, c->natural);
         *out = (TlShortBlock){.op = op,
                               .lanes = number_text(l, block, c->natural),
                               .limit = number_text(l, c->limit_name, c->limit),
                               .help = longer_block(l, c)};
         return true;
      }
   }
   return false;
}

/* ---- indices from memory ---- */
/* The load whose value the index is computed from; NULL: none.  *is_several: others are there. */
static const TlOp *
loaded_index(const TlValue *v, unsigned depth, bool *is_several)
{
   enum { MAX_DEPTH = 16 };
   const TlOp *op = v->def, *found = NULL;
   if (!op || op->num_regions || depth > MAX_DEPTH)
      return NULL;
   if (op->opcode == TL_OP_LOAD)
      return tl_type_elem(v->type)->kind == TL_TYPE_SCALAR ? op : NULL;
   for (unsigned i = 0; i < op->num_args; i++) {
      const TlOp *in = loaded_index(tl_arg(op, i), depth + 1, is_several);
      *is_several |= in && found && in != found;
      found = in ? in : found;
   }
   return found;
}

/* The integer with a name that is made of a fraction on the way to the index; NULL: none.
 * *is_index: it is all that is added to the array's pointer. */
static const TlValue *
rounded_index(const TlValue *v, unsigned depth, bool *is_index)
{
   enum { MAX_DEPTH = 16 };
   const TlOp *op = v->def;
   if (!op || op->num_regions || op->opcode == TL_OP_LOAD || depth > MAX_DEPTH)
      return NULL;
   bool is_pointer = tl_type_elem(v->type)->kind == TL_TYPE_PTR;
   bool is_int = !is_pointer && tl_dtype_is_int(tl_type_elem(v->type)->dtype);
   bool was_float = op->opcode == TL_OP_CAST && is_int &&
                    !tl_dtype_is_int(tl_type_elem(tl_arg(op, 0)->type)->dtype);
   if (was_float)
      return v;
   if (op->opcode == TL_OP_ADDPTR && tl_arg(op, 0)->def &&
       tl_arg(op, 0)->def->opcode != TL_OP_SPLAT)
      *is_index = false;
   bool is_kept = op->opcode == TL_OP_ADDPTR || op->opcode == TL_OP_CAST ||
                  op->opcode == TL_OP_BROADCAST || tl_has_trait(op, TL_TRAIT_SAME_ELEMENTS);
   for (unsigned i = 0; i < op->num_args; i++) {
      const TlValue *found = rounded_index(tl_arg(op, i), depth + 1, is_index);
      *is_index &= !found || is_kept;
      if (found)
         return found->name || !v->name || !is_int ? found : v;
   }
   return NULL;
}

/* counts + bins, of bins that are computed of loaded fractions. */
static const char *
of_rounded_index(TlLaunched *l, const TlOp *access, const TlExecFault *f, const char *array)
{
   bool is_index = true;
   const TlValue *v = rounded_index(tl_arg(access, 0), 0, &is_index);
   const char *name = v && v->name ? v->name : "the index";
   unsigned bytes = f->elem_bytes ? f->elem_bytes : f->bytes;
   long long count = bytes ? (long long)(f->buffer_bytes / bytes) : 0;
   const char *from = array ? tl_arena_printf(l->arena, "what '%s' holds", array) : "loaded values";
   if (!v)
      return NULL;
   if (!is_index || !v->name || !count)
      return tl_arena_printf(l->arena,
                             "the index is computed from %s: bring %s into its range by tl.minimum "
                             "and tl.maximum, or leave such elements out by the mask",
                             from, name);
   if (f->byte < 0)
      return tl_arena_printf(l->arena,
                             "the index is computed from %s: bring it into the range, "
                             "tl.maximum(%s, 0), or leave such elements out by the mask, %s >= 0",
                             from, name, name);
   return tl_arena_printf(l->arena,
                          "the index is computed from %s: bring it into the range, tl.minimum(%s, "
                          "%lld), or leave such elements out by the mask, %s < %lld",
                          from, name, count - 1, name, count);
}

/* table + token * DIM + d, of a token that is none. */
static const char *
of_loaded_index(TlLaunched *l, const TlOp *access, const TlExecFault *f)
{
   bool is_several = false;
   const TlOp *load = loaded_index(tl_arg(access, 0), 0, &is_several);
   int arg = load ? tl_exec_argument_of(l->func, tl_arg(load, 0)) : -1;
   const char *array = arg < 0 ? NULL : l->func->body->block->args[arg]->name;
   const char *name = load ? tl_result(load, 0)->name : NULL;
   if (load && is_several)
      return of_rounded_index(l, access, f, NULL);
   if (!array || strcmp(array, f->buffer) == 0)
      return NULL;
   if (!tl_dtype_is_int(tl_type_elem(tl_result(load, 0)->type)->dtype))
      return of_rounded_index(l, access, f, array);
   name = name ? name : "i";
   uint32_t bytes = f->elem_bytes ? f->elem_bytes : f->bytes;
   const char *limit =
      tl_index_limit(l, access, tl_result(load, 0), bytes ? (int64_t)(f->buffer_bytes / bytes) : 0);
   if (limit)
      return tl_arena_printf(l->arena,
                             "the index comes of what '%s' holds: a mask, (%s >= 0) & (%s < %s), "
                             "keeps out what is none%s",
                             array, name, name, limit,
                             *limit >= '0' && *limit <= '9'
                                ? tl_arena_printf(l->arena, "; '%s' has %s here", f->buffer, limit)
                                : "");
   return tl_arena_printf(l->arena,
                          "the index comes of what '%s' holds: a mask, (%s >= 0) & (%s < n), where "
                          "n is how many '%s' has of what it counts, keeps out what is none",
                          array, name, name, f->buffer);
}

/* Is the value computed from what was loaded from the same array, as a sum in place is? */
static bool
is_update_of(const TlLaunched *l, const TlValue *v, int arg, unsigned depth)
{
   enum { MAX_DEPTH = 16 };
   const TlOp *op = v->def;
   if (!op || op->num_regions || depth > MAX_DEPTH)
      return false;
   if (op->opcode == TL_OP_LOAD)
      return tl_exec_argument_of(l->func, tl_arg(op, 0)) == arg;
   for (unsigned i = 0; i < op->num_args; i++)
      if (is_update_of(l, tl_arg(op, i), arg, depth + 1))
         return true;
   return false;
}

/* The store of a sum in place that the access is, or loads for; NULL: it is another. */
static const TlOp *
update_with(const TlLaunched *l, const TlOp *access)
{
   int arg = tl_exec_argument_of(l->func, tl_arg(access, 0));
   const TlBlock *top = l->func->body->block;
   for (const TlOp *op = top->first; arg >= 0 && op; op = tl_walk_next(op, top))
      if (op->opcode == TL_OP_STORE && (op == access || access->opcode == TL_OP_LOAD) &&
          tl_exec_argument_of(l->func, tl_arg(op, 0)) == arg &&
          is_update_of(l, tl_arg(op, 1), arg, 0))
         return op;
   return NULL;
}

/* Programs that differ along one axis alone, and nothing in the index of what both store does. */
static const char *
same_for_programs(const TlLaunched *l, const TlOp *access, const TlExecFault *f)
{
   bool is_written = f->text && strcmp(f->text, "writes") == 0;
   bool both_store = access->opcode == TL_OP_STORE && is_written;
   const TlOp *update = is_written ? update_with(l, access) : NULL;
   bool is_loaded = false, is_several = false;
   int axis = f->limit < 0 ? -1 : tl_index_lacks(l, access, f->program, f->other, &is_loaded);
   if (axis < 0 || (!both_store && !update))
      return NULL;
   const TlOp *load = is_loaded ? loaded_index(tl_arg(access, 0), 0, &is_several) : NULL;
   int arg = load && !is_several ? tl_exec_argument_of(l->func, tl_arg(load, 0)) : -1;
   const char *array = arg < 0 ? NULL : l->func->body->block->args[arg]->name;
   if (is_loaded && update)
      return tl_arena_printf(l->arena,
                             "the index comes of %s, the same for both programs, and "
                             "one of both sums is lost: atomic_add(pointers, what is added) in "
                             "place of load, '+' and store",
                             array ? tl_arena_printf(l->arena, "what '%s' holds", array)
                                   : "what was loaded");
   if (!both_store)
      return NULL;
   return tl_arena_printf(l->arena,
                          "the index has no part of program_id(%d), so that all %u programs along "
                          "axis %d come to the same elements: add program_id(%d) times what one "
                          "has; if they are to add up, atomic_add; if one is enough, a grid of 1 "
                          "along that axis",
                          axis, l->grid[axis], axis, axis);
}

/* ---- loops that count down ---- */
/* Is v computed of the loop's index? */
static bool
has_index(const TlValue *v, const TlValue *index, unsigned depth)
{
   enum { MAX_DEPTH = 16 };
   if (v == index)
      return true;
   for (unsigned i = 0; v->def && depth < MAX_DEPTH && i < v->def->num_args; i++)
      if (has_index(tl_arg(v->def, i), index, depth + 1))
         return true;
   return false;
}

/* for at in range(n - BLOCK, 0, -BLOCK): the round of 0 is none. */
static const char *
ends_before_zero(TlLaunched *l, const TlOp *access, const TlExecFault *f)
{
   for (const TlOp *loop = tl_parent(access); loop; loop = tl_parent(loop)) {
      uint64_t to, by;
      if (loop->opcode != TL_OP_FOR || !tl_is_const(tl_for_upper(loop), &to) || to ||
          !tl_is_const(tl_for_step(loop), &by))
         continue;
      int64_t step = tl_bits_to_int(tl_for_step(loop)->type->dtype, by);
      const TlValue *index = tl_for_index(loop);
      if (step < 0 && f->elem_bytes && f->byte / f->elem_bytes < -step &&
          has_index(tl_arg(access, 0), index, 0))
         return tl_arena_printf(l->arena,
                                "the loop ends before '%s' is 0: range(.., 0, %lld) leaves out its "
                                "end, 0; the round of 0 comes with range(.., -1, %lld)",
                                index->name ? index->name : "its index", (long long)step,
                                (long long)step);
   }
   return NULL;
}

/* ---- the cause of a fault ---- */
static bool
is_at(const TlOp *op, const TlExecFault *f)
{
   return op->range.file == f->range.file && op->range.begin == f->range.begin &&
          op->range.end == f->range.end;
}

/* The access that stands there. */
static const TlOp *
access_at(const TlLaunched *l, const TlExecFault *f)
{
   const TlBlock *top = l->func->body->block;
   for (const TlOp *op = top->first; op; op = tl_walk_next(op, top))
      if (tl_has_trait(op, TL_TRAIT_ACCESS) && is_at(op, f) &&
          strcmp(tl_source_name(op), f->op) == 0)
         return op;
   return NULL;
}

/* ---- promises ---- */
/* "'n' is 100", of the integer arguments that v is computed from; `seen` has those that are
 * there. */
static void
given_numbers(const TlLaunched *l, const TlValue *v, unsigned depth, TlSb *sb, uint64_t *seen)
{
   enum { MAX_DEPTH = 8 };
   const TlOp *op = v->def;
   bool is_number = v->type->kind == TL_TYPE_SCALAR && tl_dtype_is_int(v->type->dtype);
   if (!op && is_number && v->name && !v->block->region->parent && v->index < l->num_args &&
       v->index < 64 && !(*seen >> v->index & 1)) {
      *seen |= UINT64_C(1) << v->index;
      tl_sb_printf(sb, "%s'%s' is %lld", sb->len ? ", " : "", v->name,
                   (long long)tl_bits_to_int(v->type->dtype, l->args[v->index].bits));
   }
   for (unsigned i = 0; op && !op->num_regions && depth < MAX_DEPTH && i < op->num_args; i++)
      given_numbers(l, tl_arg(op, i), depth + 1, sb, seen);
}

static const char *
broken_promise(const TlLaunched *l, const TlExecFault *f)
{
   const TlBlock *top = l->func->body->block;
   for (const TlOp *op = top->first; op; op = tl_walk_next(op, top)) {
      bool is_it = op->opcode == TL_OP_ASSUME && is_at(op, f);
      TlSb sb;
      uint64_t seen = 0;
      tl_sb_init(&sb, l->arena);
      if (is_it)
         given_numbers(l, tl_arg(op, 0), 0, &sb, &seen);
      if (sb.len)
         return tl_sb_cstr(&sb);
   }
   return NULL;
}

const char *
tl_exec_cause(TlLaunched *l, const TlExecFault *f, TlGridFn *grid, void *user)
{
   bool is_beside = f->kind == TL_FAULT_BOUNDS && f->buffer_bytes &&
                    f->mask != TL_EXEC_MASK_BLOCK && f->mask != TL_EXEC_MASK_NO_CHECK;
   bool is_outside = is_beside && f->byte >= 0;
   bool is_left = f->kind == TL_FAULT_UNWRITTEN || f->kind == TL_FAULT_UNREAD;
   bool is_race = f->kind == TL_FAULT_RACE;
   const TlOp *op = is_beside || is_left || is_race ? access_at(l, f) : NULL;
   TlReach r;
   Exchange x;
   if (f->kind == TL_FAULT_ASSUME && !f->value)
      return broken_promise(l, f);
   const char *loaded = op && is_beside ? of_loaded_index(l, op, f) : NULL;
   if (loaded)
      return loaded;
   if (is_race)
      return op ? same_for_programs(l, op, f) : NULL;
   const char *shared =
      op && f->kind == TL_FAULT_UNREAD && f->bytes ? tl_index_remainder(l, op, f->value) : NULL;
   if (shared)
      return shared;
   const char *down = op && is_left ? ends_before_zero(l, op, f) : NULL;
   if (down)
      return down;
   if (!op || !(is_outside || is_left) || !tl_reach_of(l, op, &r) ||
       strcmp(name_of(l, r.arg), f->buffer) != 0)
      return NULL;
   const char *last = is_outside ? too_far_in_last_round(l, &r) : NULL;
   if (last)
      return last;
   if (tl_reach_row(l, r.arg) && find_exchange(l, &r, grid, user, &x))
      return exchange_text(l, &x);
   TlOtherRows other;
   if (!tl_reach_row(l, r.arg) && tl_exec_other_rows(l, grid, user, &other))
      return tl_arena_printf(l->arena, "the index takes %s for rows of %lld elements: %s",
                             other.array, (long long)other.step, other.help);
   return is_outside ? too_far(l, &r) : left_out(l, &r);
}
