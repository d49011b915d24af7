/* Words for faults: the only place that turns a TlExecFault into text. */
#include "exec/cpu.h"

#include <stdio.h>
#include <string.h>

/* "program (3, 0, 0), element (17, 4)" */
static const char *
place_of(TlDiags *diags, const TlExecFault *f)
{
   TlSb sb;
   tl_sb_init(&sb, diags->arena);
   tl_sb_printf(&sb, "program (%u, %u, %u)", f->program[0], f->program[1], f->program[2]);
   for (uint32_t d = 0; d < f->rank; d++)
      tl_sb_printf(&sb, "%s%u", d ? ", " : ", element (", f->element[d]);
   if (f->rank)
      tl_sb_char(&sb, ')');
   return tl_sb_cstr(&sb);
}

/* The end of the argument that begins at the place: the comma, or the parenthesis, behind it. */
static const char *
end_of_argument(const char *p)
{
   for (int depth = 0; *p && *p != '\n'; p++) {
      if (depth == 0 && (*p == ',' || *p == ')'))
         return p;
      depth += (*p == '(' || *p == '[') - (*p == ')' || *p == ']');
   }
   return NULL;
}

/* Does the text have the other one, at most `len` characters long, in it? */
static bool
has_text(const char *text, size_t len, const char *other)
{
   size_t n = strlen(other);
   for (size_t i = 0; i + n <= len; i++)
      if (memcmp(text + i, other, n) == 0)
         return true;
   return false;
}

/* Of load(x + i - t, i < n): the mask that keeps i - t from going below 0, by the index and the
 * mask as they are written; without them, in general. */
static const char *
mask_from_zero(TlDiags *diags, const TlExecFault *f)
{
   enum { MOST = 60 };
   const TlSource *src = tl_source(diags->sources, f->range.file);
   const char *open = src ? strchr(src->text + f->range.begin, '(') : NULL;
   const char *end = open ? end_of_argument(open + 1) : NULL, *index = open ? open + 1 : NULL;
   const char *base = f->buffer ? f->buffer : "x";
   size_t name = strlen(base);
   const char *general =
      tl_arena_printf(diags->arena, "the whole index that is added to '%s' >= 0", base);
   if (!end || strncmp(index, base, name) != 0 || strncmp(index + name, " + ", 3) != 0 ||
       end - index > MOST)
      return general;
   index += name + 3;
   const char *wanted = tl_arena_printf(diags->arena, "%.*s >= 0", (int)(end - index), index);
   if (strcmp(f->op, "load") != 0 && *end == ',') /* the value is between them */
      end = end_of_argument(end + 1);
   const char *mask = end && *end == ',' ? end + 1 + strspn(end + 1, " ") : NULL;
   mask = mask && strncmp(mask, "mask=", 5) == 0 ? mask + 5 : mask;
   const char *behind = mask ? end_of_argument(mask) : NULL;
   size_t len = behind ? (size_t)(behind - mask) : 0, word = len ? strcspn(mask, " =<>&|([,)") : 0;
   if (!len || len > MOST || (mask[word] == '=' && mask[word + 1] != '=')) /* other=0.0 */
      return tl_arena_printf(diags->arena, "(%s) & (i < n)", wanted);
   if (has_text(mask, len, wanted))
      return general;
   bool is_whole = word == len || memchr(mask, '&', len);
   return tl_arena_printf(diags->arena, is_whole ? "(%s) & %.*s" : "(%s) & (%.*s)", wanted,
                          (int)len, mask);
}

static void
report_bounds(TlDiags *diags, const TlExecFault *f, const char *place)
{
   static const char *const what[] = {
      [TL_EXEC_MASK_UNKNOWN] = "is a mask missing, or wrong at the end?",
      [TL_EXEC_MASK_NONE] = "without a mask every element is accessed: give it one, such as i < n",
      [TL_EXEC_MASK_TRUE] = ("the mask is true there: look at its bounds, the strides of the "
                             "index, and the grid"),
      [TL_EXEC_MASK_BLOCK] = ("the block is inside the shape that its pointer or descriptor was "
                              "given: make that the array's own, with its strides"),
      [TL_EXEC_MASK_NO_CHECK] = ("the whole block is accessed: name the dimensions that may end "
                                 "within it, as in boundary_check=(0, 1)"),
   };
   bool is_negative = f->byte < 0 && f->mask == TL_EXEC_MASK_TRUE;
   int64_t bytes = f->elem_bytes ? f->elem_bytes : f->bytes;
   int64_t count = (int64_t)f->buffer_bytes / bytes;
   bool is_whole = f->byte % bytes == 0;
   const char *index =
      is_whole ? tl_arena_printf(diags->arena, "index %lld", (long long)(f->byte / bytes))
               : tl_arena_printf(diags->arena, "%u bytes", f->bytes);
   tl_report(diags, E0601, f->range, f->op, f->buffer, index, (long long)f->byte,
             (unsigned long long)f->buffer_bytes, place);
   if (!f->buffer_bytes)
      tl_help(diags, "nothing is behind '%s': NULL, or an array without elements", f->buffer);
   else if (count)
      tl_help(diags, "valid indices are 0 to %lld; %s", (long long)count - 1,
              f->cause      ? f->cause
              : is_negative ? tl_arena_printf(diags->arena,
                                              "the mask is true there: it has to leave out what "
                                              "is below 0, too: %s",
                                              mask_from_zero(diags, f))
                            : what[f->mask]);
}

