/* Typing a kernel without types: trials that put their diagnostics aside, each with what the one
 * before it found wanting.  See generic.h.
 *
 * A way through the kernel ("world") fixes its flags and words, a variant the element types and the
 * sizes.  Errors of a world are those that all its variants have.  Where sizes
 * were guessed, what is wrong with sizes is none. */
#include "sema/generic.h"
#include "ir/control.h"
#include "ir/walk.h"
#include "sema/impl.h"
#include "sema/launch_args.h"
#include "sema/lint.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

typedef struct Param {
   bool is_pointer;
   bool has_want;    /* of its elements, or of the scalar itself */
   bool needs_other; /* a descriptor or a tuple: unless it turns out to be a pointer */
   TlWant want;
} Param;

typedef struct Trial {
   TlFunc *func;
   TlDiag *first;    /* all it reported */
   bool has_guessed; /* it needed a guess */
   unsigned run_time_raises;
} Trial;

typedef struct Blamed {
   const TlValue *value;
   TlWant want;
} Blamed;

/* A loop that is built again blames its values again: what is left of the first says nothing. */
enum { MAX_BLAMED = 64 };

typedef struct Checker {
   TlSema *s;
   TlSpecialization spec;
   const TlKernelInfo *kernel;
   const TlConstHint *hints;
   TlGuess *guesses;
   Param *params;
   unsigned world;
   enum { SAME, RISING, FALLING } spread; /* how sizes that are guessed differ from each other */
   bool is_over;          /* the trial: what loops are entered with is known, or never will be */
   bool is_refined;       /* by what the trial found wanting: another may do better */
   bool has_wrong_launch; /* an error was reported of one */
   unsigned given_trials; /* of what launches give, so far */
   const char **forced;   /* by parameter, what a launch gives it; NULL: guessed */
   const char **launched; /* by parameter, the type that all launches in the file give; or NULL */
   Blamed blamed[MAX_BLAMED]; /* did not fit and led to no guess yet */
   unsigned num_blamed;
   bool needs_other; /* one of them does, which nothing describes */
} Checker;

/* ---- variants ---- */
static const struct {
   const char *element, *size;
   const char *dtype; /* of a constexpr: i32 alone is a signature's type of a run-time number */
} variants[] = {{"fp32", "64", "fp32"},  {"fp16", "16", "fp16"},    {"i32", "128", "tl.int32"},
                {"i8", "32", "tl.int8"}, {"i64", "64", "tl.int64"}, {"fp32", "1", "fp32"}};
/* With tiles of one element much is right that is not else: the last variant only shows which
 * messages tell a size that was guessed. */
enum {
   NUM_VARIANTS = sizeof variants / sizeof variants[0],
   TINY = NUM_VARIANTS - 1,
   MAX_WORLDS = 4
};

/* Of a size: no other has the same, as long as there are few. */
static const char *
spread_size(const Checker *c, const TlConstHint *hint)
{
   static const char *const sizes[] = {"32", "64", "16", "128", "8", "4"};
   enum { NUM_SIZES = sizeof sizes / sizeof sizes[0] };
   unsigned before = 0, behind = 0;
   for (unsigned i = 0; i < c->kernel->num_params; i++) {
      bool is_size = c->kernel->params[i].is_constexpr && c->hints[i].use == TL_CONST_NUMBER;
      before += is_size && c->hints + i < hint;
      behind += is_size && c->hints + i > hint;
   }
   return sizes[(c->spread == RISING ? before : behind) % NUM_SIZES];
}

static const char *
const_entry(const Checker *c, const TlConstHint *hint, unsigned variant)
{
   unsigned pick = c->world;
   if (hint->num_launched) /* sizes of one launch belong together */
      return hint->values.data[pick % hint->num_launched];
   switch (hint->use) {
   case TL_CONST_FLAG:
      return pick % 2 ? "False" : "True";
   case TL_CONST_WORD:
   case TL_CONST_CHOICE:
      return hint->values.data[pick % hint->values.len];
   case TL_CONST_DTYPE:
      return variants[variant].dtype;
   case TL_CONST_FRACTION:
      return "2.0";
   default:
      return c->spread != SAME ? spread_size(c, hint) : variants[variant].size;
   }
}

static const char *
entry_of(const Checker *c, unsigned i, unsigned variant)
{
   const Param *p = &c->params[i];
   if (c->kernel->params[i].is_constexpr)
      return const_entry(c, &c->hints[i], variant);
   const char *scalar = !p->has_want                 ? "i32"
                        : p->want == TL_WANT_FLOAT   ? "fp32"
                        : p->want == TL_WANT_BOOL    ? "i1"
                        : p->want == TL_WANT_ONE     ? "1"
                        : p->want == TL_WANT_ADDRESS ? "i64"
                                                     : "i32";
   if (c->forced[i])
      return c->forced[i];
   if (!p->is_pointer)
      return scalar;
   if (c->launched[i] && c->launched[i][0] == '*')
      return c->launched[i];
   return tl_arena_printf(c->s->arena, "*%s", p->has_want ? scalar : variants[variant].element);
}

/* ---- whose fault a type is ---- */
typedef struct Trace {
   const Checker *checker;
   TlWant want;
   int param; /* found, or -1 */
   unsigned steps;
   bool takes_choices; /* a pointer may have been chosen by `where`; more often an index was */
   bool is_open;       /* it leads into a loop whose start values are not there yet */
} Trace;

static void trace(Trace *t, const TlValue *v);

static int
param_of(const Checker *c, const TlValue *v)
{
   for (unsigned i = 0; i < c->kernel->num_params; i++)
      if (c->guesses[i].is_used && c->guesses[i].value == v)
         return (int)i;
   return -1;
}

/* Is the parameter what is wanted already, or another thing for a reason?  Then some other one that
 * the value is made of is to change. */
static bool
is_settled(const Checker *c, int param, TlWant want)
{
   const Param *p = &c->params[param];
   return want == TL_WANT_POINTER ? p->is_pointer
          : want == TL_WANT_OTHER ? p->needs_other
                                  : p->has_want;
}

/* An argument of a region is what the loop is entered with. */
static void
trace_argument(Trace *t, const TlValue *v)
{
   const TlOp *loop = v->block->region->parent;
   t->param = loop ? -1 : param_of(t->checker, v);
   if (t->param >= 0 && is_settled(t->checker, t->param, t->want))
      t->param = -1;
   if (!loop || !tl_is_loop(loop))
      return;
   unsigned first = tl_first_carried(loop);
   bool is_built = v->index >= first && tl_first_init(loop) + v->index - first < loop->num_args;
   if (is_built) /* an error may have ended it before */
      trace(t, tl_init(loop, v->index - first));
   else
      t->is_open = v->index >= first && !t->checker->is_over;
}

/* What a branch gives; all branches are to fit, one after the other. */
static void
trace_branches(Trace *t, const TlValue *v)
{
   for (unsigned r = 0; r < v->def->num_regions && t->param < 0 && !t->is_open; r++) {
      const TlOp *yield = v->def->regions[r]->block->last;
      if (yield && yield->opcode == TL_OP_YIELD && v->index < yield->num_args)
         trace(t, tl_arg(yield, v->index));
   }
}

