/* Values of host code by Python's rules: truth, identity, hashing, what `+=`, `del` and slices do
 * to lists, sets and dicts. */
#include "sema/host.h"

#include <assert.h>
#include <string.h>

bool
tl_is_plain(const TlSv *v)
{
   switch (v->kind) {
   case TL_SV_NONE:
   case TL_SV_BOOL:
   case TL_SV_INT:
   case TL_SV_FLOAT:
   case TL_SV_STR:
   case TL_SV_TUPLE:
   case TL_SV_SET:
   case TL_SV_DICT:
      return true;
   default:
      return false;
   }
}

const TlSvFunc *
tl_class_of(const TlSv *v)
{
   TlSv cls;
   bool is_known = v->kind == TL_SV_OBJECT && tl_object_get(v, "__class__", &cls);
   return is_known && cls.kind == TL_SV_FUNC ? cls.func : NULL;
}

bool
tl_is_plain_object(TlSema *s, const TlSv *v)
{
   TlSv hook;
   const TlSvFunc *cls = tl_class_of(v);
   return cls && tl_ast_Class(cls->node)->bases.len == 0 &&
          !tl_class_attr(s, cls, "__getattr__", &hook);
}

bool
tl_lacks_attribute(TlSema *s, const TlSv *v, const char *name)
{
   if (tl_starts_with(name, "__"))
      return false;
   switch (v->kind) {
   case TL_SV_NONE:
      return true;
   case TL_SV_OBJECT:
      return tl_is_plain_object(s, v);
   case TL_SV_MODULE:
      return v->module->kind == TL_MOD_BUILTIN ||
             (v->module->kind == TL_MOD_SOURCE && !v->module->source->stars.len);
   default:
      return false;
   }
}

/* The program's class of the object has a method of this name, or may have one. */
bool
tl_has_method(TlSema *s, const TlSv *v, const char *name)
{
   TlSv out;
   const TlSvFunc *cls = tl_class_of(v);
   if (!cls)
      return false;
   bool is_plain_enum = cls->enum_kind == TL_ENUM_OBJECTS || strcmp(name, "__eq__") == 0 ||
                        strcmp(name, "__hash__") == 0;
   if (tl_class_attr(s, cls, name, &out))
      return true;
   const TlClassInfo *info = tl_class_info(s, cls);
   return tl_is_member(v) ? !is_plain_enum : !info || info->is_cut;
}

bool
tl_report_lost(TlSema *s, const TlSv *v, TlRange range)
{
   const TlChange *change = tl_change_of(v);
   if (!change || !change->lost)
      return false;
   TlSv lost = {.kind = TL_SV_OPAQUE, .opaque = change->lost};
   tl_report_opaque(s, &lost, range);
   return true;
}

bool
tl_host_truth(TlSema *s, const TlSv *v, TlRange range, bool *truth)
{
   TlSv *items;
   size_t len;
   bool known = true;
   *truth = false;
   switch (v->kind) {
   case TL_SV_OBJECT:
      if (tl_has_method(s, v, "__bool__") || tl_has_method(s, v, "__len__")) {
         tl_report(s->diags, E0259, range, "bool", "the class may say what its truth is");
         return false;
      }
      *truth = true;
      return true;
   case TL_SV_RANGE:
      if (!tl_iterate(s, v, range, &items, &len))
         return false;
      *truth = len != 0;
      return true;
   default:
      return tl_truth(s, v, range, &known, truth) && known;
   }
}

/* Of a dataclass, which may have a hash or none. */
static bool
is_data(TlSema *s, const TlSv *v)
{
   const TlSvFunc *cls = tl_class_of(v);
   if (!cls)
      return false;
   const TlClassInfo *info = tl_class_info(s, cls);
   return info && info->is_own_data;
}

bool
tl_check_hashable(TlSema *s, const TlSv *v, TlRange range)
{
   bool is_list = (v->kind == TL_SV_TUPLE || v->kind == TL_SV_SET) && v->tuple->is_list;
   if (is_list || v->kind == TL_SV_DICT) {
      tl_report(s->diags, E0259, range, "hash", "a list, set or dict is no key");
      tl_raise_as(s, "TypeError");
      return false;
   }
   if (v->kind == TL_SV_ITER || v->kind == TL_SV_OPAQUE || v->kind == TL_SV_RANGE ||
       tl_has_method(s, v, "__hash__") || tl_has_method(s, v, "__eq__") || is_data(s, v)) {
      tl_report(s->diags, E0259, range, "hash", "it is not known for this value");
      return false;
   }
   if (v->kind == TL_SV_FLOAT && v->f != v->f) { /* NaN is found by its identity */
      tl_report(s->diags, E0259, range, "hash", "NaN is a key by its identity");
      return false;
   }
   for (size_t i = 0; v->kind == TL_SV_TUPLE && i < v->tuple->len; i++)
      if (!tl_step(s, range) || !tl_check_hashable(s, &v->tuple->items[i], range))
         return false;
   return true;
}