static void
report_argument(TlDiags *diags, const TlExecFault *f)
{
   if (!f->buffer)
      tl_report(diags, E0614, f->range, f->op, (long long)f->limit, (long long)f->value);
   else if (f->limit)
      tl_report(diags, E0613, f->range, f->buffer, f->op, f->text, (long long)f->value,
                (long long)f->limit);
   else
      tl_report(diags, E0616, f->range, f->buffer, f->op, f->text);
}

/* Of an index outside of the tile that gather() picks from. */
static const char *
ways_of_index(TlDiags *diags, const TlExecFault *f)
{
   const char *way = "give it all that are asked for, or load by pointer + index";
   if (f->value < 0)
      way = "keep it from going below 0, tl.maximum(index, 0), and choose what such elements get, "
            "tl.where(index >= 0, .., 0); or, where it is to go on at the other end, add the "
            "length before '%': (index + n) % n";
   return tl_arena_printf(diags->arena,
                          "an index is %lld, and the tile that is picked from has %lld elements "
                          "along the axis, 0 to %lld: %s",
                          (long long)f->value, (long long)f->limit, (long long)f->limit - 1, way);
}

static void
report_undefined(TlDiags *diags, const TlExecFault *f, const char *place)
{
   if (f->buffer && f->elem_bytes)
      place = tl_arena_printf(diags->arena, "%s[%lld] is read before it is written; %s", f->buffer,
                              (long long)(f->byte / f->elem_bytes), place);
   if (f->kind == TL_FAULT_UNDEFINED)
      tl_report(diags, E0608, f->range, f->op, place);
   else
      tl_report(diags, W0605, f->range, f->op, place);
   if (f->origin_op) {
      bool is_division = strcmp(f->origin_op, "div") == 0 || strcmp(f->origin_op, "rem") == 0;
      bool is_itself = f->origin.begin == f->range.begin && f->origin.end == f->range.end;
      if (!is_itself)
         tl_note(diags, N0608, f->origin, f->origin_op);
      tl_help(diags, "%s",
              f->is_unwritten ? "nothing has written that memory: begin with zeros, or store there "
                                "before"
              : f->limit      ? ways_of_index(diags, f)
              : is_division
                 ? "an integer divided by zero has no value: test the divisor, or select such "
                   "elements away"
                 : "elements that are masked off have no value: give 'other', or select them away");
   }
}

static void
report_race(TlDiags *diags, const TlExecFault *f, const char *place)
{
   const char *other = f->limit < 0 ? "another program"
                                    : tl_arena_printf(diags->arena, "program (%u, %u, %u)",
                                                      f->other[0], f->other[1], f->other[2]);
   tl_report(diags, W0604, f->range, f->op, f->buffer, (long long)(f->byte / f->elem_bytes), other,
             f->text, place);
   if (f->cause)
      tl_help(diags, "%s", f->cause);
   else if (strcmp(f->op, "load") == 0 || strcmp(f->text, "reads") == 0)
      tl_help(diags,
              "programs run in any order and at once: where all are to find what was there before, "
              "store to another array than '%s'; where they add to it, use atomic_add; what needs "
              "the others' results is a launch of its own",
              f->buffer);
   else
      tl_help(diags, "programs run in any order and at once: let each write elements of its own, "
                     "add with atomic_add, or make two launches of it");
}

/* "(17, 4)" */
static const char *
element_text(TlDiags *diags, uint32_t rank, const uint32_t *element)
{
   TlSb sb;
   tl_sb_init(&sb, diags->arena);
   for (uint32_t d = 0; d < rank; d++)
      tl_sb_printf(&sb, "%s%u", d ? ", " : "(", element[d]);
   tl_sb_char(&sb, ')');
   return tl_sb_cstr(&sb);
}