/* A pointer is moved by sums and differences; a number comes from any arithmetic. */
static bool
passes_on(const TlOp *op, TlWant want, bool takes_choices)
{
   if (want == TL_WANT_ONE || want == TL_WANT_OTHER)
      return want == TL_WANT_ONE && op->opcode == TL_OP_CAST;
   if (want != TL_WANT_POINTER)
      return tl_op_info[op->opcode].traits & TL_TRAIT_PURE || op->opcode == TL_OP_LOAD;
   return op->opcode == TL_OP_ADD || op->opcode == TL_OP_SUB || op->opcode == TL_OP_CAST ||
          (takes_choices && op->opcode == TL_OP_SELECT) ||
          (tl_op_info[op->opcode].traits & TL_TRAIT_SAME_ELEMENTS) ||
          (op->num_args == 1 && !(tl_op_info[op->opcode].traits & TL_TRAIT_ELTWISE));
}

static void
trace(Trace *t, const TlValue *v)
{
   enum { MAX_STEPS = 2000 };
   if (!v || ++t->steps > MAX_STEPS || t->param >= 0)
      return; /* no value: an error has left the operation half built */
   if (!v->def) {
      trace_argument(t, v);
      return;
   }
   const TlType *elem = tl_type_elem(v->type);
   if (t->want == TL_WANT_BOOL && elem->kind == TL_TYPE_SCALAR && elem->dtype == TL_I1)
      return; /* not this side of an `&` */
   if (v->def->opcode == TL_OP_IF)
      trace_branches(t, v);
   if (!passes_on(v->def, t->want, t->takes_choices))
      return;
   unsigned num = v->def->opcode == TL_OP_LOAD ? 1 : v->def->num_args;
   bool is_choice = t->want == TL_WANT_POINTER && v->def->opcode == TL_OP_SELECT;
   for (unsigned i = is_choice ? 1 : 0; i < num && t->param < 0 && !t->is_open; i++)
      trace(t, tl_arg(v->def, i));
}

/* Learns from a type that does not fit, if a guess is what made it. */
static void
refine(Checker *c, const TlValue *v, TlWant want)
{
   Trace t = {.checker = c, .want = want, .param = -1};
   trace(&t, v);
   if (t.param < 0 && want == TL_WANT_POINTER && !t.is_open) {
      t = (Trace){.checker = c, .want = want, .param = -1, .takes_choices = true};
      trace(&t, v);
   }
   if (t.param < 0)
      return;
   Param *p = &c->params[t.param];
   if (want == TL_WANT_OTHER) {
      p->needs_other = true;
   } else if (want == TL_WANT_POINTER) {
      c->is_refined = !p->is_pointer;
      p->is_pointer = true;
   } else if (!p->has_want) {
      c->is_refined = p->has_want = true;
      p->want = want;
   }
}

/* The first such type counts.  What a loop is entered with shows when the loop is done, operations
 * that an error ends are taken apart later: both times are tried. */
static void
hear(void *user, const TlValue *v, TlWant want)
{
   Checker *c = user;
   if (c->is_refined)
      return;
   refine(c, v, want);
   if (!c->is_refined && c->num_blamed < MAX_BLAMED)
      c->blamed[c->num_blamed++] = (Blamed){v, want};
}

static void
replace(void *user, const TlValue *old, const TlValue *now)
{
   Checker *c = user;
   for (unsigned i = 0; i < c->num_blamed; i++)
      if (c->blamed[i].value == old)
         c->blamed[i].value = now;
}

/* ---- one trial ---- */
static bool
is_syntax(const TlDiag *d)
{
   return tl_starts_with(tl_diag_name(d->code), "E01");
}

/* What does not parse in a file that the trial was the first to import is wrong whatever the
 * kernel's parameters are, and no later trial says it. */
static void
report_syntax(Checker *c, const TlDiag *d)
{
   for (; d; d = d->next)
      if (is_syntax(d))
         tl_diags_repeat(c->s->diags, d);
}

static Trial
try_out(Checker *c, unsigned variant)
{
   TlSema *s = c->s;
   Trial t = {0};
   for (unsigned i = 0; i < c->kernel->num_params; i++)
      c->guesses[i] = (TlGuess){.entry = entry_of(c, i, variant)};
   c->spec.guesses = c->guesses;
   c->is_refined = c->is_over = false;
   c->num_blamed = 0;
   s->impl->blame = (TlBlame){.hear = hear, .replace = replace, .user = c};
   TlQuiet q;
   tl_quiet_begin(s, &q);
   unsigned raises = s->impl->run_time_raises;
   t.func = tl_sema_compile(s, &c->spec);
   t.first = q.diags.first;
   t.run_time_raises = s->impl->run_time_raises - raises;
   if (tl_quiet_end(s, &q))
      t.func = NULL;
   report_syntax(c, t.first);
   s->impl->blame = (TlBlame){0};
   c->is_over = true;
   for (unsigned i = 0; i < c->num_blamed && !c->is_refined; i++)
      refine(c, c->blamed[i].value, c->blamed[i].want);
   for (unsigned i = 0; i < c->kernel->num_params; i++)
      t.has_guessed |= c->guesses[i].is_used;
   return t;
}

/* Does it come from the value by what keeps each element's number? */
static bool
is_copy_of(const TlValue *v, const TlValue *of)
{
   while (v != of && v->def && v->def->num_args == 1 &&
          (v->def->opcode == TL_OP_CAST || v->def->opcode == TL_OP_SPLAT ||
           v->def->opcode == TL_OP_BROADCAST || v->def->opcode == TL_OP_EXPAND_DIMS))
      v = tl_arg(v->def, 0);
   return v == of;
}

/* offsets < n, where n is what a load took for its mask: the first is right, so it is a number. */
static bool
is_ordered(const TlFunc *f, const TlValue *v)
{
   const TlBlock *top = f->body->block;
   for (const TlOp *op = top->first; op; op = tl_walk_next(op, top)) {
      bool is_order = op->opcode == TL_OP_LT || op->opcode == TL_OP_LE || op->opcode == TL_OP_GT ||
                      op->opcode == TL_OP_GE;
      for (unsigned i = 0; is_order && i < 2; i++)
         if (is_copy_of(tl_arg(op, i), v) && tl_type_is_tile(tl_arg(op, 1 - i)->type))
            return true;
   }
   return false;
}

/* Takes parameters that were taken for masks, and are compared with tiles, for numbers. */
static bool
unmask(Checker *c, const TlFunc *f)
{
   bool any = false;
   for (unsigned i = 0; i < c->kernel->num_params; i++) {
      Param *p = &c->params[i];
      bool is_mask = c->guesses[i].is_used && c->guesses[i].value && p->has_want &&
                     p->want == TL_WANT_BOOL && !p->is_pointer;
      if (!is_mask || !is_ordered(f, c->guesses[i].value))
         continue;
      p->want = TL_WANT_INT;
      any = true;
   }
   return any;
}

