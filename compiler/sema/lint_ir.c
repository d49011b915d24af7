/* Warnings that the typed code of a kernel shows: masks that are never true or stand still, one
 * number stored to all rows, loops that load the same in each round or keep the last round alone,
 * and, where they are asked for (warnings.def), for many kernels know more of their arguments than
 * they say, what sums and products take of masked loads. */
#include "ir/analysis.h"
#include "ir/walk.h"
#include "sema/impl.h"
#include "sema/lint.h"
#include "sema/lint_access.h"

#include <ctype.h>

enum { MAX_STEPS = 400, MOST_VALUES = 6000 /* of a kernel whose accesses are looked at */ };

static bool
is_same_elements(const TlOp *op)
{
   uint32_t traits = tl_op_info[op->opcode].traits;
   return (traits & (TL_TRAIT_ELTWISE | TL_TRAIT_SAME_ELEMENTS)) || op->opcode == TL_OP_BROADCAST ||
          op->opcode == TL_OP_SPLAT || op->opcode == TL_OP_RESHAPE ||
          op->opcode == TL_OP_EXPAND_DIMS;
}

/* ---- lanes that no mask lets in ---- */
/* A masked load without `other` that the value comes from element by element; NULL: none.  What
 * `where` chooses counts as looked after. */
static const TlOp *
bare_load(const TlValue *v, unsigned *steps)
{
   const TlOp *op = v->def;
   if (!op || ++*steps > MAX_STEPS || op->opcode == TL_OP_SELECT)
      return NULL;
   if (op->opcode == TL_OP_LOAD)
      return op->num_args == 2 ? op : NULL;
   for (unsigned i = 0; is_same_elements(op) && i < op->num_args; i++) {
      const TlOp *found = bare_load(tl_arg(op, i), steps);
      if (found)
         return found;
   }
   return NULL;
}

/* What the source calls there: sum, v.sum; else the operation's name. */
static const char *
called_name(TlSema *s, const TlOp *op)
{
   const TlSource *src = tl_source(s->sources, op->range.file);
   const char *text = src ? src->text + op->range.begin : "", *name = text, *p = text;
   while (isalnum((unsigned char)*p) || *p == '_' || *p == '.') {
      name = *p == '.' ? p + 1 : name;
      p++;
   }
   return *p == '(' && p > name ? tl_arena_strndup(s->arena, name, (size_t)(p - name))
                                : tl_source_name(op);
}

/* What lanes that count for nothing have: -inf where the greatest is taken of what was loaded. */
static const char *
neutral_value(const TlOp *op, const TlValue *v)
{
   bool is_plain = op->opcode == TL_OP_REDUCE && op->num_args == 1;
   TlOpcode by = is_plain ? tl_combined_by(op) : TL_OP_COUNT;
   while (v->def && v->def->num_args == 1 &&
          (v->def->opcode == TL_OP_CAST ||
           (is_same_elements(v->def) && !tl_has_trait(v->def, TL_TRAIT_ELTWISE))))
      v = tl_arg(v->def, 0);
   bool is_loaded = v->def && v->def->opcode == TL_OP_LOAD;
   return is_loaded && by == TL_OP_MAX   ? "-float(\"inf\")"
          : is_loaded && by == TL_OP_MIN ? "float(\"inf\")"
                                         : "0.0";
}

static void
check_lanes(TlSema *s, const TlOp *op)
{
   bool takes_all =
      op->opcode == TL_OP_REDUCE || op->opcode == TL_OP_SCAN || op->opcode == TL_OP_DOT;
   for (unsigned i = 0; takes_all && i < op->num_args; i++) {
      unsigned steps = 0;
      const TlOp *load = bare_load(tl_arg(op, i), &steps);
      if (!load)
         continue;
      tl_report(s->diags, W0206, op->range, called_name(s, op));
      tl_note(s->diags, N0200, load->range, "the load");
      tl_help(s->diags, "give the load what the others are to be: other=%s",
              neutral_value(op, tl_arg(op, i)));
      return;
   }
}