static void
report_twice(TlDiags *diags, const TlExecFault *f)
{
   tl_report(diags, W0607, f->range, f->op, f->buffer, (long long)(f->byte / f->elem_bytes),
             element_text(diags, f->rank, f->peer), element_text(diags, f->rank, f->element));
   if (f->rank > 1)
      tl_help(diags,
              "which of them is left is chance: are rows as far apart in '%s' as the tile's "
              "rows are long, and is the index of each dimension times its own stride?",
              f->buffer);
   else
      tl_help(diags, "which of them is left is chance: give each element a place of its own, or "
                     "combine them with tl.atomic_add(pointer, value)");
}

static void
report_unwritten(TlDiags *diags, const TlExecFault *f)
{
   long long all = (long long)(f->buffer_bytes / f->elem_bytes);
   tl_report(diags, W0608, f->range, f->op, all - (long long)f->value, all, f->buffer, f->buffer,
             (long long)(f->byte / f->elem_bytes));
   if (f->cause)
      tl_help(diags, "%s", f->cause);
   else if (f->limit)
      tl_help(diags,
              "nothing gets so far: the grid needs a program for each block, such as "
              "cdiv(n, BLOCK), and the mask the size of '%s'",
              f->buffer);
   else
      tl_help(diags, "others behind it are stored: look at the strides, in elements, at what moves "
                     "the index from program to program, and at the mask");
}

static void
report_unread(TlDiags *diags, const TlExecFault *f)
{
   tl_report(diags, W0612, f->range, (long long)f->limit, f->text, f->buffer, (long long)f->value,
             f->value == 1 ? "is" : "are", f->own);
   if (f->origin_op)
      tl_note(diags, N0610, f->origin);
   if (f->cause)
      tl_help(diags, "%s", f->cause);
   else if (f->bytes && f->value == 1)
      tl_help(diags, "nothing moves the pointers on to the others: the program's number, or the "
                     "loop's index, times the stride");
   else if (f->bytes)
      tl_help(diags,
              "nothing gets so far: look at where loops end, at the sizes that masks compare "
              "with, and at the grid");
   else
      tl_help(diags, "others behind it are read: look at where ranges and loops begin, and at the "
                     "strides, in elements");
}

const char *
tl_exec_promise(const TlOp *hint)
{
   static const char *const name[] = {[TL_HINT_DIVISIBLE] = "multiple_of",
                                      [TL_HINT_CONTIGUOUS] = "max_contiguous",
                                      [TL_HINT_CONSTANT] = "max_constancy"};
   return name[tl_attr_int(hint, TL_ATTR_HINT)];
}

static void
report_unfit(TlDiags *diags, const TlExecFault *f, const char *place)
{
   bool is_float = f->text[0] == 'f';
   long long low = f->text[0] == 'u' ? 0 : -(long long)f->limit - !is_float;
   tl_report(diags, W0609, f->range, (long long)f->value, f->text, low, (long long)f->limit, place);
   tl_help(
      diags, "what does not fit %s: scale it, or cut it off before, tl.clamp(x, %lld.0, %lld.0)",
      is_float ? "becomes the greatest" : "has no value that counts", low, (long long)f->limit);
}

/* The greatest is subtracted already, along an axis or of lanes that do not help. */
static void
help_shifted(TlDiags *diags, const TlExecFault *f)
{
   unsigned axis = (unsigned)f->value;
   bool has_axes = f->limit == 2;
   if (f->is_of_nan)
      tl_help(diags,
              "what is subtracted is the greatest along axis %u, -inf where all along it are, and "
              "-inf less -inf is nan: let one of them in%s",
              axis,
              has_axes && !f->is_chosen ? ", or take the greatest and the sum of it along one axis"
                                        : "");
   else if (f->is_filled)
      tl_help(diags,
              "what is subtracted is greater than all of these elements: give lanes that the "
              "mask leaves out what never is, other=-float(\"inf\")");
   else if (has_axes)
      tl_help(diags,
              "what is subtracted is the greatest along axis %u: that of the same %s is "
              "max(x, axis=%u)",
              axis, axis ? "column" : "row", 1 - axis);
   else
      tl_help(diags, "what is subtracted is not the greatest of these elements: take it of the "
                     "same x as in exp(x - max(x))");
}