static Trial
try_variant(Checker *c, unsigned variant)
{
   memset(c->params, 0, c->kernel->num_params * sizeof *c->params);
   Trial t = try_out(c, variant);
   while (!t.func && c->is_refined)
      t = try_out(c, variant);
   if (t.func && unmask(c, t.func))
      t = try_out(c, variant);
   for (unsigned i = 0; i < c->kernel->num_params; i++)
      c->needs_other |= c->params[i].needs_other && !c->params[i].is_pointer;
   return t;
}

void
tl_blame(TlSema *s, const TlValue *v, TlWant want)
{
   const TlBlame *b = &s->impl->blame;
   if (b->hear && v)
      b->hear(b->user, v, want);
}

void
tl_blame_instead(TlSema *s, const TlValue *old, const TlValue *now)
{
   const TlBlame *b = &s->impl->blame;
   if (b->replace)
      b->replace(b->user, old, now);
}

void
tl_blame_sv(TlSema *s, const TlSv *v, TlWant want)
{
   if (v->kind == TL_SV_VALUE)
      tl_blame(s, v->value, want);
}

static bool
is_int_value(const TlSv *v)
{
   const TlType *t = v->kind == TL_SV_VALUE ? tl_type_elem(v->value->type) : NULL;
   return t && t->kind == TL_TYPE_SCALAR && tl_dtype_is_int(t->dtype);
}

static bool
is_float_value(const TlSv *v)
{
   const TlType *t = v->kind == TL_SV_VALUE ? tl_type_elem(v->value->type) : NULL;
   return v->kind == TL_SV_FLOAT || (t && t->kind == TL_TYPE_SCALAR && tl_dtype_is_float(t->dtype));
}

bool
tl_is_tried(const TlSema *s)
{
   return s->impl->blame.hear;
}

void
tl_blame_pair(TlSema *s, const TlSv *a, const TlSv *b)
{
   const TlSv *number = is_int_value(a) ? a : b, *other = number == a ? b : a;
   if (a->kind == TL_SV_INT || b->kind == TL_SV_INT) /* written out */
      tl_blame_sv(s, a->kind == TL_SV_INT ? b : a, TL_WANT_INT);
   if (!is_int_value(number))
      return;
   if (other->kind == TL_SV_VALUE && tl_type_is_ptr_like(other->value->type))
      tl_blame_sv(s, number, TL_WANT_POINTER);
   else if (is_float_value(other)) {
      tl_blame_sv(s, number, TL_WANT_FLOAT);
      tl_blame_sv(s, other, TL_WANT_INT); /* a number that is written out stays what it is */
   }
}

/* ---- what all variants agree on ---- */
static const TlDiag *
same_diag(const TlDiag *list, const TlDiag *d)
{
   while (list && (list->code != d->code || list->range.file != d->range.file ||
                   list->range.begin != d->range.begin))
      list = list->next;
   return list;
}

static bool
is_guessed_constant(const Checker *c, unsigned i, TlConstUse use)
{
   return c->guesses[i].is_used && c->kernel->params[i].is_constexpr && c->hints[i].use == use &&
          !c->hints[i].num_launched;
}

static bool
is_guessed_size(const Checker *c, unsigned i)
{
   return is_guessed_constant(c, i, TL_CONST_NUMBER);
}

/* One that may be no number at all. */
static bool
has_unknown_constant(const Checker *c)
{
   for (unsigned i = 0; i < c->kernel->num_params; i++)
      if (is_guessed_size(c, i) && !c->hints[i].is_counted)
         return true;
   return false;
}

/* "got constexpr int 64", "got i32 64" */
static bool
tells_a_number(const char *text)
{
   const char *got = strstr(text, "; got ");
   const char *after = got ? strchr(got + strlen("; got "), ' ') : NULL;
   return got && (strstr(got, "constexpr") || (after && strspn(after + 1, "-0123456789")));
}

/* Of shapes, sizes and what is computed from them, and of what is no number: a matter of the
 * numbers that stand for constexprs, where there are such. */
static bool
hangs_on_a_number(const Checker *c, const TlDiag *d)
{
   static const TlDiagCode codes[] = {
      TL_DIAG_E0200, TL_DIAG_E0217, TL_DIAG_E0219, TL_DIAG_E0232, TL_DIAG_E0266, TL_DIAG_E0290,
      TL_DIAG_E0291, TL_DIAG_E0308, TL_DIAG_E0309, TL_DIAG_E0312, TL_DIAG_E0315, TL_DIAG_E0316,
      TL_DIAG_E0334, TL_DIAG_E0342, TL_DIAG_E0344, TL_DIAG_E0345, TL_DIAG_E0346};
   if (d->code == TL_DIAG_E0302) /* not so of what is no number: tl.sum(x, axis="0") */
      return tells_a_number(d->text) && has_unknown_constant(c);
   if (d->code == TL_DIAG_E0346) /* len() of what may be a tuple */
      return strstr(d->text, " of constexpr int ");
   for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
      if (d->code == codes[i])
         return true;
   return false;
}

/* Do the shapes and sizes that it tells come from the kernel's text alone?  Then it is told with
 * other sizes, and the same elements, word for word. */
static bool
tells_no_guess(const Trial *trials, const TlDiag *d)
{
   static const TlDiagCode codes[] = {TL_DIAG_E0219, TL_DIAG_E0290, TL_DIAG_E0291, TL_DIAG_E0302,
                                      TL_DIAG_E0308, TL_DIAG_E0309, TL_DIAG_E0312, TL_DIAG_E0315,
                                      TL_DIAG_E0316, TL_DIAG_E0334, TL_DIAG_E0344, TL_DIAG_E0345};
   const TlDiag *first = same_diag(trials[0].first, d), *tiny = same_diag(trials[TINY].first, d);
   bool is_same = first && tiny && strcmp(first->text, tiny->text) == 0;
   for (size_t i = 0; is_same && i < sizeof codes / sizeof codes[0]; i++)
      if (d->code == codes[i])
         return true;
   return false;
}

static bool
has_guessed_number(const Checker *c)
{
   for (unsigned i = 0; i < c->kernel->num_params; i++)
      if (is_guessed_size(c, i) || is_guessed_constant(c, i, TL_CONST_CHOICE))
         return true;
   return false;
}

/* Not of `n is 3`, of which an error follows. */
static bool
is_false_assertion(const Trial *t, const TlDiag *d)
{
   if (d->code != TL_DIAG_W0212)
      return false;
   for (const TlDiag *e = t->first; e; e = e->next)
      if (e->code == TL_DIAG_E0214 && e->range.begin == d->range.begin)
         return false;
   return true;
}

/* An assertion of the kernel says that its constants are others, or a `raise` that its parameters
 * are (one that is to be None, say): what a trial reports is nothing to go by.  A `raise` that the
 * run would come to is wrong with all parameters. */
