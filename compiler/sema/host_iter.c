/* Iterators of host code: what zip(), map(), reversed(), a generator or d.items() give.  Python
 * works an item out when it is taken; here all of them are worked out at once.  That is the same
 * where nothing changes in between, so an iterator keeps the counts of changes that it hangs on,
 * and what runs code to make one must not change anything itself.  An iterator whose counts have
 * moved is not followed. */
#include "sema/host.h"

#include <assert.h>
#include <string.h>

TlSv
tl_make_iter(TlSema *s, const char *type, TlSv *items, size_t len)
{
   assert(items || !len);
   TlSvIter *it = tl_new(s->arena, TlSvIter);
   *it = (TlSvIter){.type = type, .items = items, .len = len};
   return (TlSv){.kind = TL_SV_ITER, .iter = it};
}

void
tl_iter_hangs_on(TlSema *s, TlSvIter *it, const uint64_t *count)
{
   struct TlSvIterOf *of = tl_new_array(s->arena, struct TlSvIterOf, it->num_of + 1);
   for (unsigned i = 0; i < it->num_of; i++)
      of[i] = it->of[i];
   of[it->num_of].count = count;
   of[it->num_of++].at_making = *count;
   it->of = of;
}

/* The items were read off this value. */
void
tl_iter_reads(TlSema *s, TlSvIter *it, const TlSv *from)
{
   if ((from->kind == TL_SV_TUPLE && from->tuple->is_list) || from->kind == TL_SV_SET)
      tl_iter_hangs_on(s, it, &from->tuple->change.version);
   else if (from->kind == TL_SV_DICT)
      tl_iter_hangs_on(s, it, &from->fields->change.version);
   else if (from->kind == TL_SV_ITER) {
      for (unsigned i = 0; i < from->iter->num_of; i++)
         tl_iter_hangs_on(s, it, from->iter->of[i].count);
      from->iter->is_unsure |= !from->iter->is_view; /* Python takes its items later */
   }
}

static bool
stands(const TlSvIter *it)
{
   bool same = !it->is_unsure;
   for (unsigned i = 0; same && i < it->num_of; i++)
      same = *it->of[i].count == it->of[i].at_making;
   return same;
}

static bool
check_stands(TlSema *s, const TlSvIter *it, TlRange range)
{
   if (stands(it))
      return true;
   tl_report(s->diags, E0259, range, it->type,
             "what its items come from may have changed since it was made");
   return false;
}

bool
tl_iter_items(TlSema *s, TlSvIter *it, TlRange range, TlSv **items, size_t *len)
{
   if (!check_stands(s, it, range))
      return false;
   if (it->list) {
      size_t have = it->list->len;
      *items = it->list->items + (it->at < have ? it->at : have);
      *len = have > it->at ? have - it->at : 0;
      it->at = have > it->at ? have : it->at;
      return true;
   }
   *items = it->items + it->at;
   *len = it->len - it->at;
   if (!it->is_view)
      it->at = it->len;
   return true;
}

bool
tl_iter_next(TlSema *s, TlSvIter *it, TlRange range, TlSv *out)
{
   assert(!it->is_view);
   *out = tl_sv_poison();
   size_t len = it->list ? it->list->len : it->len;
   if (!check_stands(s, it, range))
      return false;
   if (it->at >= len) {
      it->list = NULL; /* an iterator that has ended stays so */
      it->len = it->at = 0;
      return false;
   }
   *out = it->list ? it->list->items[it->at++] : it->items[it->at++];
   return true;
}

void
tl_iter_unsure(const TlSv *v)
{
   if (v->kind == TL_SV_ITER && !v->iter->is_view)
      v->iter->is_unsure = true;
}

bool
tl_iterate_any_order(TlSema *s, const TlSv *v, TlRange range, TlSv **items, size_t *len)
{
   if (v->kind != TL_SV_SET)
      return tl_iterate(s, v, range, items, len);
   if (v->tuple->change.lost)
      return tl_iterate(s, v, range, items, len); /* reports it */
   *items = v->tuple->items;
   *len = v->tuple->len;
   return true;
}

