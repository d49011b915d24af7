/* Sets.  Python keeps their items in an order of its own: what depends on it is not evaluated here,
 * unless there is one item at most. */
#include "sema/host.h"

#include <assert.h>
#include <string.h>

TlSv
tl_make_set(TlSema *s, const TlSv *items, size_t len, bool is_mutable)
{
   TlSv out = tl_make_tuple(s, items, len, is_mutable);
   if (out.kind == TL_SV_POISON)
      return out;
   out.kind = TL_SV_SET;
   out.tuple->len = 0;
   for (size_t i = 0; i < len; i++)
      if (!tl_set_add(s, out.tuple, &items[i]))
         return tl_sv_poison();
   return out;
}

static bool
find(TlSema *s, const TlSvTuple *t, const TlSv *v, size_t *at)
{
   s->steps += t->len / 16;
   for (size_t i = 0; i < t->len; i++)
      if (tl_const_equal(s, &t->items[i], v)) {
         *at = i;
         return true;
      }
   return false;
}

bool
tl_set_has(TlSema *s, const TlSvTuple *t, const TlSv *v)
{
   size_t at;
   return find(s, t, v, &at);
}

bool
tl_set_add(TlSema *s, TlSvTuple *t, const TlSv *v)
{
   size_t at;
   if (!tl_check_hashable(s, v, s->b.range) || !tl_step(s, s->b.range))
      return false;
   if (!find(s, t, v, &at))
      tl_list_push(s, t, *v);
   return true;
}

/* Items whose order must not matter to the caller. */
static bool
any_order(TlSema *s, const TlCall *c, const TlSv *v, TlSv **items, size_t *len)
{
   return tl_iterate_any_order(s, v, c->range, items, len);
}

/* 0 union, 1 intersection, 2 difference, 3 symmetric difference of a and items */
static TlSv
combine(TlSema *s, const TlSvTuple *a, const TlSv *items, size_t len, unsigned how)
{
   TlSv other = tl_make_set(s, items, len, true);
   TlSv out = tl_make_set(s, how == 0 ? a->items : NULL, how == 0 ? a->len : 0, a->is_list);
   if (other.kind == TL_SV_POISON || out.kind == TL_SV_POISON)
      return tl_sv_poison();
   for (size_t i = 0; how != 0 && i < a->len; i++)
      if (tl_set_has(s, other.tuple, &a->items[i]) == (how == 1))
         tl_list_push(s, out.tuple, a->items[i]);
   for (size_t i = 0; (how == 0 || how == 3) && i < other.tuple->len; i++)
      if (!tl_set_has(s, a, &other.tuple->items[i]))
         tl_list_push(s, out.tuple, other.tuple->items[i]);
   return out;
}

bool
tl_set_binary(TlSema *s, TlAstOp op, const TlSv *a, const TlSv *b, TlSv *out)
{
   if (a->kind != TL_SV_SET || b->kind != TL_SV_SET)
      return false;
   unsigned how = op == TL_AST_OP_BITOR    ? 0
                  : op == TL_AST_OP_BITAND ? 1
                  : op == TL_AST_OP_SUB    ? 2
                  : op == TL_AST_OP_BITXOR ? 3
                                           : 4;
   if (how == 4)
      return false;
   *out = combine(s, a->tuple, b->tuple->items, b->tuple->len, how);
   return true;
}

bool
tl_set_within(TlSema *s, const TlSvTuple *a, const TlSvTuple *b)
{
   for (size_t i = 0; i < a->len; i++)
      if (!tl_set_has(s, b, &a->items[i]))
         return false;
   return true;
}

static TlSv
new_set(TlSema *s, const TlCall *c, bool is_mutable)
{
   TlSv *items;
   size_t len;
   if (!any_order(s, c, &c->args[0], &items, &len))
      return tl_sv_poison();
   return tl_make_set(s, items, len, is_mutable);
}

HOST_FN(set)
{
   return new_set(s, c, true);
}

HOST_FN(frozenset)
{
   return new_set(s, c, false);
}