static bool
is_ruled_out(const Checker *c, const Trial *t)
{
   bool has_constant = false;
   unsigned run_time_raises = t->run_time_raises;
   for (unsigned i = 0; i < c->kernel->num_params; i++)
      has_constant |=
         c->guesses[i].is_used && c->kernel->params[i].is_constexpr && !c->hints[i].num_launched;
   for (const TlDiag *d = t->first; d; d = d->next) {
      bool is_raise = d->code == TL_DIAG_E0237 && t->has_guessed;
      if (((d->code == TL_DIAG_E0238 || is_false_assertion(t, d)) && has_constant) ||
          (is_raise && run_time_raises-- == 0))
         return true;
   }
   return false;
}

/* Something in the kernel chose the guess; all other parameters are integers. */
static bool
is_telling(const Checker *c, unsigned i)
{
   const Param *p = &c->params[i];
   return c->guesses[i].is_used &&
          (p->is_pointer || p->has_want || c->kernel->params[i].is_constexpr);
}

/* "x: *fp32, BLOCK: 64" */
static const char *
typing_text(const Checker *c)
{
   enum { MAX_SHOWN = 6 };
   TlSb sb;
   tl_sb_init(&sb, c->s->arena);
   unsigned shown = 0;
   for (unsigned i = 0; i < c->kernel->num_params; i++)
      if (is_telling(c, i) && shown++ < MAX_SHOWN)
         tl_sb_printf(&sb, "%s%s: %s", sb.len ? ", " : "", c->kernel->params[i].name,
                      c->guesses[i].entry);
   if (shown > MAX_SHOWN)
      tl_sb_printf(&sb, " and %u more", shown - MAX_SHOWN);
   return sb.len ? tl_sb_cstr(&sb) : "integers";
}

/* A name that there is not: the same under all types. */
static bool
is_of_types(const TlDiag *d)
{
   return d->code != TL_DIAG_E0200 && d->code != TL_DIAG_E0201;
}

static bool
is_launched_type(const Checker *c, unsigned i)
{
   return c->launched[i] && strcmp(c->guesses[i].entry, c->launched[i]) == 0;
}

static bool
has_launched_pointer(const Checker *c)
{
   for (unsigned i = 0; i < c->kernel->num_params; i++)
      if (c->params[i].is_pointer && is_launched_type(c, i))
         return true;
   return false;
}

static void
report_one(Checker *c, const TlDiag *d, const char *typing)
{
   TlDiags *to = c->s->diags;
   tl_diags_repeat(to, d);
   if (!typing || d->severity != TL_SEV_ERROR || !is_of_types(d))
      return;
   if (has_launched_pointer(c))
      tl_note(to, N0210, tl_launches_of(c->s, c->kernel->name)->data[0]->node.range, typing);
   else
      tl_note(to, N0207, c->kernel->name_range, typing);
}

/* Of names and calls: wrong whatever the types are. */
static bool
is_certain(const TlDiag *d)
{
   static const TlDiagCode codes[] = {TL_DIAG_E0201, TL_DIAG_E0216, TL_DIAG_E0237, TL_DIAG_E0239,
                                      TL_DIAG_E0251, TL_DIAG_E0252, TL_DIAG_E0253, TL_DIAG_E0254,
                                      TL_DIAG_E0255, TL_DIAG_E0278, TL_DIAG_E0304};
   for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++)
      if (d->code == codes[i])
         return true;
   return false;
}

static const TlDiag *
first_error(const TlDiag *d)
{
   while (d && d->severity != TL_SEV_ERROR)
      d = d->next;
   return d;
}

static void
find_place(void *user, TlNode *n)
{
   TlWritten *p = user;
   bool is_within = n->range.file == p->range.file && n->range.begin <= p->range.begin &&
                    p->range.begin < n->range.end;
   if (!is_within)
      return;
   if (n->kind >= TL_AST_EXPR_STMT)
      p->statement = n;
   p->is_in_branch |= n->kind == TL_AST_IF || n->kind == TL_AST_CONDITIONAL;
   if (n->kind == TL_AST_CALL && n->range.begin == p->range.begin && n->range.end == p->range.end)
      p->call = n;
   tl_ast_children(n, find_place, p);
}

TlWritten
tl_written_at(TlSema *s, TlRange range)
{
   TlWritten p = {.range = range};
   const TlNodeList *body = &s->impl->main->ast->body;
   for (size_t i = 0; i < body->len; i++)
      if (body->data[i])
         find_place(&p, body->data[i]);
   return p;
}

static bool
is_same_statement(const Checker *c, const TlDiag *a, const TlDiag *b)
{
   const TlNode *at = tl_written_at(c->s, a->range).statement;
   return at && at == tl_written_at(c->s, b->range).statement;
}

static unsigned
num_guessed_sizes(const Checker *c)
{
   unsigned num = 0;
   for (unsigned i = 0; i < c->kernel->num_params; i++)
      num += is_guessed_size(c, i);
   return num;
}

/* The numbers of elements that a reshape has and is to have. */
static bool
read_elements(const TlDiag *d, unsigned long long *have, unsigned long long *want)
{
   const char *first = strstr(d->text, " has "), *last = first;
   for (const char *at = first; at; at = strstr(at + 1, " has "))
      last = at;
   return first && sscanf(first, " has %llu", have) == 1 && sscanf(last, " has %llu", want) == 1;
}

/* Twice as many elements with every size: x.reshape((2, BLOCK)). */
static bool
has_one_ratio(const Trial *trials, const TlDiag *d)
{
   unsigned long long have = 0, want = 0, h, w;
   if (!read_elements(d, &have, &want))
      return false;
   bool differ = false;
   for (unsigned v = 0; v < TINY; v++) {
      const TlDiag *e = same_diag(trials[v].first, d);
      if (!e || !read_elements(e, &h, &w) || h * want != w * have)
         return false;
      differ |= h != have;
   }
   return differ;
}

/* "tile<fp32, 64x16>; got tile<fp32, 16x64>", and not of elements of other types alone. */
static bool
tells_two_shapes(const char *text)
{
   const char *first = strstr(text, "tile<"), *second = first ? strstr(first + 1, "tile<") : NULL;
   const char *a = first ? strchr(first, ',') : NULL, *b = second ? strchr(second, ',') : NULL;
   size_t len = a ? strcspn(a, ">") : 0;
   return !a || !b || strncmp(a, b, len + 1) != 0;
}

/* Does it end in what its elements are, of which `dot` takes no integers, say?  Of shapes behind
 * that it knows nothing. */
static bool
is_blind(const Trial *t)
{
   const TlDiag *d = first_error(t->first);
   return d && (d->code == TL_DIAG_E0330 || d->code == TL_DIAG_E0331 ||
                (d->code == TL_DIAG_E0333 && !tells_two_shapes(d->text)));
}

static bool
is_of_shapes(const TlDiag *d)
{
   return d->code == TL_DIAG_E0290 || d->code == TL_DIAG_E0291 || d->code == TL_DIAG_E0312;
}

/* Do the trials have it, of which `from` is the first?  Shapes are the same with all elements:
 * those that end before do not count. */
static bool
have_it(const Trial *trials, unsigned from, const TlDiag *d)
{
   for (unsigned v = from; v < TINY; v++)
      if (!same_diag(trials[v].first, d) && !(is_of_shapes(d) && is_blind(&trials[v])))
         return false;
   return true;
}

