/* `match`: the subject's parts are compared with each case's pattern in turn, by Python's rules.
 * Which case it is must be known: in compiled code it chooses what is compiled, and a run-time
 * value can be bound by a pattern but decides nothing. */
#include "sema/impl.h"

#include <assert.h>
#include <string.h>

typedef enum Verdict { NO, YES, UNDECIDED /* an error was reported */ } Verdict;

typedef struct Bound {
   const TlNode *target; /* Name */
   TlSv value;
} Bound;

typedef struct Matcher {
   TlSema *s;
   TlFrame *f;
   TL_VEC(Bound) bound; /* by the pattern so far; names get their values when all of it fits */
} Matcher;

static Verdict fits(Matcher *m, const TlNode *pattern, const TlSv *v);

static Verdict
verdict(bool yes)
{
   return yes ? YES : NO;
}

static Verdict
undecided(Matcher *m, TlRange range, const char *why)
{
   tl_report(m->s->diags, E0246, range, why);
   return UNDECIDED;
}

/* An error that is Python's own. */
static Verdict
raise(Matcher *m, TlRange range, const char *exception, const char *why)
{
   undecided(m, range, why);
   tl_raise_as(m->s, exception);
   return UNDECIDED;
}

static void
bind(Matcher *m, const TlNode *target, TlSv value)
{
   if (target)
      tl_vec_push(m->s->arena, &m->bound, (Bound){target, value});
}

/* Of all sequences and mappings the evaluator knows its own; a class may derive from them. */
static bool
may_be_container(Matcher *m, const TlSv *v)
{
   return v->kind == TL_SV_OPAQUE || v->kind == TL_SV_POISON ||
          (v->kind == TL_SV_OBJECT && !tl_is_plain_object(m->s, v));
}

static Verdict
no_container(Matcher *m, const TlNode *pattern, const TlSv *v)
{
   if (tl_is_foreign(v)) {
      tl_report_opaque(m->s, v, pattern->range);
      return UNDECIDED;
   }
   return may_be_container(m, v)
             ? undecided(m, pattern->range, "it is not known what kind of value this is")
             : NO;
}

/* ---- values ---- */
static Verdict
truth_of(Matcher *m, const TlSv *v, TlRange range)
{
   bool known = true, truth = false;
   if (v->kind == TL_SV_POISON)
      return UNDECIDED;
   bool ok = tl_is_host(m->f) ? tl_host_truth(m->s, v, range, &truth)
                              : tl_truth(m->s, v, range, &known, &truth);
   if (ok && !known)
      return undecided(m, range, "this is known at run time only");
   return ok ? verdict(truth) : UNDECIDED;
}

static Verdict
fits_value(Matcher *m, const TlAstPatValue *p, const TlSv *v)
{
   bool is_same = p->value->kind == TL_AST_CONST; /* None, True, False: by `is` */
   TlSv wanted = tl_eval_expr(m->s, m->f, p->value);
   if (wanted.kind == TL_SV_POISON)
      return UNDECIDED;
   if (wanted.kind == TL_SV_NONE && tl_sv_is_runtime(v))
      return NO;
   if (tl_sv_is_runtime(v) || tl_sv_is_runtime(&wanted))
      return undecided(m, p->node.range, "the value compared is known at run time only");
   TlSv equal =
      tl_apply_compare(m->s, is_same ? TL_AST_OP_IS : TL_AST_OP_EQ, v, &wanted, p->node.range);
   return truth_of(m, &equal, p->node.range);
}

/* ---- containers ---- */
static Verdict
fit_items(Matcher *m, const TlNodeList *patterns, const TlSv *items, size_t len)
{
   size_t star = 0, n = patterns->len;
   while (star < n && patterns->data[star]->kind != TL_AST_PAT_STAR)
      star++;
   if (star < n ? len + 1 < n : len != n)
      return NO;
   for (size_t i = 0; i < n; i++) {
      size_t rest = len + 1 - n; /* how many the star takes, if there is one */
      if (i == star) {
         TlSv list = tl_make_tuple(m->s, items + i, rest, true);
         bind(m, tl_ast_PatStar(patterns->data[i])->target, list);
         continue;
      }
      Verdict one = fits(m, patterns->data[i], &items[i < star ? i : i + rest - 1]);
      if (one != YES)
         return one;
   }
   return YES;
}