/* ---- loops ---- */
bool
tl_cursor_begin(TlSema *s, TlCursor *c, const TlSv *v, TlRange range)
{
   TlSv *items;
   size_t len;
   *c = (TlCursor){.iter = *v, .range = range};
   if (tl_report_lost(s, v, range))
      return false;
   bool is_list = v->kind == TL_SV_TUPLE && v->tuple->is_list;
   if (is_list || (v->kind == TL_SV_ITER && !v->iter->is_view))
      return true;
   if (!tl_iterate(s, v, range, &items, &len))
      return false;
   c->iter = tl_make_iter(s, "iterator", items, len);
   tl_iter_reads(s, c->iter.iter, v);
   return true;
}

bool
tl_cursor_next(TlSema *s, TlCursor *c, TlSv *out)
{
   if (c->iter.kind != TL_SV_TUPLE)
      return tl_iter_next(s, c->iter.iter, c->range, out);
   const TlSvTuple *list = c->iter.tuple;
   if (c->at < list->len)
      *out = list->items[c->at];
   return c->at++ < list->len;
}

/* ---- code that Python runs later ---- */
void
tl_pure_begin(TlSema *s, TlPure *p)
{
   p->since = s->impl->pure_since;
   p->errors = s->diags->num_errors;
   p->outer = s->impl->reads;
   tl_map_init(&p->reads, s->arena);
   s->impl->reads = &p->reads;
   s->impl->pure_since = ++s->impl->seq;
}

TlSv
tl_pure_end(TlSema *s, TlPure *p, TlSv iter)
{
   s->impl->pure_since = p->since;
   s->impl->reads = p->outer;
   if (s->diags->num_errors != p->errors) {
      s->impl->raised.error = NULL; /* Python would raise it later, or never */
      return tl_sv_poison();
   }
   for (size_t i = 0; i < p->reads.cap; i++) {
      if (!p->reads.slots[i].used)
         continue;
      const uint64_t *count = (const uint64_t *)p->reads.slots[i].key;
      if (p->outer)
         tl_map_put(p->outer, count, (void *)(uintptr_t)count);
      if (iter.kind == TL_SV_ITER)
         tl_iter_hangs_on(s, iter.iter, count);
   }
   return iter;
}

void
tl_pure_read(TlSema *s, uint64_t born, const uint64_t *count)
{
   if (s->impl->reads && born < s->impl->pure_since)
      tl_map_put(s->impl->reads, count, (void *)(uintptr_t)count);
}

enum { MAX_READ_DEPTH = 8, MAX_READ_PARTS = 10000 };

static void
read_deep(TlSema *s, const TlSv *v, unsigned depth, unsigned *parts)
{
   const TlChange *change = tl_change_of(v);
   if (change && change->born >= s->impl->pure_since)
      return;
   if (change && tl_map_has(s->impl->reads, &change->version))
      return;
   if (depth > MAX_READ_DEPTH || ++*parts > MAX_READ_PARTS) {
      tl_map_put(s->impl->reads, &s->impl->changes, s);
      return;
   }
   if (change)
      tl_map_put(s->impl->reads, &change->version, s);
   bool is_items = v->kind == TL_SV_TUPLE;
   bool is_fields = v->kind == TL_SV_DICT || v->kind == TL_SV_OBJECT;
   if (is_fields)
      tl_map_put(s->impl->reads, &v->fields->writes, s);
   for (size_t i = 0; is_items && i < v->tuple->len; i++)
      read_deep(s, &v->tuple->items[i], depth + 1, parts);
   for (size_t i = 0; is_fields && i < v->fields->len; i++)
      read_deep(s, &v->fields->values[i], depth + 1, parts);
}

void
tl_pure_read_value(TlSema *s, const TlSv *v)
{
   bool has_parts = v->kind == TL_SV_TUPLE || v->kind == TL_SV_SET || v->kind == TL_SV_DICT ||
                    v->kind == TL_SV_OBJECT;
   unsigned parts = 0;
   if (s->impl->reads && has_parts)
      read_deep(s, v, 0, &parts);
}

bool
tl_is_pure_for(TlSema *s, uint64_t born, TlRange range)
{
   if (born >= s->impl->pure_since)
      return true;
   tl_report(s->diags, E0259, range, "a generator", "it changes something that others see");
   return false;
}