/* Shapes that fit with no size, neither one for all nor one for each: x[:, None] stored where x
 * goes. */
static bool
is_wrong_for_all_sizes(Checker *c, const Trial *trials, unsigned from, const TlDiag *d)
{
   static const char backwards[] = "and 0"; /* arange(BLOCK, 0) */
   size_t len = strlen(d->text), tail = strlen(backwards);
   bool is_backwards = d->code == TL_DIAG_E0315 && strcmp(d->text + len - tail, backwards) == 0;
   if (!is_of_shapes(d) &&
       !(d->code == TL_DIAG_E0344 && num_guessed_sizes(c) == 1 && has_one_ratio(trials, d)) &&
       !is_backwards)
      return false;
   bool is_wrong = have_it(trials, from, d);
   for (c->spread = RISING; is_wrong && c->spread <= FALLING; c->spread++) {
      Trial t = try_variant(c, from);
      const TlDiag *e = first_error(t.first);
      is_wrong = e && (same_diag(t.first, d) || is_same_statement(c, d, e));
   }
   c->spread = SAME;
   return is_wrong;
}

static bool
has_guessed_use(const Checker *c, TlConstUse use)
{
   for (unsigned i = 0; i < c->kernel->num_params; i++)
      if (is_guessed_constant(c, i, use))
         return true;
   return false;
}

/* Do the trials differ in what they say there?  One operand's type is written out, the other's was
 * guessed. */
static bool
says_another(const Trial *trials, unsigned from, const TlDiag *d)
{
   for (unsigned v = from; v < TINY; v++) {
      const TlDiag *same = same_diag(trials[v].first, d);
      if (same && strcmp(same->text, d->text) != 0)
         return true;
   }
   return false;
}

/* Flags go with each other in ways that are not known: what one leaves None another may not use. */
static bool
is_about_none(const TlDiag *d)
{
   return tl_starts_with(d->text, "None has ");
}

/* Reports the errors that all trials share, or (only_certain) those of them that hang on no type;
 * true when there were any.  typings: what each trial took the parameters for. */
static bool
report_shared(Checker *c, const Trial *trials, const char *const *typings, bool only_certain)
{
   bool any = false, has_number = has_guessed_number(c);
   unsigned from = 0;
   while (from + 1 < TINY && is_blind(&trials[from]))
      from++;
   if (is_blind(&trials[from]))
      from = 0;
   for (const TlDiag *d = trials[from].first; d; d = d->next) {
      bool is_guess =
         (has_number && hangs_on_a_number(c, d) && !tells_no_guess(trials, d) &&
          !is_wrong_for_all_sizes(c, trials, from, d)) ||
         (d->code == TL_DIAG_E0342 && has_guessed_use(c, TL_CONST_DTYPE)) ||
         (d->code == TL_DIAG_E0330 && says_another(trials, from, d)) ||
         (d->code == TL_DIAG_E0202 && has_guessed_use(c, TL_CONST_FLAG) && is_about_none(d));
      bool is_shared = d->severity == TL_SEV_ERROR && !is_guess &&
                       (!only_certain || is_certain(d)) && (from == 0 || is_of_shapes(d)) &&
                       have_it(trials, from, d);
      if (is_shared)
         report_one(c, d, only_certain ? NULL : typings[from]);
      any |= is_shared;
   }
   return any;
}

/* The first error that hangs on no type, of the trials that come so far. */
static bool
report_certain(Checker *c, const Trial *trials)
{
   for (unsigned v = 0; v < TINY; v++)
      for (const TlDiag *d = trials[v].first; d; d = d->next)
         if (d->severity == TL_SEV_ERROR && is_certain(d)) {
            report_one(c, d, NULL);
            return true;
         }
   return false;
}

static unsigned
count_errors(const TlDiag *d)
{
   unsigned n = 0;
   for (; d; d = d->next)
      n += d->severity == TL_SEV_ERROR;
   return n;
}

/* What a trial lacks that no guess gives: names of another way through the kernel, items of a
 * tuple, elements of one type where only some pointers lead to it. */
static bool
is_about_guesses(const Checker *c, const TlDiag *d, bool has_number)
{
   return d->code == TL_DIAG_E0200 || d->code == TL_DIAG_E0222 || d->code == TL_DIAG_E0330 ||
          d->code == TL_DIAG_E0342 || d->code == TL_DIAG_E0345 ||
          (has_number && hangs_on_a_number(c, d));
}

/* Would another type of what pointers lead to change it? */
static bool
is_about_elements(const TlDiag *d)
{
   return d->code == TL_DIAG_E0282 || d->code == TL_DIAG_E0283 || d->code == TL_DIAG_E0292 ||
          d->code == TL_DIAG_E0294 || d->code == TL_DIAG_E0302;
}

/* All trials end at one statement, each in its own way: the statement is wrong, and the trial that
 * finds least amiss says best why.  So it is where those of floating-point numbers do: integers
 * often end before, in `dot`. */
static bool
report_statement(Checker *c, const Trial *trials, const char *typing)
{
   enum { NUM_FLOAT = 2 };
   const TlDiag *best = NULL;
   const TlNode *at = NULL;
   unsigned fewest = 0, agreed = 0;
   bool has_number = has_guessed_number(c);
   for (unsigned v = 0; v < TINY; v++) {
      const TlDiag *d = first_error(trials[v].first);
      const TlNode *here = d ? tl_written_at(c->s, d->range).statement : NULL;
      if (!here || (at && here != at))
         break;
      at = here;
      agreed++;
      unsigned n = count_errors(trials[v].first);
      if (!is_about_guesses(c, d, has_number && !tells_no_guess(trials, d)) &&
          (!best || n < fewest)) {
         best = d;
         fewest = n;
      }
   }
   if (!best || agreed < NUM_FLOAT || (agreed < TINY && is_about_elements(best)))
      return false;
   report_one(c, best, typing);
   return true;
}

static bool
has_guessed_type(const Checker *c)
{
   for (unsigned i = 0; i < c->kernel->num_params; i++)
      if (c->guesses[i].is_used && !c->kernel->params[i].is_constexpr && !is_launched_type(c, i))
         return true;
   return false;
}

static bool
has_guessed_constexpr(const Checker *c)
{
   for (unsigned i = 0; i < c->kernel->num_params; i++)
      if (c->guesses[i].is_used && c->kernel->params[i].is_constexpr && !c->hints[i].num_launched)
         return true;
   return false;
}

static void
report_all(Checker *c, const Trial *t, bool with_errors)
{
   for (const TlDiag *d = t->first; d; d = d->next) {
      bool is_about_types = d->code == TL_DIAG_W0212 || d->code == TL_DIAG_W0250 ||
                            (d->code == TL_DIAG_W0249 && has_guessed_type(c)) || /* guesses */
                            (d->code == TL_DIAG_W0298 && has_guessed_number(c));
      if (is_syntax(d))
         continue; /* it is reported */
      if (with_errors || (d->severity != TL_SEV_ERROR && !is_about_types))
         report_one(c, d, NULL);
   }
}