static Verdict
fits_sequence(Matcher *m, const TlAstPatSequence *p, const TlSv *v)
{
   TlSv *items;
   size_t len;
   if (v->kind != TL_SV_TUPLE && v->kind != TL_SV_RANGE)
      return no_container(m, &p->node, v);
   if (!tl_iterate(m->s, v, p->node.range, &items, &len))
      return UNDECIDED;
   return fit_items(m, &p->items, items, len);
}

static Verdict
fit_keys(Matcher *m, const TlAstPatMapping *p, const TlSv *dict, const TlSv *keys)
{
   TlSema *s = m->s;
   TlSv *values = tl_new_array(s->arena, TlSv, p->keys.len + 1);
   for (size_t i = 0; i < p->keys.len; i++) {
      s->steps += i / 8;
      if (!tl_step(s, p->keys.data[i]->range))
         return UNDECIDED;
      for (size_t k = 0; k < i; k++)
         if (tl_const_equal(s, &keys[i], &keys[k]))
            return raise(m, p->keys.data[i]->range, "ValueError", "the key is asked for twice");
      bool found;
      values[i] = tl_dict_get(s, dict, &keys[i], &found);
      if (!found)
         return NO;
   }
   Verdict all = YES;
   for (size_t i = 0; i < p->keys.len && all == YES; i++)
      all = fits(m, p->patterns.data[i], &values[i]);
   return all;
}

static Verdict
fits_mapping(Matcher *m, const TlAstPatMapping *p, const TlSv *v)
{
   TlSema *s = m->s;
   if (v->kind != TL_SV_DICT)
      return no_container(m, &p->node, v);
   if (tl_report_lost(s, v, p->node.range))
      return UNDECIDED;
   TlSv *keys = tl_new_array(s->arena, TlSv, p->keys.len + 1);
   for (size_t i = 0; i < p->keys.len && v->fields->len >= p->keys.len; i++) {
      keys[i] = tl_eval_expr(s, m->f, p->keys.data[i]);
      if (keys[i].kind == TL_SV_POISON || !tl_check_hashable(s, &keys[i], p->keys.data[i]->range))
         return UNDECIDED;
   }
   Verdict all = v->fields->len >= p->keys.len ? fit_keys(m, p, v, keys) : NO;
   if (all != YES || !p->rest)
      return all;
   TlSv rest = tl_dict_new(s);
   for (size_t i = 0; i < v->fields->len; i++)
      tl_dict_set(s, &rest, &v->fields->keys[i], v->fields->values[i]);
   for (size_t i = 0; i < p->keys.len; i++)
      tl_dict_del(s, &rest, &keys[i]);
   bind(m, p->rest, rest);
   return YES;
}

/* ---- classes ---- */
static Verdict
is_instance(Matcher *m, const TlNode *pattern, const TlSv *v, const TlSv *cls)
{
   TlSv fn, args[2] = {*v, *cls}, yes;
   if (tl_is_host(m->f) && tl_host_builtin(m->s, "isinstance", &fn))
      yes = tl_sema_call(m->s, &fn, args, 2, pattern->range);
   else
      yes = tl_invoke_named(m->s, TL_NS_PYTHON, "isinstance", args, 2, pattern->range);
   return truth_of(m, &yes, pattern->range);
}

static Verdict
attribute(Matcher *m, const TlNode *item, const TlSv *self, const char *name, TlSv *value)
{
   switch (tl_try_attribute(m->s, self, name, item->range, value)) {
   case TL_HAS_IT:
      return value->kind == TL_SV_POISON ? UNDECIDED : YES;
   case TL_HAS_UNKNOWN:
      return undecided(m, item->range, "it is not known whether the value has this attribute");
   case TL_HAS_FAILED:
      return UNDECIDED;
   case TL_HAS_NOT:
      break;
   }
   return NO;
}

/* Classes whose pattern has one part by position: the value itself. */
static bool
is_own_part(const TlSv *cls)
{
   static const char *const names[] = {"bool", "bytearray", "bytes", "dict", "float", "frozenset",
                                       "int",  "list",      "set",   "str",  "tuple"};
   for (size_t i = 0; cls->kind == TL_SV_BUILTIN && i < sizeof names / sizeof names[0]; i++)
      if (strcmp(cls->builtin.row->name, names[i]) == 0)
         return true;
   return false;
}