/* ---- masks ---- */
/* x of `x < c` and `c > x` with a constant c that is 0 or less; NULL: another value. */
static const TlValue *
below_zero(const TlOp *op)
{
   bool is_less = op->opcode == TL_OP_LT || op->opcode == TL_OP_LE;
   if (!is_less && op->opcode != TL_OP_GT && op->opcode != TL_OP_GE)
      return NULL;
   const TlValue *x = tl_arg(op, is_less ? 0 : 1), *c = tl_arg(op, is_less ? 1 : 0);
   TlDtype t = tl_type_elem(c->type)->kind == TL_TYPE_SCALAR ? tl_type_elem(c->type)->dtype : TL_I1;
   uint64_t bits;
   if (!tl_dtype_is_int(t) || !tl_dtype_is_signed(t) || !tl_is_const(c, &bits))
      return NULL;
   int64_t limit = tl_bits_to_int(t, bits);
   bool is_strict = op->opcode == TL_OP_LT || op->opcode == TL_OP_GT;
   return limit < 0 || (limit == 0 && is_strict) ? x : NULL;
}

/* mask=i < 0 */
static void
check_mask(TlSema *s, const TlFunc *f, TlAnalysis **a, const TlOp *op)
{
   bool is_access =
      op->opcode == TL_OP_LOAD || op->opcode == TL_OP_STORE || op->opcode == TL_OP_ATOMIC_RMW;
   const TlValue *mask = is_access ? tl_pred(op) : NULL;
   while (mask && mask->def && is_same_elements(mask->def) && mask->def->num_args == 1)
      mask = tl_arg(mask->def, 0);
   const TlValue *x = mask && mask->def ? below_zero(mask->def) : NULL;
   if (!x || mask->def->range.begin == op->range.begin) /* of an atomic of floats, made for it */
      return;
   *a = *a ? *a : tl_analysis_new(s->arena, f);
   const TlAxisInfo *info = tl_axis_info(*a, x);
   if (info->has_range && info->lo >= 0)
      tl_report(s->diags, W0223, mask->def->range, tl_op_info[op->opcode].text);
}

/* ---- one number for all ---- */
/* The reduction of a whole tile of two dimensions or more that a value is, converted or repeated;
 * NULL: it is none. */
static const TlOp *
whole_reduction(const TlValue *v)
{
   while (v->def && (v->def->opcode == TL_OP_SPLAT || v->def->opcode == TL_OP_CAST))
      v = tl_arg(v->def, 0);
   const TlOp *op = v->def;
   if (!op || op->opcode != TL_OP_REDUCE || tl_type_is_tile(v->type))
      return NULL;
   const TlOp *flat = tl_arg(op, 0)->def;
   return flat && flat->opcode == TL_OP_RESHAPE && tl_arg(flat, 0)->type->rank > 1 ? op : NULL;
}

/* store(out + rows, max(x)): of a table the number of all rows. */
static void
check_stored_number(TlSema *s, const TlOp *op)
{
   if (op->opcode != TL_OP_STORE || !tl_type_is_tile(tl_arg(op, 0)->type) ||
       tl_type_num_elems(tl_arg(op, 0)->type) == 1)
      return;
   const TlOp *sum = whole_reduction(tl_arg(op, 1));
   if (!sum)
      return;
   tl_report(s->diags, W0229, sum->range, tl_range_text(s, sum->range),
             tl_type_cstr(s->arena, tl_arg(tl_arg(sum, 0)->def, 0)->type));
   tl_note(s->diags, N0200, op->range, "it is stored to many elements here");
}

/* ---- loops that go nowhere ---- */
typedef struct Moved { /* by a loop */
   TlMap values;
} Moved;

static bool
is_moved(const Moved *m, const TlOp *op)
{
   for (unsigned i = 0; i < op->num_args; i++)
      if (tl_map_has(&m->values, tl_arg(op, i)))
         return true;
   return false;
}

static void
add_moved(Moved *m, const TlValue *v)
{
   tl_map_put(&m->values, v, (void *)(uintptr_t)v);
}

static bool
is_used(const TlValue *v, const TlBlock *in, const TlOp *but)
{
   for (const TlOp *op = in->first; op; op = tl_walk_next(op, in))
      for (unsigned i = 0; op != but && i < op->num_args; i++)
         if (tl_arg(op, i) == v)
            return true;
   return false;
}

typedef struct Setting { /* of a name in a statement */
   const char *name;
   TlRange within, found;
} Setting;

static void
find_setting(void *user, TlNode *n)
{
   Setting *f = user;
   if (n->range.file != f->within.file || n->range.end <= f->within.begin)
      return;
   const TlAstAssign *a = n->kind == TL_AST_ASSIGN ? tl_ast_Assign(n) : NULL;
   for (size_t i = 0; a && i < a->targets.len; i++) {
      const TlNode *t = a->targets.data[i];
      if (t->kind == TL_AST_NAME && strcmp(tl_ast_Name(t)->id, f->name) == 0 &&
          t->range.begin >= f->within.begin && !f->found.file)
         f->found = t->range;
   }
   tl_ast_children(n, find_setting, f);
}