static bool
needs_what_nothing_guesses(const Checker *c)
{
   for (unsigned i = 0; i < c->kernel->num_params; i++)
      if (c->guesses[i].is_used && !c->hints[i].num_launched &&
          (c->hints[i].use == TL_CONST_FUNCTION || c->hints[i].use == TL_CONST_ITEMS))
         return true;
   return false;
}

/* "M: 32, N: 64", of the sizes that were guessed. */
static const char *
sizes_text(const Checker *c)
{
   TlSb sb;
   tl_sb_init(&sb, c->s->arena);
   for (unsigned i = 0; i < c->kernel->num_params; i++)
      if (is_guessed_size(c, i))
         tl_sb_printf(&sb, "%s%s: %s", sb.len ? ", " : "", c->kernel->params[i].name,
                      c->guesses[i].entry);
   return tl_sb_cstr(&sb);
}

/* "tile<fp32, 64x16> and 64 in tile<fp32, 64>": one number for each row, beside the columns. */
static bool
is_row_beside_columns(const char *text)
{
   static const char in[] = " in tile<";
   unsigned dims[2][2] = {{0}};
   for (int i = 0; i < 2; i++) {
      text = strstr(text, in);
      const char *comma = text ? strchr(text, ',') : NULL;
      if (!comma || sscanf(comma, ", %ux%u", &dims[i][0], &dims[i][1]) < 1)
         return false;
      text = comma;
   }
   int table = dims[0][1] ? 0 : 1;
   return dims[table][1] && !dims[1 - table][1] && dims[1 - table][0] == dims[table][0];
}

/* Does it say that rows meet columns?  Large kernels have sizes that are to be equal. */
static bool
is_misfit(Checker *c, const TlDiag *d, unsigned num_sizes)
{
   const TlNode *call = tl_written_at(c->s, d->range).call;
   const char *callee = call ? tl_decorator_name(call) : "";
   bool is_shapes = d->code == TL_DIAG_E0290 || d->code == TL_DIAG_E0291;
   bool is_access = strcmp(callee, "load") == 0 || strcmp(callee, "store") == 0;
   return d->code == TL_DIAG_E0312 || (d->code == TL_DIAG_E0333 && tells_two_shapes(d->text)) ||
          (d->code == TL_DIAG_E0290 && is_row_beside_columns(d->text)) ||
          (is_shapes && (num_sizes <= 2 || (is_access && num_sizes <= 4)));
}

/* Shapes that fit while all sizes are one number, and not with numbers of their own. */
static void
warn_of_misfit(Checker *c, const TlDiag *d, const char *sizes)
{
   tl_report(c->s->diags, W0224, d->range, sizes, d->text);
   if (d->help)
      tl_help(c->s->diags, "%s", d->help);
}

static void
check_spread(Checker *c, unsigned variant)
{
   enum { MANY = 6 }; /* such kernels relate them, and unroll loops over them */
   unsigned num_sizes = num_guessed_sizes(c);
   if (num_sizes < 2 || num_sizes > MANY)
      return;
   c->spread = RISING;
   Trial t = try_out(c, variant);
   c->spread = SAME;
   const TlDiag *d = first_error(t.first);
   if (!d || !tl_written_at(c->s, d->range).statement || !is_misfit(c, d, num_sizes))
      return;
   warn_of_misfit(c, d, sizes_text(c));
}

/* Shapes that fit with one of the sizes alone that were tried, as that is written out beside it. */
static bool
check_only_size(Checker *c, const Trial *trials, const char *sizes, unsigned variant)
{
   unsigned num_sizes = num_guessed_sizes(c);
   const TlDiag *d = variant ? first_error(trials[0].first) : NULL;
   if (!d || !num_sizes || !tl_written_at(c->s, d->range).statement || !is_misfit(c, d, num_sizes))
      return false;
   for (unsigned v = 1; v < variant; v++)
      if (!same_diag(trials[v].first, d))
         return false;
   warn_of_misfit(c, d, sizes);
   return true;
}

/* A file that it imports does not parse: what comes of it is no news. */
static bool
has_broken_import(const TlSema *s)
{
   for (const TlDiag *d = s->diags->first; d; d = d->next)
      if (is_syntax(d) && d->range.file != s->impl->main->file)
         return true;
   return false;
}

/* ---- what launches give ---- */
/* Is what the launch gives another thing than what the kernel was typed with? */
static bool
may_misfit(const Param *p, TlArgKind given)
{
   bool is_number = given == TL_ARG_INT || given == TL_ARG_FLOAT;
   if (p->is_pointer)
      return given != TL_ARG_UNKNOWN && given != TL_ARG_ARRAY;
   if (!is_number)
      return given != TL_ARG_UNKNOWN;
   return given == TL_ARG_FLOAT && !(p->has_want && p->want != TL_WANT_INT);
}

/* What the kernel says where what is in c->forced is given; NULL: there is a way through it. */
static const TlDiag *
try_given(Checker *c, unsigned variant, unsigned worlds)
{
   enum { MOST_TRIALS = 64 };
   const TlDiag *first = NULL;
   unsigned world = c->world;
   bool is_right = false;
   for (unsigned w = 0; w < worlds && !is_right; w++) {
      if (++c->given_trials > MOST_TRIALS) {
         is_right = true; /* for all that is known */
         break;
      }
      c->world = (world + w) % worlds;
      Trial t = try_variant(c, variant);
      const TlDiag *d = first_error(t.first);
      is_right = t.func || !d;
      first = first ? first : d;
   }
   c->world = world;
   return is_right ? NULL : first;
}

/* The error that goes when parameter i is not given what it is; other arguments may be None for the
 * same reason as this one, or by it take a way that has no use for this. */
static const TlDiag *
blame_given(Checker *c, const TlLaunchArg *args, unsigned i, unsigned variant, unsigned worlds)
{
   bool is_none = args[i].kind == TL_ARG_NONE;
   memset(c->forced, 0, c->kernel->num_params * sizeof *c->forced);
   for (unsigned p = 0; p < c->kernel->num_params; p++) {
      bool is_open = args[p].kind == TL_ARG_UNKNOWN && !c->kernel->params[p].is_constexpr;
      if (is_none && is_open)
         return NULL;
      if (args[p].kind == TL_ARG_NONE && p != i)
         c->forced[p] = tl_arg_kind_entry(TL_ARG_NONE);
   }
   const TlDiag *without = try_given(c, variant, worlds);
   c->forced[i] = tl_arg_kind_entry(args[i].kind);
   const TlDiag *with = without ? NULL : try_given(c, variant, worlds);
   memset(c->forced, 0, c->kernel->num_params * sizeof *c->forced);
   return with;
}

