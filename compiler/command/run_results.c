/* See run_results.h. */
#include "command/run_results.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- before the launch ---- */
static bool
is_array(const TlCmdArg *a)
{
   return a->is_given && a->value.kind == TL_CLI_ARRAY;
}

/* The array that `text`, "y" or "y=...", names; NULL after a message. */
static TlCmdArg *
named_array(TlRunResults *r, const char *option, const char *text)
{
   TlCmdArg *a = tl_cmd_arg_named(r->args, text, strcspn(text, "="));
   if (!a || is_array(a))
      return a;
   tl_cmd_error("--%s takes the name of an array argument; '%s' is %s; arrays are: %s", option,
                a->param->name, a->is_given ? "no array" : "not given",
                tl_cmd_arg_names(r->args, is_array));
   return NULL;
}

static int
check_prints(TlRunResults *r)
{
   size_t at = 0;
   for (const char *text; (text = tl_option_next(&r->c->cl, TL_OPT_PRINT, &at));) {
      if (strchr(text, '='))
         return tl_cmd_misuse(
            "--print takes the name of an array argument alone; found '%s': write "
            "--print %.*s%s",
            text, (int)strcspn(text, "="), text,
            strstr(text, ".npy") ? "; files are written by --save" : "");
      if (strchr(text, ','))
         return tl_cmd_misuse("--print takes one name: give it once for each array; found '%s'",
                              text);
      if (!named_array(r, "print", text))
         return EXIT_PROGRAM;
   }
   return EXIT_OK;
}

static int
check_saves(TlRunResults *r)
{
   size_t at = 0;
   for (const char *text; (text = tl_option_next(&r->c->cl, TL_OPT_SAVE, &at));) {
      const char *eq = strchr(text, '='), *dot = strrchr(text, '.');
      bool is_other = dot && !strchr(dot, '/') && strcmp(dot, ".npy") != 0;
      bool is_array = eq && (eq[1] == '@' || strchr(eq, '['));
      if (!eq || !eq[1] || is_array)
         return tl_cmd_misuse("--save takes NAME=FILE.npy of an array argument, as in --save "
                              "%.*s=%.*s.npy; found '%s'",
                              (int)strcspn(text, "=.:,@ "), text, (int)strcspn(text, "=.:,@ "),
                              text, text);
      if (is_other)
         return tl_cmd_misuse("--save writes .npy files, as in --save %.*s=%.*s.npy; found '%s'",
                              (int)(eq - text), text, (int)(eq - text), text, text);
      if (!named_array(r, "save", text))
         return EXIT_PROGRAM;
   }
   return EXIT_OK;
}

/* Cuts ":0.001" off the path; -1 where there is none, so that a name may hold a colon. */
static double
take_tolerance(char *path)
{
   char *colon = strrchr(path, ':'), *end;
   double v = colon ? strtod(colon + 1, &end) : -1;
   if (!colon || end == colon + 1 || *end || !(v >= 0))
      return -1;
   *colon = 0;
   return v;
}

/* bf16 and fp8 travel as files of unsigned integers, as --save writes them. */
static void
read_as(TlArray *array, TlDtype dtype)
{
   TlDtype stored = tl_dtype_info[dtype].bytes == 1 ? TL_U8 : TL_U16;
   bool has_own = dtype == TL_FP16 || tl_dtype_info[dtype].bytes > 2;
   if (tl_dtype_is_float(dtype) && !has_own && array->dtype == stored)
      array->dtype = dtype;
}

static bool
has_shape_of(const TlArray *a, const TlArray *b)
{
   return a->rank == b->rank && !memcmp(a->shape, b->shape, a->rank * sizeof a->shape[0]);
}

static int
read_expected(TlRunResults *r, const char *text, TlExpected *e)
{
   const char *why;
   char *eq = strchr(text, '=');
   if (!eq || !eq[1])
      return tl_cmd_misuse(
         "--expect takes NAME=FILE.npy[:TOLERANCE], as in --expect y=want.npy:1e-3; "
         "found '%s'",
         text);
   char *end = NULL;
   (void)strtod(eq + 1, &end);
   bool is_number = end != eq + 1 && !*end;
   if (eq[1] == '@' || strchr(eq, '[') || is_number)
      return tl_cmd_misuse("--expect compares with a .npy file, named without '@', as in --expect "
                           "y=want.npy; found '%s'%s",
                           text,
                           is_number
                              ? ": numpy.save(file, numpy.full(shape, value, dtype)) makes one"
                                " of a number"
                              : "");
   e->arg = named_array(r, "expect", text);
   if (!e->arg)
      return EXIT_PROGRAM;
   char *path = tl_arena_strdup(r->c->arena, eq + 1);
   const TlArray *got = &e->arg->value.array;
   e->tolerance = take_tolerance(path);
   e->path = path;
   if (e->tolerance < 0)
      e->tolerance = tl_array_tolerance(got->dtype);
   const char *npy = strstr(path, ".npy:"); /* what follows is no number */
   if (npy)
      return tl_cmd_misuse("--expect takes NAME=FILE.npy[:TOLERANCE], as in :1e-3; found '%s'",
                           npy + 5);
   if (!tl_npy_read(r->c->arena, path, TL_DTYPE_COUNT, &e->want, &why)) {
      tl_cmd_error("--expect %s: %s: %s", e->arg->param->name, path, why);
      return tl_cmd_array_code(&e->want);
   }
   read_as(&e->want, got->dtype);
   if (has_shape_of(got, &e->want))
      return EXIT_OK;
   TlSb sb;
   tl_sb_init(&sb, r->c->arena);
   tl_sb_printf(&sb, "--expect %s: the argument is ", e->arg->param->name);
   tl_array_type(got, &sb);
   tl_sb_printf(&sb, ", %s holds ", path);
   tl_array_type(&e->want, &sb);
   tl_cmd_error("%s: give arrays of one shape", tl_sb_cstr(&sb));
   return EXIT_PROGRAM;
}