/* Made in a round, element by element, of what the round loads or multiplies. */
static bool
is_of_round(const TlValue *v, const TlBlock *body, unsigned *steps)
{
   enum { MOST_STEPS = 40 };
   const TlOp *op = v->def;
   if (!op || op->block != body || ++*steps > MOST_STEPS)
      return false;
   if (op->opcode == TL_OP_LOAD || op->opcode == TL_OP_DOT || op->opcode == TL_OP_REDUCE ||
       op->opcode == TL_OP_HISTOGRAM)
      return true;
   for (unsigned i = 0; tl_has_trait(op, TL_TRAIT_ELTWISE) && i < op->num_args; i++)
      if (is_of_round(tl_arg(op, i), body, steps))
         return true;
   return false;
}

/* acc = zeros(..); for ..: acc = dot(a, b): what the rounds before the last gave is lost. */
static void
check_overwritten(TlSema *s, const TlOp *loop, const TlBlock *top)
{
   const TlBlock *body = loop->opcode == TL_OP_FOR ? loop->regions[0]->block : NULL;
   const TlOp *yield = body ? body->last : NULL;
   for (unsigned i = 1; yield && i < body->num_args; i++) {
      const TlValue *carried = body->args[i], *next = tl_arg(yield, i - 1);
      const TlValue *init = tl_init(loop, i - 1);
      uint64_t bits;
      unsigned steps = 0;
      bool is_fresh = is_of_round(next, body, &steps);
      if (!is_fresh || !carried->name || !tl_type_is_tile(init->type) ||
          !tl_is_const(init, &bits) || is_used(carried, body, NULL) || is_used(next, body, yield) ||
          !is_used(tl_result(loop, i - 1), top, loop))
         continue;
      Setting f = {.name = carried->name, .within = loop->range};
      const TlNodeList *file = &s->impl->main->ast->body;
      for (size_t k = 0; k < file->len; k++)
         if (file->data[k])
            find_setting(&f, file->data[k]);
      tl_report(s->diags, W0234, f.found.file ? f.found : next->def->range, carried->name);
      tl_help(s->diags, "to add to what the rounds before gave write %s += ..", carried->name);
   }
}

/* The tile of x < bound, without repetitions; NULL: the mask is another. */
static const TlValue *
compared_with(const TlValue *mask, const TlValue *bound)
{
   const TlOp *op = mask->def;
   if (!op || op->opcode != TL_OP_LT)
      return NULL;
   const TlValue *limit = tl_arg(op, 1);
   while (limit->def && (limit->def->opcode == TL_OP_SPLAT || limit->def->opcode == TL_OP_CAST))
      limit = tl_arg(limit->def, 0);
   return limit == bound ? tl_arg(op, 0) : NULL;
}

/* for i in range(0, n, BLOCK): load(x + i + cols, mask=cols < n) */
static void
check_still_mask(TlSema *s, const TlOp *loop)
{
   const TlBlock *body = loop->opcode == TL_OP_FOR ? loop->regions[0]->block : NULL;
   uint64_t step;
   Moved m;
   if (!body || !body->num_args || !tl_is_const(tl_arg(loop, 2), &step))
      return;
   tl_map_init(&m.values, s->arena);
   add_moved(&m, body->args[0]);
   for (const TlOp *op = body->first; op; op = tl_walk_next(op, body)) {
      const TlValue *mask =
         op->opcode == TL_OP_LOAD || op->opcode == TL_OP_STORE ? tl_pred(op) : NULL;
      const TlValue *x =
         mask && !tl_map_has(&m.values, mask) ? compared_with(mask, tl_arg(loop, 1)) : NULL;
      if (x && x->type->rank == 1 && x->type->shape[0] == step &&
          tl_map_has(&m.values, tl_arg(op, 0)))
         tl_report(s->diags, W0235, mask->def->range, tl_op_info[op->opcode].text);
      for (unsigned i = 0; i < op->num_results; i++)
         if (is_moved(&m, op))
            add_moved(&m, tl_result(op, i));
   }
}