/* "exchange 'n' and 'out'", where the other is as much out of place. */
static void
help_given(Checker *c, const TlLaunchArg *args, const Param *params, unsigned i)
{
   TlSema *s = c->s;
   const TlKernelInfo *k = c->kernel;
   const char *text = tl_range_text(s, args[i].node->range);
   TlSb names;
   tl_sb_init(&names, s->arena);
   for (unsigned p = 0; p < k->num_params; p++)
      tl_sb_printf(&names, "%s%s", p ? ", " : "", k->params[p].name);
   for (unsigned p = i + 1; p < k->num_params; p++)
      if (args[p].node && !k->params[p].is_constexpr && may_misfit(&params[p], args[p].kind) &&
          !may_misfit(&params[i], args[p].kind) && !may_misfit(&params[p], args[i].kind)) {
         tl_help(s->diags, "the order is %s: exchange '%.40s' and '%.40s'", tl_sb_cstr(&names),
                 text, tl_range_text(s, args[p].node->range));
         return;
      }
   if (args[i].kind == TL_ARG_NONE)
      tl_help(s->diags, "give it a value, or let the kernel ask '%s is not None' before it is used",
              k->params[i].name);
   else if (args[i].kind == TL_ARG_SIZES)
      tl_help(s->diags, "give its items one by one: %.40s[0], %.40s[1]", text, text);
   else if (args[i].kind == TL_ARG_TEXT)
      tl_help(s->diags, "only parameters annotated tl.constexpr take texts");
   else if (strstr(text, "data_ptr("))
      tl_help(s->diags, "give the array itself: %.*s", (int)(strstr(text, ".data_ptr(") - text),
              text);
   else
      tl_help(s->diags, "the order is %s", tl_sb_cstr(&names));
}

/* Reports the first argument that no way through the kernel takes. */
static bool
check_launch_args(Checker *c, const TlAstCall *call, const Param *params, unsigned variant,
                  unsigned worlds)
{
   TlSema *s = c->s;
   const TlKernelInfo *k = c->kernel;
   TlLaunchArg *args = tl_new_array(s->arena, TlLaunchArg, k->num_params + 1);
   tl_launch_args(s, k, call, args);
   for (unsigned i = 0; i < k->num_params; i++) {
      if (!args[i].node || k->params[i].is_constexpr || k->params[i].type ||
          !may_misfit(&params[i], args[i].kind))
         continue;
      const TlDiag *d = blame_given(c, args, i, variant, worlds);
      if (!d)
         continue;
      tl_report(s->diags, E0236, args[i].node->range, k->params[i].name, k->name,
                params[i].is_pointer ? "a pointer to an array" : "a number",
                tl_arg_kind_text(args[i].kind));
      help_given(c, args, params, i);
      tl_note(s->diags, N0200, d->range, "it is used here");
      return true;
   }
   return false;
}

/* The type that the text of a launch gives a parameter; NULL: it does not tell. */
static const char *
launched_type(Checker *c, const TlAstCall *call, const TlLaunchArg *arg)
{
   if (arg->kind == TL_ARG_INT || arg->kind == TL_ARG_FLOAT)
      return tl_arg_kind_entry(arg->kind);
   const char *dtype = arg->node ? tl_array_dtype(c->s, &call->node, arg->node) : NULL;
   return dtype ? tl_arena_printf(c->s->arena, "*%s", dtype) : NULL;
}

/* Types that all launches of the kernel in the file agree on. */
static void
find_launched_types(Checker *c)
{
   const TlKernelInfo *k = c->kernel;
   const TlCalls *calls = tl_launches_of(c->s, k->name);
   TlLaunchArg *args = tl_new_array(c->s->arena, TlLaunchArg, k->num_params + 1);
   for (size_t n = 0; calls && n < calls->len; n++) {
      tl_launch_args(c->s, k, calls->data[n], args);
      for (unsigned i = 0; i < k->num_params; i++) {
         const char *type =
            k->params[i].is_constexpr ? NULL : launched_type(c, calls->data[n], &args[i]);
         bool is_kept = type && (n == 0 || (c->launched[i] && strcmp(c->launched[i], type) == 0));
         c->launched[i] = is_kept ? type : NULL;
      }
   }
}

/* More trials of it cost little. */
static bool
is_small(const TlFunc *f)
{
   enum { MOST_OPS = 4000 };
   unsigned n = 0;
   const TlBlock *top = f->body->block;
   for (const TlOp *op = top->first; op && n <= MOST_OPS; op = tl_walk_next(op, top))
      n++;
   return n <= MOST_OPS;
}

static void
check_given(Checker *c, unsigned variant, unsigned worlds)
{
   const TlCalls *calls = tl_launches_of(c->s, c->kernel->name);
   size_t bytes = c->kernel->num_params * sizeof(Param);
   if (!calls || c->kernel->is_inner || c->has_wrong_launch)
      return;
   Param *params = tl_new_array(c->s->arena, Param, c->kernel->num_params + 1);
   memcpy(params, c->params, bytes);
   for (size_t i = 0; i < calls->len; i++)
      if (check_launch_args(c, calls->data[i], params, variant, worlds))
         return;
}

/* What a trial's code shows when sizes that are equal are taken to be so on purpose. */
static const TlDiag *
lint_trusting(Checker *c, const Trial *t)
{
   TlSema *s = c->s;
   bool wraps;
   s->impl->has_guessed_types = has_guessed_type(c);
   s->impl->has_guessed_numbers = s->impl->compares_guesses = true;
   const TlDiag *found = tl_sema_lint_accesses(s, t->func, c->kernel, &wraps);
   s->impl->has_guessed_types = s->impl->has_guessed_numbers = s->impl->compares_guesses = false;
   return found;
}

/* Sizes that are one by chance are not with numbers of their own: what is found with one for all
 * counts where it is found with others too.  Only where nothing else is told of the kernel. */
static void
compare_sizes(Checker *c, const Trial *first, unsigned variant, const char *sizes)
{
   TlSema *s = c->s;
   const TlDiag *found = lint_trusting(c, first), *others[FALLING + 1] = {found};
   for (c->spread = RISING; found && c->spread <= FALLING; c->spread++) {
      Trial t = try_variant(c, variant);
      others[c->spread] = t.func ? lint_trusting(c, &t) : NULL;
   }
   c->spread = SAME;
   while (found && !(same_diag(others[RISING], found) && same_diag(others[FALLING], found)))
      found = found->next;
   if (!found)
      return;
   TlQuiet q;
   tl_quiet_begin(s, &q);
   q.diags.warnings = q.saved->warnings;
   tl_diags_repeat(s->diags, found);
   tl_note(s->diags, N0209, c->kernel->name_range, sizes);
   tl_sema_lint_late(s, c->kernel, q.diags.first);
   (void)tl_quiet_end(s, &q);
}