/* ---- functions that make them ---- */
/* One iterator is given twice: Python takes its items by turns. */
static bool
has_shared_iterator(const TlCall *c)
{
   for (unsigned i = 0; i < c->num_rest; i++)
      for (unsigned k = i + 1; c->rest[i].kind == TL_SV_ITER && k < c->num_rest; k++)
         if (c->rest[k].kind == TL_SV_ITER && c->rest[k].iter == c->rest[i].iter &&
             !c->rest[i].iter->is_view)
            return true;
   return false;
}

HOST_FN(enumerate)
{
   TlSv *items;
   size_t len;
   int64_t start, last;
   if (!items_of(s, c, &c->args[0], &items, &len))
      return tl_sv_poison();
   if (!tl_known_int(&c->args[1], &start))
      return tl_host_bad(s, c, "the start must be a known integer");
   if (__builtin_add_overflow(start, len, &last))
      return tl_host_bad(s, c, "the numbers do not fit in 64 bits");
   TlSv *rows = tl_new_array(s->arena, TlSv, len);
   for (size_t i = 0; i < len; i++) {
      TlSv pair[2] = {tl_sv_int(start + (int64_t)i), items[i]};
      rows[i] = tl_make_tuple(s, pair, 2, false);
   }
   TlSv out = tl_make_iter(s, "enumerate", rows, len);
   tl_iter_reads(s, out.iter, &c->args[0]);
   return out;
}

HOST_FN(zip)
{
   TlSv **columns = tl_new_array(s->arena, TlSv *, c->num_rest);
   size_t shortest = 0, longest = 0;
   if (has_shared_iterator(c))
      return tl_host_bad(s, c, "it takes from one iterator by turns");
   for (unsigned i = 0; i < c->num_rest; i++) {
      size_t len;
      if (!items_of(s, c, &c->rest[i], &columns[i], &len))
         return tl_sv_poison();
      shortest = i == 0 || len < shortest ? len : shortest;
      longest = len > longest ? len : longest;
   }
   if (shortest != longest && c->given[1] && tl_const_truth(&c->args[1]))
      return tl_host_bad(s, c, "the lengths differ");
   TlSv *rows = tl_new_array(s->arena, TlSv, shortest);
   TlSv *row = tl_new_array(s->arena, TlSv, c->num_rest);
   for (size_t r = 0; r < shortest; r++) {
      for (unsigned i = 0; i < c->num_rest; i++)
         row[i] = columns[i][r];
      rows[r] = tl_make_tuple(s, row, c->num_rest, false);
   }
   TlSv out = tl_make_iter(s, "zip", rows, shortest);
   for (unsigned i = 0; i < c->num_rest; i++)
      tl_iter_reads(s, out.iter, &c->rest[i]);
   return out;
}

HOST_FN(reversed)
{
   TlSv *items;
   size_t len;
   if (c->args[0].kind == TL_SV_ITER)
      return tl_host_bad(s, c, "a sequence is needed");
   if (!items_of(s, c, &c->args[0], &items, &len))
      return tl_sv_poison();
   TlSv *back = tl_new_array(s->arena, TlSv, len);
   for (size_t i = 0; i < len; i++)
      back[i] = items[len - 1 - i];
   TlSv out = tl_make_iter(s, "reversed", back, len);
   tl_iter_reads(s, out.iter, &c->args[0]);
   return out;
}

HOST_FN(map)
{
   TlSv **columns = tl_new_array(s->arena, TlSv *, c->num_rest + 1);
   size_t shortest = SIZE_MAX, len;
   if (has_shared_iterator(c))
      return tl_host_bad(s, c, "it takes from one iterator by turns");
   for (unsigned i = 0; i < c->num_rest; i++) {
      if (!items_of(s, c, &c->rest[i], &columns[i], &len))
         return tl_sv_poison();
      shortest = len < shortest ? len : shortest;
   }
   if (!c->num_rest)
      return tl_host_bad(s, c, "an iterable is needed");
   TlSv *out = tl_new_array(s->arena, TlSv, shortest);
   TlSv *row = tl_new_array(s->arena, TlSv, c->num_rest);
   TlPure p;
   tl_pure_begin(s, &p);
   bool ok = true;
   for (size_t r = 0; ok && r < shortest; r++) {
      for (unsigned i = 0; i < c->num_rest; i++)
         row[i] = columns[i][r];
      out[r] = tl_sema_call(s, &c->args[0], row, c->num_rest, c->range);
      ok = out[r].kind != TL_SV_POISON;
   }
   TlSv it = ok ? tl_make_iter(s, "map", out, shortest) : tl_sv_poison();
   for (unsigned i = 0; ok && i < c->num_rest; i++)
      tl_iter_reads(s, it.iter, &c->rest[i]);
   return tl_pure_end(s, &p, it);
}