enum { FIRST_SMALL = -5, LAST_SMALL = 256 }; /* integers that Python keeps one of each */

/* a is b.  Equal numbers and strings may or may not be one object: false after a report. */
bool
tl_host_is(TlSema *s, const TlSv *a, const TlSv *b, TlRange range, bool *same)
{
   *same = false;
   bool is_flag = a->member_of == TL_SOME_ENUM || b->member_of == TL_SOME_ENUM;
   bool is_same_enum = a->member_of == b->member_of || is_flag;
   if (a->kind != b->kind || !is_same_enum || !a->member_of != !b->member_of)
      return true;
   if (a->member_of && !is_flag) {
      *same = tl_const_equal(s, a, b);
      return true;
   }
   switch (a->kind) {
   case TL_SV_TUPLE:
   case TL_SV_SET:
      *same = a->tuple == b->tuple;
      if (!*same && !a->tuple->len && !b->tuple->len && !a->tuple->is_list)
         break;
      return true;
   case TL_SV_DICT:
   case TL_SV_OBJECT:
      *same = a->fields == b->fields;
      return true;
   case TL_SV_ITER:
      *same = a->iter == b->iter;
      return true;
   case TL_SV_INT:
      *same = tl_const_equal(s, a, b);
      if (*same && (is_flag || a->is_large || a->i < FIRST_SMALL || a->i > LAST_SMALL))
         break;
      return true;
   case TL_SV_FLOAT:
      if (a->f != a->f && b->f != b->f)
         break;
      *same = tl_const_equal(s, a, b);
      if (*same)
         break;
      return true;
   case TL_SV_STR:
   case TL_SV_LONG:
      *same = tl_const_equal(s, a, b);
      if (*same)
         break;
      return true;
   default:
      *same = tl_const_equal(s, a, b);
      return true;
   }
   tl_report(s->diags, E0259, range, "is", "whether equal values are one object is Python's own");
   return false;
}

/* ---- lists ---- */
void
tl_list_push(TlSema *s, TlSvTuple *t, TlSv v)
{
   if (t->cap <= t->len) {
      size_t cap = t->len; /* what tl_vec_grow doubles */
      t->items = tl_vec_grow(s->arena, t->items, t->len, &cap, sizeof t->items[0]);
      t->cap = cap;
      s->steps += t->len / 8;
   }
   t->items[t->len++] = v;
}

/* The list's items at..at+old become these. */
static void
splice(TlSema *s, TlSvTuple *t, size_t at, size_t old, const TlSv *items, size_t len)
{
   assert(at + old <= t->len);
   size_t rest = t->len - at - old, total = at + len + rest;
   TlSv *all = tl_new_array(s->arena, TlSv, total + 1);
   memcpy(all, t->items, at * sizeof all[0]);
   memcpy(all + at, items, len * sizeof all[0]);
   memcpy(all + at + len, t->items + at + old, rest * sizeof all[0]);
   s->steps += total / 8;
   t->items = all;
   t->len = t->cap = total;
}

static bool
slice_bounds(TlSema *s, const TlSvTuple *t, const TlSv *slice, TlRange range, int64_t *from,
             int64_t *to)
{
   int64_t len = (int64_t)t->len, bound[2];
   if (slice->slice[2].kind != TL_SV_NONE &&
       !(slice->slice[2].kind == TL_SV_INT && slice->slice[2].i == 1)) {
      tl_report(s->diags, E0259, range, "slice", "it is changed without a step only");
      return false;
   }
   for (unsigned i = 0; i < 2; i++) {
      const TlSv *v = &slice->slice[i];
      int64_t at = i ? len : 0;
      if (v->kind != TL_SV_NONE && !tl_known_int(v, &at)) {
         tl_report(s->diags, E0259, range, "slice", "its bounds must be known integers");
         return false;
      }
      at = at < 0 ? at + len : at;
      bound[i] = at < 0 ? 0 : at > len ? len : at;
   }
   *from = bound[0];
   *to = bound[1] < bound[0] ? bound[0] : bound[1];
   return true;
}

bool
tl_host_set_slice(TlSema *s, const TlSv *list, const TlSv *slice, const TlSv *value, TlRange range)
{
   assert(list->kind == TL_SV_TUPLE && list->tuple->is_list);
   int64_t from, to;
   TlSv *items;
   size_t len;
   if (!slice_bounds(s, list->tuple, slice, range, &from, &to) ||
       !tl_iterate(s, value, range, &items, &len))
      return false;
   splice(s, list->tuple, (size_t)from, (size_t)(to - from), items, len);
   return true;
}