/* The load in the block that an operand of a product is, element by element; NULL: none. */
static const TlOp *
loaded_in(const TlValue *v, const TlBlock *body)
{
   while (v->def && v->def->block == body && v->def->num_args == 1 &&
          (v->def->opcode == TL_OP_CAST || v->def->opcode == TL_OP_TRANS))
      v = tl_arg(v->def, 0);
   return v->def && v->def->block == body && v->def->opcode == TL_OP_LOAD ? v->def : NULL;
}

static void
report_factor(TlSema *s, const TlOp *load)
{
   const char *name = tl_arg(load, 0)->name;
   tl_report(s->diags, W0236, load->range);
   if (name)
      tl_help(
         s->diags,
         "move them on as the other factor's are, at the end of a round: %.40s += BLOCK * stride",
         name);
}

/* for k in range(..): acc += dot(load(a), load(b)), where nothing uses k and a alone is moved. */
static void
check_factors(TlSema *s, const TlOp *loop)
{
   const TlBlock *body = loop->opcode == TL_OP_FOR ? loop->regions[0]->block : NULL;
   Moved m;
   if (!body || is_used(body->args[0], body, NULL))
      return;
   tl_map_init(&m.values, s->arena);
   for (unsigned i = 0; i < body->num_args; i++)
      add_moved(&m, body->args[i]);
   for (const TlOp *op = body->first; op; op = op->next) {
      for (unsigned i = 0; i < op->num_results; i++)
         if (op->num_regions || is_moved(&m, op))
            add_moved(&m, tl_result(op, i));
      if (op->opcode != TL_OP_DOT)
         continue;
      const TlOp *left = loaded_in(tl_arg(op, 0), body), *right = loaded_in(tl_arg(op, 1), body);
      bool moves = left && is_moved(&m, left), turns = right && is_moved(&m, right);
      if (left && right && moves != turns)
         report_factor(s, moves ? right : left);
   }
}

static bool
is_pointer(const TlValue *v)
{
   return tl_type_elem(v->type)->kind == TL_TYPE_PTR;
}

/* The pointer that all are computed from. */
static const TlValue *
base_of(const TlValue *v)
{
   while (v->def && v->def->num_args && is_pointer(tl_arg(v->def, 0)))
      v = tl_arg(v->def, 0);
   return v;
}

/* for t in range(..): store(y + i, load(x + i)), where nothing uses t. */
static void
check_repeated(TlSema *s, const TlOp *loop)
{
   const TlBlock *body = loop->opcode == TL_OP_FOR ? loop->regions[0]->block : NULL;
   const TlValue *index = body && body->num_args == 1 ? body->args[0] : NULL;
   bool stores = false;
   uint64_t end;
   if (!index || tl_is_const(tl_arg(loop, 1), &end) || !index->name || index->name[0] == '_' ||
       loop->range.file != s->impl->main->file || is_used(index, body, NULL))
      return;
   for (const TlOp *op = body->first; op; op = tl_walk_next(op, body)) {
      bool is_store = op->opcode == TL_OP_STORE;
      if (!is_store && tl_has_trait(op, TL_TRAIT_WRITE))
         return;
      stores |= is_store;
      for (const TlOp *x = body->first; is_store && x; x = tl_walk_next(x, body))
         if (x->opcode == TL_OP_LOAD && base_of(tl_arg(x, 0)) == base_of(tl_arg(op, 0)))
            return; /* of what the round before stored */
   }
   if (!stores)
      return;
   tl_report(s->diags, W0230, loop->range, "stores",
             tl_arena_printf(s->arena, "in it asks for '%.40s'", index->name));
   tl_help(s->diags, "use '%.40s' in the offsets", index->name);
}

/* for k in range(..): acc += load(a) * load(b), where nothing uses k. */
static void
check_rounds(TlSema *s, const TlOp *loop)
{
   const TlBlock *body = loop->opcode == TL_OP_FOR ? loop->regions[0]->block : NULL;
   Moved m;
   unsigned loads = 0;
   if (!body || body->num_args < 2)
      return;
   tl_map_init(&m.values, s->arena);
   for (unsigned i = 0; i < body->num_args; i++)
      add_moved(&m, body->args[i]);
   for (const TlOp *op = body->first; op; op = tl_walk_next(op, body)) {
      for (unsigned i = 0; i < op->num_args; i++)
         if (tl_arg(op, i) == body->args[0])
            return;
      bool is_load = op->opcode == TL_OP_LOAD;
      loads += is_load;
      if (tl_has_trait(op, TL_TRAIT_WRITE) || (is_load && is_moved(&m, op)) ||
          (!is_load && tl_has_trait(op, TL_TRAIT_READ)))
         return;
      for (unsigned r = 0; r < op->num_regions; r++)
         for (unsigned i = 0; i < op->regions[r]->block->num_args; i++)
            add_moved(&m, op->regions[r]->block->args[i]);
      for (unsigned i = 0; i < op->num_results; i++)
         if (op->num_regions || is_moved(&m, op))
            add_moved(&m, tl_result(op, i));
   }
   if (loads)
      tl_report(s->diags, W0230, loop->range, "loads", "moves its pointers");
}