static void
report_not_finite(TlDiags *diags, const TlExecFault *f, const char *place)
{
   static const struct {
      const char *op, *help;
   } ways[] = {
      {"exp", "subtract the greatest before: exp(x - max(x))"},
      {"exp2", "subtract the greatest before: exp2(x - max(x))"},
      {"log",
       "0 has none, nor have negative numbers: add a small one, or take tl.maximum(x, 1e-6)"},
      {"log2",
       "0 has none, nor have negative numbers: add a small one, or take tl.maximum(x, 1e-6)"},
      {"sqrt", "negative numbers have none: tl.maximum(x, 0.0), or tl.abs(x)"},
      {"rsqrt", "0 has none, nor have negative numbers: add a small one, x + 1e-6"},
      {"div",
       "0 divides nothing: add a small number to the divisor, of a root within it, sqrt(x + eps), "
       "or choose by tl.where before"},
      {"cast", "fp16 ends at 65504: scale the values, or keep them in fp32 or bf16"},
   };
   tl_report(diags, W0610, f->range, f->op, f->text, place);
   static const char of_infinities[] =
      "infinity less infinity gives it, and 0 times infinity: look at rows of which "
      "the mask leaves out all";
   const char *help = of_infinities;
   for (size_t i = 0; f->origin_op && i < sizeof ways / sizeof ways[0]; i++)
      if (strcmp(ways[i].op, f->origin_op) == 0)
         help = ways[i].help;
   if (f->origin_op && (f->origin.begin != f->range.begin || f->origin.end != f->range.end))
      tl_note(diags, N0609, f->origin, f->is_of_nan ? "infinities" : "finite numbers");
   if (f->is_filled)
      tl_note(diags, N0200, f->left_out, "lanes that its mask leaves out count for the greatest");
   else if (f->left_out.end > f->left_out.begin)
      tl_note(diags, N0611, f->left_out, f->limit != 2 ? "tile" : f->value ? "row" : "column");
   if (f->is_shifted)
      help_shifted(diags, f);
   else
      tl_help(diags, "%s", f->is_of_nan ? of_infinities : help);
}

/* A descriptor is made by a call that promises more than it says. */
static void
report_promise(TlDiags *diags, const TlExecFault *f, const char *place)
{
   static const char maker[] = "make_tensor_descriptor";
   const TlSource *src = tl_source(diags->sources, f->range.file);
   bool is_descriptor = false;
   for (uint32_t i = f->range.begin; src && i + sizeof maker <= f->range.end; i++)
      is_descriptor |= memcmp(src->text + i, maker, sizeof maker - 1) == 0;
   tl_report(diags, W0602, f->range, is_descriptor ? maker : f->op, place);
   if (is_descriptor)
      tl_help(diags,
              "its base and all strides but the last are multiples of 16 bytes, here of %lld "
              "elements: pad the rows, or use pointers and a mask",
              (long long)f->value);
}

/* a // b and a % b, where floor() gives another number. */
static void
report_cut(TlDiags *diags, const TlExecFault *f, const char *place)
{
   long long a = f->value, b = f->limit, cut = a / b, rest = a % b;
   bool is_rest = strcmp(f->op, "rem") == 0;
   tl_report(diags, W0615, f->range, is_rest ? "%" : "//", a, is_rest ? "%" : "//", b,
             is_rest ? rest : cut, is_rest ? rest + b : cut - 1, place);
   if (is_rest)
      tl_help(diags,
              "of numbers that may be negative: r = a %% b; tl.where(r < 0, r + b, r), for a "
              "divisor of %lld",
              b);
   else if (b > 0 && !(b & (b - 1)))
      tl_help(diags, "a shift rounds down: a >> %d, for this divisor of %lld",
              __builtin_ctzll((unsigned long long)b), b);
   else
      tl_help(diags,
              "of numbers that may be negative: tl.where(a < 0, (a - %lld) // %lld, a // %lld) "
              "rounds down",
              b - 1, b, b);
}

static void
report_assumption(TlDiags *diags, const TlExecFault *f, const char *place)
{
   tl_report(diags, E0607, f->range, f->op, place);
   if (f->cause)
      tl_help(diags, "%s: correct the promise, or the arguments", f->cause);
}

static void
report_assert(TlDiags *diags, const TlExecFault *f, const char *place)
{
   TlDtype dtype;
   tl_report(diags, E0606, f->range, f->text ? f->text : "(no message)", place);
   if (f->text && tl_is_overflow_text(f->text, &dtype))
      tl_help(diags, "compute it in a wider type: x.to(tl.%s)",
              tl_dtype_info[dtype].bits < 32 ? "int32" : "int64");
}

void
tl_exec_own_text(TlExecFault *f)
{
   if (f->kind != TL_FAULT_UNSUPPORTED || !f->text)
      return;
   snprintf(f->own, sizeof f->own, "%s", f->text);
   f->text = NULL;
}