/* One way through the kernel; out: its function, when nothing had to be guessed. */
static void
check_world(Checker *c, TlChecked *out, unsigned worlds)
{
   Trial trials[NUM_VARIANTS];
   const char *typings[NUM_VARIANTS], *sizes = NULL;
   bool is_out = false;
   unsigned errors = c->s->diags->num_errors;
   for (unsigned v = 0; v < NUM_VARIANTS; v++) {
      trials[v] = try_variant(c, v);
      bool is_exact = !trials[v].has_guessed && !c->kernel->is_inner;
      is_out |= is_ruled_out(c, &trials[v]);
      if ((trials[v].func && v != TINY) || is_exact) {
         size_t late = c->s->impl->late.len;
         const char *seen = sizes_text(c);
         report_all(c, &trials[v], is_exact);
         c->s->impl->has_guessed_types = trials[v].has_guessed && has_guessed_type(c);
         c->s->impl->has_guessed_numbers = trials[v].has_guessed && has_guessed_constexpr(c);
         if (trials[v].func)
            tl_sema_lint_func(c->s, trials[v].func, c->kernel);
         c->s->impl->has_guessed_types = c->s->impl->has_guessed_numbers = false;
         if (trials[v].func && !c->kernel->is_helper && !tl_sema_has_effect(trials[v].func))
            tl_vec_push(c->s->arena, &c->s->impl->idle, c->kernel);
         if (is_exact) {
            out->func = trials[v].func;
            return;
         }
         if (is_small(trials[v].func))
            check_given(c, v, worlds);
         if (!check_only_size(c, trials, sizes, v))
            check_spread(c, v);
         if (num_guessed_sizes(c) && c->s->impl->late.len == late && is_small(trials[v].func))
            compare_sizes(c, &trials[v], v, seen);
         return;
      }
      typings[v] = typing_text(c);
      if (v == 0)
         sizes = sizes_text(c);
   }
   bool is_tried = !needs_what_nothing_guesses(c) && !c->needs_other && !is_out;
   if (c->s->diags->num_errors != errors || has_broken_import(c->s) ||
       (is_tried && report_shared(c, trials, typings, !c->kernel->is_launched)))
      return;
   if (is_tried && (report_certain(c, trials) ||
                    (c->kernel->is_launched && report_statement(c, trials, typings[0]))))
      return;
   const TlDiag *why = first_error(trials[0].first);
   out->is_unproved = true;
   if (tl_wants_remarks(c->s->diags, "parameters"))
      tl_report(c->s->diags, R0206, c->kernel->name_range, c->kernel->name, typings[0],
                why ? why->text : "?");
}

static unsigned
num_worlds(const Checker *c)
{
   unsigned n = 1;
   for (unsigned i = 0; i < c->kernel->num_params; i++) {
      const TlConstHint *h = &c->hints[i];
      size_t mine = h->num_launched             ? h->num_launched
                    : h->use == TL_CONST_WORD   ? h->values.len
                    : h->use == TL_CONST_CHOICE ? h->values.len
                    : h->use == TL_CONST_FLAG   ? 2
                                                : 1;
      if (c->kernel->params[i].is_constexpr && !c->kernel->params[i].default_text && mine > n)
         n = (unsigned)mine;
   }
   return n < MAX_WORLDS ? n : MAX_WORLDS;
}

/* torch.float16 where the kernel has a type of tl, a fraction where it has a size. */
static void
check_launched_constants(Checker *c)
{
   TlSema *s = c->s;
   const TlKernelInfo *k = c->kernel;
   const TlCalls *calls = tl_launches_of(s, k->name);
   TlLaunchArg *args = tl_new_array(s->arena, TlLaunchArg, k->num_params + 1);
   for (size_t n = 0; calls && !c->has_wrong_launch && n < calls->len; n++) {
      tl_launch_args(s, k, calls->data[n], args);
      for (unsigned i = 0; i < k->num_params; i++) {
         const TlNode *node = k->params[i].is_constexpr ? args[i].node : NULL;
         const char *text = node ? tl_range_text(s, node->range) : "";
         TlSv type;
         bool is_fraction = args[i].kind == TL_ARG_FLOAT && c->hints[i].is_size;
         bool is_foreign = c->hints[i].use == TL_CONST_DTYPE && tl_starts_with(text, "torch.") &&
                           tl_dtype_constant(s, text + strlen("torch."), &type);
         bool is_text = args[i].kind == TL_ARG_TEXT && c->hints[i].is_size;
         if (!node || (!is_fraction && !is_foreign && !is_text))
            continue;
         tl_report(s->diags, E0236, node->range, k->params[i].name, k->name,
                   is_foreign ? "a type of tl" : "the size of a tile",
                   is_foreign ? "one of torch" : tl_arg_kind_text(args[i].kind));
         if (is_text)
            tl_help(s->diags, "a size is a number, written without quotes");
         else if (is_fraction)
            tl_help(s->diags, "sizes are whole numbers: '//' divides to one, and "
                              "triton.next_power_of_2(n) is what a tile may have");
         else
            tl_help(s->diags, "write tl.%s", text + strlen("torch."));
         return;
      }
   }
}

/* An error was reported of the type of one of its parameters (launch_check.c). */
static bool
has_bad_annotation(TlSema *s, const TlKernelInfo *k)
{
   const TlSvFunc *fn = tl_function_of(s, k->name);
   const TlNodeList *params =
      fn && fn->node->kind == TL_AST_FUNCTION ? &tl_ast_Function(fn->node)->params : NULL;
   if (!params || !params->len)
      return false;
   TlRange first = params->data[0]->range, last = params->data[params->len - 1]->range;
   for (const TlDiag *d = s->diags->first; d; d = d->next)
      if (d->code == TL_DIAG_E0201 && d->range.file == first.file &&
          d->range.begin >= first.begin && d->range.end <= last.end)
         return true;
   return false;
}

TlChecked
tl_sema_check(TlSema *s, const TlSpecialization *spec, const TlKernelInfo *k)
{
   assert(k);
   TlChecked out = {0};
   TlConstHint *hints = tl_new_array(s->arena, TlConstHint, k->num_params + 1);
   Checker c = {.s = s, .spec = *spec, .kernel = k, .hints = hints};
   c.spec.kernel = k->name;
   c.spec.may_return = !k->is_launched;
   c.params = tl_new_array(s->arena, Param, k->num_params + 1);
   c.forced = tl_new_array(s->arena, const char *, k->num_params + 1);
   c.launched = tl_new_array(s->arena, const char *, k->num_params + 1);
   c.guesses = tl_new_array(s->arena, TlGuess, k->num_params + 1);
   unsigned errors_before = s->diags->num_errors;
   if (!tl_check_launches(s, k) || has_bad_annotation(s, k))
      return out; /* what comes of it is no news */
   c.has_wrong_launch = s->diags->num_errors != errors_before;
   tl_const_hints(s, k, hints, !c.has_wrong_launch);
   check_launched_constants(&c);
   if (!c.has_wrong_launch && s->diags->num_errors != errors_before) {
      c.has_wrong_launch = true;
      memset(hints, 0, (k->num_params + 1) * sizeof *hints);
      tl_const_hints(s, k, hints, false);
   }
   if (!c.has_wrong_launch && !k->is_inner)
      find_launched_types(&c);
   unsigned worlds = num_worlds(&c);
   for (c.world = 0; c.world < worlds; c.world++) {
      unsigned errors = s->diags->num_errors;
      check_world(&c, &out, worlds);
      if (out.func || out.is_unproved || s->diags->num_errors != errors)
         break;
   }
   return out;
}