int
tl_results_open(TlRunResults *r, TlCommand *c, TlCmdArgs *args)
{
   *r = (TlRunResults){.c = c, .args = args};
   int code = check_prints(r);
   if (code == EXIT_OK)
      code = check_saves(r);
   size_t at = 0;
   for (const char *text; code == EXIT_OK && (text = tl_option_next(&c->cl, TL_OPT_EXPECT, &at));) {
      TlExpected e = {0};
      code = read_expected(r, text, &e);
      tl_vec_push(c->arena, &r->expected, e);
   }
   return code;
}

static bool
is_written(const TilecKernelInfo *k, const char *name)
{
   for (uint32_t i = 0; i < k->num_args; i++)
      if (strcmp(k->args[i].name, name) == 0)
         return !k->args[i].is_const;
   return true; /* of parts that have names of their own */
}

void
tl_results_before(TlRunResults *r, const TilecKernelInfo *kernel)
{
   r->before = tl_new_array(r->c->arena, uint64_t, r->args->num + 1);
   for (unsigned i = 0; i < r->args->num; i++) {
      const TlCmdArg *a = &r->args->list[i];
      if (a->is_given && a->value.kind == TL_CLI_ARRAY && is_written(kernel, a->param->name))
         r->before[i] = tl_array_hash(&a->value.array);
   }
}

/* ---- after it ---- */
static void
print_arrays(TlRunResults *r)
{
   size_t at = 0;
   for (const char *text; (text = tl_option_next(&r->c->cl, TL_OPT_PRINT, &at));) {
      const TlCmdArg *a = tl_cmd_arg_find(r->args, text, strlen(text));
      TlSb sb;
      tl_sb_init(&sb, r->c->arena);
      tl_sb_printf(&sb, "%s: ", a->param->name);
      tl_array_type(&a->value.array, &sb);
      tl_sb_char(&sb, '\n');
      tl_array_print(&a->value.array, &sb);
      fputs(tl_sb_cstr(&sb), stdout);
   }
}

static bool
save_arrays(TlRunResults *r)
{
   TlOutput *files = tl_new_array(r->c->arena, TlOutput, r->c->cl.uses.len + 1);
   size_t n = 0, at = 0;
   for (const char *text; (text = tl_option_next(&r->c->cl, TL_OPT_SAVE, &at));) {
      const char *eq = strchr(text, '=');
      const TlCmdArg *a = tl_cmd_arg_find(r->args, text, (size_t)(eq - text));
      TlSb head;
      tl_sb_init(&head, r->c->arena);
      tl_npy_head(&a->value.array, &head);
      files[n++] = (TlOutput){.path = eq + 1,
                              .text = head.data,
                              .len = head.len,
                              .data = a->value.array.data,
                              .data_len = a->value.array.bytes};
   }
   return tl_cmd_write_all(r->c, files, n);
}

/* false after a message that names the worst element. */
static bool
compare(TlRunResults *r, TlExpected *e)
{
   const TlArray *got = &e->arg->value.array;
   TlArrayDiff *d = &e->diff;
   tl_array_compare(r->c->arena, got, &e->want, e->tolerance, d);
   if (!d->wrong)
      return true;
   return tl_cmd_refuse("'%s' is not as in %s: %llu of %llu element%s, allowed %g; the worst is "
                        "%s%s: found %s, expected %s",
                        e->arg->param->name, e->path, (unsigned long long)d->wrong,
                        (unsigned long long)got->elems, got->elems == 1 ? "" : "s", e->tolerance,
                        e->arg->param->name, d->index, d->got, d->want);
}

int
tl_results_after(TlRunResults *r)
{
   print_arrays(r);
   if (!save_arrays(r))
      return EXIT_ENVIRONMENT;
   bool ok = true;
   for (size_t i = 0; i < r->expected.len; i++)
      ok &= compare(r, &r->expected.data[i]);
   return ok ? EXIT_OK : EXIT_PROGRAM;
}

/* ---- the closing line ---- */
static void
add_changed(const TlRunResults *r, TlSb *out)
{
   unsigned arrays = 0, changed = 0;
   for (unsigned i = 0; i < r->args->num; i++) {
      const TlCmdArg *a = &r->args->list[i];
      if (!a->is_given || a->value.kind != TL_CLI_ARRAY)
         continue;
      arrays++;
      if (!r->before[i] || r->before[i] == tl_array_hash(&a->value.array))
         continue;
      tl_sb_printf(out, "%s%s", changed++ ? ", " : "; changed ", a->param->name);
   }
   if (arrays && !changed)
      tl_sb_str(out, "; no array changed");
}

void
tl_results_summary(const TlRunResults *r, TlSb *out)
{
   assert(r->before);
   add_changed(r, out);
   size_t at = 0, n = 0;
   for (const char *text; (text = tl_option_next(&r->c->cl, TL_OPT_SAVE, &at));)
      tl_sb_printf(out, "%s%s", n++ ? ", " : "; saved ", strchr(text, '=') + 1);
   for (size_t i = 0; i < r->expected.len; i++) {
      const TlExpected *e = &r->expected.data[i];
      tl_sb_printf(out, "; %s is %sas in %s", e->arg->param->name, e->diff.wrong ? "not " : "",
                   e->path);
      if (!e->diff.wrong)
         tl_sb_printf(out, ", worst error %.2g of %g", e->diff.error, e->tolerance);
   }
}

void
tl_results_close(TlRunResults *r)
{
   for (size_t i = 0; i < r->expected.len; i++)
      tl_array_free(&r->expected.data[i].want);
}