void
tl_exec_report(TlDiags *diags, const TlExecFault *f)
{
   const char *place = place_of(diags, f);
   switch (f->kind) {
   case TL_FAULT_NONE:
      break;
   case TL_FAULT_BOUNDS:
      report_bounds(diags, f, place);
      break;
   case TL_FAULT_WILD:
      tl_report(diags, E0602, f->range, f->op, (unsigned long long)f->address, place);
      break;
   case TL_FAULT_MISALIGNED:
      tl_report(diags, E0603, f->range, f->op, f->bytes, (long long)f->byte, f->buffer, place);
      if (f->byte % f->bytes == 0)
         tl_help(diags,
                 "it is the address of '%s' that is no multiple of %u: give memory that begins at "
                 "one, or another element type",
                 f->buffer, f->bytes);
      break;
   case TL_FAULT_READ_ONLY:
      tl_report(diags, E0604, f->range, f->op, f->buffer, place);
      break;
   case TL_FAULT_INDEX:
      tl_report(diags, E0605, f->range, f->op, (long long)f->limit - 1, (long long)f->value, place);
      break;
   case TL_FAULT_ASSERT:
      report_assert(diags, f, place);
      break;
   case TL_FAULT_ASSERT_SEEN:
      tl_report(diags, W0618, f->range, f->text && *f->text ? f->text : "(no message)", place);
      break;
   case TL_FAULT_ASSUME:
      if (f->value) /* a hint: promised for speed only */
         report_promise(diags, f, place);
      else
         report_assumption(diags, f, place);
      break;
   case TL_FAULT_RACE:
      report_race(diags, f, place);
      break;
   case TL_FAULT_TWICE:
      report_twice(diags, f);
      break;
   case TL_FAULT_UNWRITTEN:
      report_unwritten(diags, f);
      break;
   case TL_FAULT_UNREAD:
      report_unread(diags, f);
      break;
   case TL_FAULT_UNTOUCHED:
      tl_report(diags, W0613, f->range, f->buffer);
      if (f->text)
         tl_help(diags,
                 "what is loaded of it here, '%s', is used nowhere: use it below, or take "
                 "the load out and give None",
                 f->text);
      break;
   case TL_FAULT_UNDEFINED:
   case TL_FAULT_UNDEFINED_SEEN:
      report_undefined(diags, f, place);
      break;
   case TL_FAULT_WRAP:
      tl_report(diags, W0601, f->range, f->op, (long long)f->value, place);
      tl_help(diags, "compute the index in int64");
      break;
   case TL_FAULT_SIGN:
      tl_report(diags, W0603, f->range, f->op, (long long)f->value, place);
      tl_help(diags, "accesses may be wider than such an index allows; add a multiple of the "
                     "divisor first, so that it is not negative");
      break;
   case TL_FAULT_CUT:
      report_cut(diags, f, place);
      break;
   case TL_FAULT_OVERFLOW:
      tl_report(diags, W0606, f->range, f->text, strcmp(f->text, "fp16") == 0 ? "65504" : "3.39e38",
                place);
      tl_help(diags, "add in fp32: x.to(tl.float32)");
      break;
   case TL_FAULT_UNFIT:
      report_unfit(diags, f, place);
      break;
   case TL_FAULT_NOT_FINITE:
      report_not_finite(diags, f, place);
      break;
   case TL_FAULT_LONG_SUM:
      tl_report(diags, W0611, f->range, (long long)f->value, place);
      tl_help(diags, "add in 64 bits: x.to(tl.int64)");
      break;
   case TL_FAULT_STEP:
      tl_report(diags, E0609, f->range, f->op, place);
      break;
   case TL_FAULT_STEPS:
      tl_report(diags, E0610, f->range, f->op, (long long)f->limit, place);
      break;
   case TL_FAULT_TIME:
      tl_report(diags, E0611, f->range, f->op, (long long)f->limit, place);
      if (f->value)
         tl_help(diags, "its condition waits for memory: programs run in any order, and none may "
                        "wait for another; what has to be done first is a launch of its own");
      break;
   case TL_FAULT_MEMORY:
      tl_report(diags, E0612, f->range, f->op, (long long)f->limit);
      break;
   case TL_FAULT_ARGUMENT:
      report_argument(diags, f);
      break;
   case TL_FAULT_GRID:
      tl_report(diags, E0617, f->range, f->op);
      break;
   case TL_FAULT_UNSUPPORTED:
      tl_report(diags, E0615, f->range, f->op, f->text ? f->text : f->own);
      break;
   }
}