HOST_FN(filter)
{
   TlSv *items;
   size_t len, n = 0;
   if (!items_of(s, c, &c->args[1], &items, &len))
      return tl_sv_poison();
   TlSv *kept = tl_new_array(s->arena, TlSv, len);
   TlPure p;
   tl_pure_begin(s, &p);
   bool ok = true;
   for (size_t i = 0; ok && i < len; i++) {
      bool take;
      TlSv keep = c->args[0].kind == TL_SV_NONE
                     ? items[i]
                     : tl_sema_call(s, &c->args[0], &items[i], 1, c->range);
      ok = keep.kind != TL_SV_POISON && tl_host_truth(s, &keep, c->range, &take);
      if (ok && take)
         kept[n++] = items[i];
   }
   TlSv it = ok ? tl_make_iter(s, "filter", kept, n) : tl_sv_poison();
   if (ok)
      tl_iter_reads(s, it.iter, &c->args[1]);
   return tl_pure_end(s, &p, it);
}

HOST_FN(iter)
{
   TlSv *items;
   size_t len;
   const TlSv *v = &c->args[0];
   if (v->kind == TL_SV_ITER && !v->iter->is_view)
      return *v;
   if (v->kind == TL_SV_TUPLE && v->tuple->is_list) {
      TlSv it = tl_make_iter(s, "list_iterator", NULL, 0);
      it.iter->list = v->tuple;
      return it;
   }
   if (!items_of(s, c, v, &items, &len))
      return tl_sv_poison();
   TlSv out = tl_make_iter(s, "iterator", items, len);
   tl_iter_reads(s, out.iter, v);
   return out;
}

HOST_FN(next)
{
   TlSv v;
   if (c->args[0].kind != TL_SV_ITER || c->args[0].iter->is_view)
      return tl_host_bad(s, c, "an iterator is needed");
   unsigned errors = s->diags->num_errors;
   if (tl_iter_next(s, c->args[0].iter, c->range, &v))
      return v;
   if (s->diags->num_errors != errors)
      return tl_sv_poison();
   return c->given[1] ? c->args[1]
                      : tl_host_raises(s, c, "StopIteration", "the iterator has ended");
}

/* ---- views of dicts ---- */
static TlSv
view(TlSema *s, const TlCall *c, const char *type, TlSv *items)
{
   TlSv out = tl_make_iter(s, type, items, c->args[0].fields->len);
   out.iter->is_view = true;
   tl_iter_hangs_on(s, out.iter, &c->args[0].fields->change.version);
   return out;
}

HOST_FN(dict_items)
{
   const TlSvFields *d = c->args[0].fields;
   TlSv *pairs = tl_new_array(s->arena, TlSv, d->len);
   for (size_t i = 0; i < d->len; i++) {
      TlSv pair[2] = {d->keys[i], d->values[i]};
      pairs[i] = tl_make_tuple(s, pair, 2, false);
   }
   TlSv out = view(s, c, "dict_items", pairs);
   tl_iter_hangs_on(s, out.iter, &d->writes);
   return out;
}

static TlSv *
copied(TlSema *s, const TlSv *items, size_t len)
{
   TlSv *out = tl_new_array(s->arena, TlSv, len);
   for (size_t i = 0; i < len; i++)
      out[i] = items[i];
   return out;
}

HOST_FN(dict_keys)
{
   const TlSvFields *d = c->args[0].fields;
   return view(s, c, "dict_keys", copied(s, d->keys, d->len));
}

HOST_FN(dict_values)
{
   const TlSvFields *d = c->args[0].fields;
   TlSv out = view(s, c, "dict_values", copied(s, d->values, d->len));
   tl_iter_hangs_on(s, out.iter, &d->writes);
   return out;
}