/* How many parts by position the class has, and their names, where it has names. */
static Verdict
count_by_position(Matcher *m, const TlAstPatClass *p, const TlSv *cls, TlSv *names, size_t *num)
{
   const char *word = "__match_args__";
   *names = tl_sv_none();
   *num = is_own_part(cls);
   if (cls->kind != TL_SV_FUNC)
      return YES;
   if (!tl_class_attr(m->s, cls->func, word, names)) {
      const TlClassInfo *info = tl_class_info(m->s, cls->func);
      return info && !info->is_cut
                ? YES
                : undecided(m, p->cls->range, "not all bases of this class are known");
   }
   if (tl_is_foreign(names))
      return no_container(m, p->cls, names);
   if (names->kind != TL_SV_TUPLE || names->tuple->is_list)
      return raise(m, p->cls->range, "TypeError", "'__match_args__' of the class is no tuple");
   *num = names->tuple->len;
   return YES;
}

/* The attributes that the parts are; NULL: the value itself. */
static Verdict
name_parts(Matcher *m, const TlAstPatClass *p, const TlSv *cls, const char **names)
{
   TlSv by_position;
   size_t num = 0, given = 0;
   while (given < p->items.len && p->items.data[given]->kind != TL_AST_KEYWORD)
      given++;
   Verdict counted = given ? count_by_position(m, p, cls, &by_position, &num) : YES;
   if (counted != YES)
      return counted;
   if (given > num)
      return raise(m, p->items.data[num]->range, "TypeError",
                   "the class names no such part in '__match_args__'");
   for (size_t i = 0; i < p->items.len; i++) {
      const TlNode *item = p->items.data[i];
      const TlSv *name =
         i < given && by_position.kind == TL_SV_TUPLE ? &by_position.tuple->items[i] : NULL;
      if (i >= given)
         names[i] = tl_ast_Keyword(item)->name;
      else if (name && name->kind == TL_SV_STR)
         names[i] = tl_intern(m->s->strings, name->s.data, name->s.len);
   }
   return YES;
}

/* The values of all parts, before any of them is compared. */
static Verdict
find_parts(Matcher *m, const TlAstPatClass *p, const TlSv *cls, const TlSv *v, TlSv *parts)
{
   const char **names = tl_new_array(m->s->arena, const char *, p->items.len + 1);
   TlMap seen;
   tl_map_init(&seen, m->s->arena);
   Verdict all = name_parts(m, p, cls, names);
   for (size_t i = 0; i < p->items.len && all == YES; i++) {
      const TlNode *item = p->items.data[i];
      if (!names[i] && cls->kind == TL_SV_FUNC)
         return raise(m, item->range, "TypeError", "a name in '__match_args__' is no string");
      if (names[i] && tl_map_has(&seen, names[i]))
         return raise(m, item->range, "TypeError", "the attribute is asked for twice");
      if (names[i])
         tl_map_put(&seen, names[i], m);
      parts[i] = *v;
      all = names[i] ? attribute(m, item, v, names[i], &parts[i]) : YES;
   }
   return all;
}

static bool
is_class(const TlSv *v)
{
   return v->kind == TL_SV_BUILTIN ||
          (v->kind == TL_SV_FUNC && v->func->node->kind == TL_AST_CLASS);
}

static Verdict
fits_class(Matcher *m, const TlAstPatClass *p, const TlSv *v)
{
   TlSv cls = tl_eval_expr(m->s, m->f, p->cls);
   if (cls.kind == TL_SV_POISON)
      return UNDECIDED;
   if (tl_is_foreign(&cls))
      return no_container(m, p->cls, &cls);
   if (!is_class(&cls))
      return cls.kind == TL_SV_OBJECT ? undecided(m, p->cls->range, "this class is not known")
                                      : raise(m, p->cls->range, "TypeError", "this is no class");
   TlSv *parts = tl_new_array(m->s->arena, TlSv, p->items.len + 1);
   Verdict all = is_instance(m, &p->node, v, &cls);
   all = all == YES ? find_parts(m, p, &cls, v, parts) : all;
   for (size_t i = 0; i < p->items.len && all == YES; i++) {
      const TlNode *item = p->items.data[i];
      all = fits(m, item->kind == TL_AST_KEYWORD ? tl_ast_Keyword(item)->value : item, &parts[i]);
   }
   return all;
}