/* ---- kernels without an effect ---- */
bool
tl_sema_has_effect(const TlFunc *f)
{
   const TlBlock *top = f->body->block;
   bool reads = false;
   for (const TlOp *op = top->first; op; op = tl_walk_next(op, top)) {
      if (tl_has_trait(op, TL_TRAIT_WRITE))
         return true;
      reads |= tl_has_trait(op, TL_TRAIT_READ);
   }
   return !reads; /* one that does nothing at all is meant so */
}

void
tl_sema_lint_late(TlSema *s, const TlKernelInfo *k, const TlDiag *d)
{
   for (; d; d = d->next)
      tl_vec_push(s->arena, &s->impl->late, ((TlLate){d, k->range}));
}

/* True: it was told of an offset that wraps. */
static bool
lint_accesses(TlSema *s, const TlFunc *f, const TlKernelInfo *k)
{
   if (f->next_value_id > MOST_VALUES)
      return false;
   const TlBlock *top = f->body->block;
   TlLintFacts facts;
   TlAffine *a = tl_affine_new(s->arena, f);
   tl_lint_facts(s, f, a, &facts);
   tl_lint_races(&facts);
   bool is_told = tl_lint_exchanged(&facts) || tl_lint_masks(&facts) || tl_lint_apart(&facts);
   tl_lint_sums(&facts);
   tl_lint_tuned(&facts);
   tl_lint_quantised(&facts);
   tl_lint_integers(&facts);
   tl_lint_softmax(&facts);
   tl_lint_blocks(&facts);
   tl_lint_axes(&facts);
   tl_lint_running(&facts);
   const TlOp *told = tl_lint_extrema(&facts); /* it is no reduction that is meant */
   tl_lint_stores(&facts);
   tl_lint_updates(&facts);
   tl_lint_still(&facts);
   tl_lint_effects(&facts);
   tl_lint_neighbours(&facts);
   tl_lint_rows(&facts, k);
   tl_lint_loops(&facts);
   tl_lint_grid(&facts, k, is_told);
   for (const TlOp *op = top->first; op; op = tl_walk_next(op, top))
      if (!told || op->opcode != TL_OP_REDUCE || tl_arg(op, 0) != tl_arg(told, 0))
         tl_sema_lint_lanes(s, a, op);
   tl_sema_lint_sorted(s, a, f);
   return tl_lint_wraps(&facts, k);
}

const TlDiag *
tl_sema_lint_accesses(TlSema *s, const TlFunc *f, const TlKernelInfo *k, bool *wraps)
{
   TlQuiet q;
   tl_quiet_begin(s, &q);
   q.diags.warnings = q.saved->warnings;
   *wraps = lint_accesses(s, f, k);
   const TlDiag *first = q.diags.first;
   (void)tl_quiet_end(s, &q);
   return first;
}

void
tl_sema_lint_func(TlSema *s, const TlFunc *f, const TlKernelInfo *k)
{
   const TlWarnings *w = &s->impl->diags->warnings;
   bool has_lanes = tl_warnings_has(w, TL_WARNING_UNDEFINED_LANES);
   TlAnalysis *a = NULL;
   const TlBlock *top = f->body->block;
   bool wraps;
   tl_sema_lint_late(s, k, tl_sema_lint_accesses(s, f, k, &wraps));
   for (const TlOp *op = top->first; op; op = tl_walk_next(op, top)) {
      check_mask(s, f, &a, op);
      check_stored_number(s, op);
      check_rounds(s, op);
      check_repeated(s, op);
      check_factors(s, op);
      check_overwritten(s, op, top);
      check_still_mask(s, op);
      if (has_lanes)
         check_lanes(s, op);
   }
   if (!wraps && tl_warnings_has(w, TL_WARNING_OFFSET_OVERFLOW))
      tl_lint_offsets(s, f);
   if (tl_warnings_has(w, TL_WARNING_SPEED) && f->next_value_id <= MOST_VALUES)
      tl_lint_speed(s, f);
}