HOST_FN(set_add)
{
   return tl_set_add(s, c->args[0].tuple, &c->args[1]) ? tl_sv_none() : tl_sv_poison();
}

static TlSv
take_out(TlSema *s, const TlCall *c, bool must_be_there)
{
   TlSvTuple *t = c->args[0].tuple;
   size_t at;
   if (!tl_check_hashable(s, &c->args[1], c->range))
      return tl_sv_poison();
   if (find(s, t, &c->args[1], &at)) {
      memmove(t->items + at, t->items + at + 1, (t->len - at - 1) * sizeof t->items[0]);
      t->len--;
   } else if (must_be_there) {
      return tl_host_raises(s, c, "KeyError", "the set has no such item");
   }
   return tl_sv_none();
}

HOST_FN(set_remove)
{
   return take_out(s, c, true);
}

HOST_FN(set_discard)
{
   return take_out(s, c, false);
}

HOST_FN(set_pop)
{
   TlSvTuple *t = c->args[0].tuple;
   if (t->len == 0)
      return tl_host_raises(s, c, "KeyError", "the set is empty");
   if (t->len > 1)
      return tl_host_bad(s, c, "which item it takes is not known");
   return t->items[--t->len];
}

HOST_FN(set_clear)
{
   (void)s;
   c->args[0].tuple->len = 0;
   return tl_sv_none();
}

HOST_FN(set_copy)
{
   return tl_make_set(s, c->args[0].tuple->items, c->args[0].tuple->len, c->args[0].tuple->is_list);
}

HOST_FN(set_update)
{
   TlSv *items;
   size_t len;
   for (unsigned k = 0; k < c->num_rest; k++) {
      if (!any_order(s, c, &c->rest[k], &items, &len))
         return tl_sv_poison();
      for (size_t i = 0; i < len; i++)
         if (!tl_set_add(s, c->args[0].tuple, &items[i]))
            return tl_sv_poison();
   }
   return tl_sv_none();
}

static TlSv
combine_all(TlSema *s, const TlCall *c, unsigned how)
{
   TlSv out = tl_host_set_copy(s, c), *items;
   size_t len;
   for (unsigned k = 0; k < c->num_rest && out.kind != TL_SV_POISON; k++)
      out = any_order(s, c, &c->rest[k], &items, &len) ? combine(s, out.tuple, items, len, how)
                                                       : tl_sv_poison();
   return out;
}

HOST_FN(set_union)
{
   return combine_all(s, c, 0);
}

HOST_FN(set_intersection)
{
   return combine_all(s, c, 1);
}

HOST_FN(set_difference)
{
   return combine_all(s, c, 2);
}

HOST_FN(set_symmetric)
{
   TlSv *items;
   size_t len;
   return any_order(s, c, &c->args[1], &items, &len) ? combine(s, c->args[0].tuple, items, len, 3)
                                                     : tl_sv_poison();
}

/* issubset, issuperset, isdisjoint */
static bool
other_set(TlSema *s, const TlCall *c, TlSv *out)
{
   TlSv *items;
   size_t len;
   *out = tl_sv_poison();
   if (any_order(s, c, &c->args[1], &items, &len))
      *out = tl_make_set(s, items, len, false);
   return out->kind != TL_SV_POISON;
}

HOST_FN(set_issubset)
{
   TlSv o;
   return other_set(s, c, &o) ? tl_sv_bool(tl_set_within(s, c->args[0].tuple, o.tuple)) : o;
}

HOST_FN(set_issuperset)
{
   TlSv o;
   return other_set(s, c, &o) ? tl_sv_bool(tl_set_within(s, o.tuple, c->args[0].tuple)) : o;
}

HOST_FN(set_isdisjoint)
{
   TlSv o;
   if (!other_set(s, c, &o))
      return o;
   for (size_t i = 0; i < o.tuple->len; i++)
      if (tl_set_has(s, c->args[0].tuple, &o.tuple->items[i]))
         return tl_sv_bool(false);
   return tl_sv_bool(true);
}