/* ---- patterns ---- */
static Verdict
fits_one_of(Matcher *m, const TlNodeList *alternatives, const TlSv *v)
{
   size_t before = m->bound.len;
   Verdict one = NO;
   for (size_t i = 0; i < alternatives->len && one == NO; i++) {
      m->bound.len = before;
      one = fits(m, alternatives->data[i], v);
   }
   return one;
}

static Verdict
fits(Matcher *m, const TlNode *pattern, const TlSv *v)
{
   if (!tl_step(m->s, pattern->range))
      return UNDECIDED;
   switch (pattern->kind) {
   case TL_AST_PAT_VALUE:
      return fits_value(m, tl_ast_PatValue(pattern), v);
   case TL_AST_PAT_CAPTURE: {
      const TlAstPatCapture *p = tl_ast_PatCapture(pattern);
      Verdict inner = p->pattern ? fits(m, p->pattern, v) : YES;
      if (inner == YES)
         bind(m, p->target, *v);
      return inner;
   }
   case TL_AST_PAT_OR:
      return fits_one_of(m, &tl_ast_PatOr(pattern)->alternatives, v);
   case TL_AST_PAT_SEQUENCE:
      return fits_sequence(m, tl_ast_PatSequence(pattern), v);
   case TL_AST_PAT_MAPPING:
      return fits_mapping(m, tl_ast_PatMapping(pattern), v);
   case TL_AST_PAT_CLASS:
      return fits_class(m, tl_ast_PatClass(pattern), v);
   default:
      assert(false && "no pattern");
      return UNDECIDED;
   }
}

/* ---- the statement ---- */
static Verdict
fits_case(Matcher *m, const TlAstCase *c, const TlSv *v)
{
   m->bound.len = 0;
   Verdict whole = fits(m, c->pattern, v);
   if (whole != YES)
      return whole;
   bool is_host = tl_is_host(m->f);
   for (size_t i = 0; i < m->bound.len; i++) {
      TlSv value = m->bound.data[i].value;
      if (!tl_assign(m->s, m->f, m->bound.data[i].target,
                     is_host ? value : tl_strengthen(m->s, value)))
         return UNDECIDED;
   }
   if (!c->guard)
      return YES;
   TlSv guard = tl_eval_expr(m->s, m->f, c->guard);
   return truth_of(m, &guard, c->guard->range);
}

bool
tl_match_case(TlSema *s, TlFrame *f, const TlAstMatch *n, const TlNodeList **body)
{
   Matcher m = {.s = s, .f = f};
   TlSv subject = tl_eval_expr(s, f, n->subject);
   Verdict one = subject.kind == TL_SV_POISON ? UNDECIDED : NO;
   *body = NULL;
   if (!tl_is_host(f) && tl_is_foreign(&subject)) {
      tl_report_opaque(s, &subject, n->subject->range);
      return false;
   }
   for (size_t i = 0; i < n->cases.len && one == NO; i++) {
      one = fits_case(&m, tl_ast_Case(n->cases.data[i]), &subject);
      *body = one == YES ? &tl_ast_Case(n->cases.data[i])->body : NULL;
   }
   if (one == UNDECIDED && !tl_is_host(f) && subject.kind != TL_SV_POISON)
      tl_help(s->diags, "in compiled code 'match' chooses what is compiled; of run-time values use "
                        "'if' or 'where'");
   return one != UNDECIDED;
}

TlFlow
tl_stmt_match(TlSema *s, TlFrame *f, const TlAstMatch *n, const TlCont *rest)
{
   const TlNodeList *body;
   if (tl_match_case(s, f, n, &body))
      return body ? tl_stmt_block(s, f, body, 0, rest) : TL_FLOW_NEXT;
   TlNodeList one = {(TlNode *[]){(TlNode *)(uintptr_t)&n->node}, 1, 1};
   if (!tl_is_host(f))
      tl_poison_assigned(s, f, &one, n->node.range);
   return TL_FLOW_NEXT;
}