/* ---- del ---- */
static bool
del_item(TlSema *s, TlFrame *f, const TlPlace *p)
{
   const TlSv *self = &p->self;
   TlRange range = p->node->range;
   int64_t from, to;
   bool is_list = self->kind == TL_SV_TUPLE && self->tuple->is_list;
   if (is_list && p->key.kind == TL_SV_SLICE) {
      if (!slice_bounds(s, self->tuple, &p->key, range, &from, &to))
         return false;
   } else if (is_list || self->kind == TL_SV_DICT) {
      if (tl_place_value(s, f, p).kind == TL_SV_POISON)
         return false; /* no such item */
      if (is_list && !tl_known_int(&p->key, &from))
         return false;
      if (is_list) {
         from = from < 0 ? from + (int64_t)self->tuple->len : from;
         to = from + 1;
      }
   } else {
      tl_report(s->diags, E0230, range, tl_sv_describe(s, self));
      return false;
   }
   if (!tl_make_change(s, self, range))
      return false;
   if (is_list)
      splice(s, self->tuple, (size_t)from, (size_t)(to - from), NULL, 0);
   else
      tl_dict_del(s, self, &p->key);
   return true;
}

bool
tl_host_del(TlSema *s, TlFrame *f, const TlNode *target)
{
   const TlNodeList *items = target->kind == TL_AST_TUPLE  ? &tl_ast_Tuple(target)->items
                             : target->kind == TL_AST_LIST ? &tl_ast_List(target)->items
                                                           : NULL;
   for (size_t i = 0; items && i < items->len; i++)
      if (!tl_host_del(s, f, items->data[i]))
         return false;
   if (items)
      return true;
   TlPlace p;
   if (!tl_place_of(s, f, target, &p))
      return false;
   if (target->kind == TL_AST_SUBSCRIPT)
      return del_item(s, f, &p);
   if (target->kind == TL_AST_NAME) {
      if (tl_lookup(s, f, tl_ast_Name(target)->id, target->range).kind == TL_SV_POISON)
         return false;
      tl_frame_del(s, f, tl_ast_Name(target)->id, target->range);
      return true;
   }
   if (target->kind == TL_AST_ATTRIBUTE)
      tl_class_lose(s, &p.self, tl_ast_Attribute(target)->name, target->range);
   tl_report(s->diags, E0231, target->range, tl_sv_describe(s, &p.self));
   return false;
}

/* ---- x += v ---- */
static bool
list_in_place(TlSema *s, TlAstOp op, const TlSv *self, const TlSv *value, TlRange range)
{
   TlSv *items;
   size_t len;
   if (op == TL_AST_OP_ADD) {
      if (!tl_iterate(s, value, range, &items, &len) || !tl_make_change(s, self, range))
         return true;
      splice(s, self->tuple, self->tuple->len, 0, items, len);
      return true;
   }
   if (op != TL_AST_OP_MUL || (value->kind != TL_SV_INT && value->kind != TL_SV_BOOL))
      return false;
   TlSv many = tl_const_binary(s, op, self, value, range);
   if (many.kind == TL_SV_TUPLE && tl_make_change(s, self, range))
      splice(s, self->tuple, 0, self->tuple->len, many.tuple->items, many.tuple->len);
   return true;
}

static bool
set_in_place(TlSema *s, TlAstOp op, const TlSv *self, const TlSv *value, TlRange range)
{
   TlSv out;
   if (!tl_set_binary(s, op, self, value, &out))
      return false;
   if (out.kind == TL_SV_SET && tl_make_change(s, self, range))
      splice(s, self->tuple, 0, self->tuple->len, out.tuple->items, out.tuple->len);
   return true;
}

bool
tl_host_in_place(TlSema *s, TlFrame *f, TlAstOp op, const TlSv *self, const TlSv *value,
                 TlRange range)
{
   (void)f;
   bool is_list = tl_change_of(self) != NULL;
   if (is_list && self->kind == TL_SV_TUPLE)
      return list_in_place(s, op, self, value, range);
   if (is_list && self->kind == TL_SV_SET)
      return set_in_place(s, op, self, value, range);
   if (self->kind == TL_SV_DICT && op == TL_AST_OP_BITOR && value->kind == TL_SV_DICT) {
      if (tl_make_change(s, self, range))
         for (size_t i = 0; i < value->fields->len; i++)
            tl_dict_set(s, self, &value->fields->keys[i], value->fields->values[i]);
      self->fields->writes++;
      return true;
   }
   if (self->kind == TL_SV_OBJECT) {
      tl_report(s->diags, E0259, range, "in-place operator", "the class may define it");
      return true;
   }
   return false;
}
