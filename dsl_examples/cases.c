/* Reads the table of cases.h and runs it.  A mistake in a row is the programmer's: it ends the
 * process with the text that was not understood. */
#include "cases.h"

#include <ctype.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NAMES = 24, MAX_ARRAYS = 24, MAX_ARGS = 32, MAX_DEFINES = 12, NAME_BYTES = 32 };

typedef enum Kind { INPUT, GIVEN, OUT, INOUT, ZEROED, SCRATCH } Kind;
static const char *const kinds[] = {[INPUT] = "input", [GIVEN] = "given",   [OUT] = "out",
                                    [INOUT] = "inout", [ZEROED] = "zeroed", [SCRATCH] = "scratch"};

typedef struct Name {
   char name[NAME_BYTES], text[NAME_BYTES];
} Name;

typedef struct Array {
   char name[NAME_BYTES];
   Kind kind;
   ExArray data;
   double tolerance, floor;
   double spread, below;
   double *before, *want; /* want: of checked arrays */
} Array;

struct ExCase {
   Example *ex;
   const ExRow *row;
   const char *text; /* of the case, for reports */
   size_t text_bytes;
   Name name[MAX_NAMES];
   size_t num_names;
   Array array[MAX_ARRAYS];
   size_t num_arrays;
   const char *at; /* what is being read */
};

/* ---- reading ---- */
static _Noreturn void
wrong(const ExCase *c, const char *expected)
{
   fprintf(stderr, "%s: expected %s at '%.40s'\n", c->row->name, expected, c->at);
   exit(1);
}

static void
skip_space(ExCase *c)
{
   c->at += strspn(c->at, " \n");
}

static bool
take(ExCase *c, const char *text)
{
   skip_space(c);
   if (strncmp(c->at, text, strlen(text)) != 0)
      return false;
   c->at += strlen(text);
   return true;
}

static void
must_take(ExCase *c, const char *text)
{
   if (!take(c, text))
      wrong(c, text);
}

/* A run of letters, digits, '_' and, in numbers, '.' and the sign of an exponent. */
static void
read_word(ExCase *c, char out[NAME_BYTES])
{
   skip_space(c);
   size_t n = 0;
   bool is_number = isdigit((unsigned char)*c->at);
   while (isalnum((unsigned char)c->at[n]) || c->at[n] == '_' ||
          (is_number && (c->at[n] == '.' || (c->at[n] == '-' && c->at[n - 1] == 'e'))))
      n++;
   if (n == 0 || n >= NAME_BYTES)
      wrong(c, "a name or a number");
   memcpy(out, c->at, n);
   out[n] = 0;
   c->at += n;
}

/* Takes the word when it is the next one, whole. */
static bool
take_word(ExCase *c, const char *word)
{
   const char *start = c->at;
   char next[NAME_BYTES];
   skip_space(c);
   if (isalpha((unsigned char)*c->at)) {
      read_word(c, next);
      if (strcmp(next, word) == 0)
         return true;
   }
   c->at = start;
   return false;
}

/* ---- names and expressions ---- */
static const char *
text_of(const ExCase *c, const char *name)
{
   for (size_t i = 0; i < c->num_names; i++)
      if (strcmp(c->name[i].name, name) == 0)
         return c->name[i].text;
   return NULL;
}

static const char *
must_have(const ExCase *c, const char *name)
{
   const char *text = text_of(c, name);
   if (!text) {
      fprintf(stderr, "%s: no '%s' in case '%.*s'\n", c->row->name, name, (int)c->text_bytes,
              c->text);
      exit(1);
   }
   return text;
}

static double sum(ExCase *c);

static double
call(ExCase *c, const char *function)
{
   double a = sum(c), b = take(c, ",") ? sum(c) : 0;
   must_take(c, ")");
   if (strcmp(function, "min") == 0)
      return fmin(a, b);
   if (strcmp(function, "max") == 0)
      return fmax(a, b);
   if (strcmp(function, "cdiv") == 0)
      return ceil(a / b);
   if (strcmp(function, "pow2") != 0)
      wrong(c, "min, max, cdiv or pow2 before");
   return (double)ex_next_power_of_two((size_t)a);
}

static double
factor(ExCase *c)
{
   if (take(c, "(")) {
      double v = sum(c);
      must_take(c, ")");
      return v;
   }
   char word[NAME_BYTES], *end;
   read_word(c, word);
   if (take(c, "("))
      return call(c, word);
   const char *text = isdigit((unsigned char)*word) ? word : must_have(c, word);
   double v = strtod(text, &end);
   if (*end)
      wrong(c, "a number before");
   return v;
}

static double
product(ExCase *c)
{
   double v = factor(c);
   for (;;)
      if (take(c, "*"))
         v *= factor(c);
      else if (take(c, "/"))
         v = trunc(v / factor(c));
      else
         return v;
}

static double
sum(ExCase *c)
{
   double v = product(c);
   for (;;)
      if (take(c, "+"))
         v += product(c);
      else if (take(c, "-"))
         v -= product(c);
      else
         return v;
}

/* Of an expression that is one name its text: "fp16", "True", "0.5". */
static bool
whole_name(ExCase *c, const char *stops, const char **text)
{
   const char *start = c->at;
   char word[NAME_BYTES];
   skip_space(c);
   if (isalpha((unsigned char)*c->at)) {
      read_word(c, word);
      if (!*c->at || strchr(stops, *c->at)) {
         *text = text_of(c, word);
         if (*text)
            return true;
      }
   }
   c->at = start;
   return false;
}

/* What is read first wins. */
static void
read_names(ExCase *c, const char *text, size_t bytes)
{
   for (c->at = text, skip_space(c); c->at < text + bytes; skip_space(c)) {
      if (c->num_names == MAX_NAMES)
         wrong(c, "fewer names");
      Name *n = &c->name[c->num_names++];
      read_word(c, n->name);
      must_take(c, "=");
      read_word(c, n->text);
   }
}

/* ---- arrays ---- */
static Kind
read_kind(ExCase *c)
{
   for (Kind k = GIVEN; k <= SCRATCH; k++)
      if (take_word(c, kinds[k]))
         return k;
   return INPUT;
}

static TilecDtype
read_dtype(ExCase *c)
{
   char word[NAME_BYTES];
   read_word(c, word);
   const char *text = text_of(c, word);
   TilecDtype t = ex_dtype_named(text ? text : word);
   if (t == TILEC_DTYPE_NONE)
      wrong(c, "an element type before");
   return t;
}

/* Of a case that is described, not run: its buffer is only a name. */
static void
name_array(ExCase *c, Array *a, TilecDtype dtype, size_t elems)
{
   a->data = ex_zeros(c->ex, dtype, 1);
   free(a->data.value);
   a->data.value = ex_doubles(elems);
   a->data.elems = elems;
   a->before = ex_doubles(elems);
}

static void
fill_array(ExCase *c, Array *a, TilecDtype dtype, size_t elems, double bits)
{
   if (a->kind == OUT || a->kind == SCRATCH)
      a->data = ex_output(c->ex, dtype, elems);
   else if (a->kind == ZEROED || a->kind == GIVEN)
      a->data = ex_zeros(c->ex, dtype, elems);
   else if (a->below > 0)
      a->data = ex_random_below(c->ex, dtype, elems, a->below);
   else
      a->data = ex_random(c->ex, dtype, elems, a->spread, (int)bits);
   a->want = a->kind == OUT || a->kind == INOUT || a->kind == ZEROED ? ex_doubles(elems) : NULL;
   a->before = ex_doubles(elems);
   memcpy(a->before, a->data.value, elems * sizeof *a->before);
}

static void
make_array(ExCase *c, Array *a, TilecDtype dtype, size_t elems)
{
   double slack = 1, bits = 52;
   a->spread = 1;
   a->tolerance = ex_tolerance(dtype);
   for (;;)
      if (take_word(c, "spread"))
         a->spread = sum(c);
      else if (take_word(c, "bits"))
         bits = sum(c);
      else if (take_word(c, "below"))
         a->below = sum(c);
      else if (take_word(c, "slack"))
         slack = sum(c);
      else if (take_word(c, "floor"))
         a->floor = sum(c);
      else if (take_word(c, "within"))
         a->tolerance = sum(c);
      else
         break;
   a->tolerance *= slack;
   if (c->ex->description)
      name_array(c, a, dtype, elems);
   else
      fill_array(c, a, dtype, elems, bits);
}

static void
read_arrays(ExCase *c)
{
   c->at = c->row->arrays;
   do {
      if (c->num_arrays == MAX_ARRAYS)
         wrong(c, "fewer arrays");
      Array *a = &c->array[c->num_arrays++];
      read_word(c, a->name);
      must_take(c, ":");
      a->kind = read_kind(c);
      TilecDtype dtype = read_dtype(c);
      must_take(c, "[");
      size_t elems = (size_t)sum(c);
      must_take(c, "]");
      make_array(c, a, dtype, elems);
   } while (take(c, ","));
   skip_space(c);
   if (*c->at)
      wrong(c, "',' or the end");
}

static const Array *
find_array(const ExCase *c, const char *name)
{
   for (size_t i = 0; i < c->num_arrays; i++)
      if (strcmp(c->array[i].name, name) == 0)
         return &c->array[i];
   return NULL;
}

static const Array *
must_find(const ExCase *c, const char *name)
{
   const Array *a = find_array(c, name);
   if (!a) {
      fprintf(stderr, "%s: no array '%s'\n", c->row->name, name);
      exit(1);
   }
   return a;
}

/* ---- launches ---- */
typedef struct Settings {
   uint32_t warps; /* 0: the kernel's own */
   double flops;   /* 0: not said */
} Settings;

/* A real when it is written as one or named by one, else an int. */
static TilecArg
number_arg(ExCase *c)
{
   const char *start = c->at, *text;
   bool is_name = whole_name(c, ",)", &text);
   c->at = start;
   double v = sum(c);
   size_t bytes = (size_t)(c->at - start);
   if (is_name ? strpbrk(text, ".e") : memchr(start, '.', bytes))
      return TILEC_ARG((float)v);
   return TILEC_ARG((int)v);
}

static TilecArg
read_arg(ExCase *c)
{
   const char *start = c->at;
   char word[NAME_BYTES];
   read_word(c, word);
   const char *text = text_of(c, word);
   const Array *a = find_array(c, text ? text : word);
   if (a)
      return ex_arg(&a->data);
   if (strcmp(text ? text : word, "None") == 0)
      return tilec_none();
   c->at = start;
   return number_arg(c);
}

/* NAME=VALUE, as `-D` takes it; returns false at the end of the launch. */
static bool
read_define(ExCase *c, char *out, size_t bytes, Settings *set)
{
   char name[NAME_BYTES];
   const char *text;
   skip_space(c);
   if (!*c->at)
      return false;
   read_word(c, name);
   must_take(c, "=");
   if (strcmp(name, "warps") == 0)
      set->warps = (uint32_t)sum(c);
   else if (strcmp(name, "flops") == 0) {
      set->flops = c->ex->repeats ? sum(c) : 0; /* its names are those of timed cases */
      return false;
   } else if (whole_name(c, " ", &text))
      snprintf(out, bytes, "%s=%s", name, text);
   else
      snprintf(out, bytes, "%s=%.17g", name, sum(c));
   return true;
}

/* KERNEL or FILE.KERNEL, without the .tile */
static void
read_kernel(ExCase *c, char file[NAME_BYTES + 8], char kernel[NAME_BYTES])
{
   read_word(c, kernel);
   snprintf(file, NAME_BYTES + 8, "%s.tile", kernel);
   if (take(c, "."))
      read_word(c, kernel);
   must_take(c, "(");
}

static double
bytes_of(const ExCase *c, const TilecArg *args, size_t num_args)
{
   double bytes = 0;
   for (size_t i = 0; i < num_args; i++)
      for (size_t a = 0; a < c->num_arrays; a++)
         if (args[i].kind == TILEC_ARG_BUFFER && args[i].as.buffer == c->array[a].data.buffer)
            bytes += (double)(c->array[a].data.elems * ex_dtype_bytes(c->array[a].data.dtype));
   return bytes;
}

/* Bandwidth as if every array of the launch were moved once. */
static void
report_time(ExCase *c, const char *kernel, double us, double bytes, double flops)
{
   printf("%s %.*s  on %s  %.1f us  %.0f GB/s", kernel, (int)c->text_bytes, c->text,
          ex_executor_name(c->ex), us, bytes / us / 1e3);
   if (flops > 0)
      printf("  %.1f TFLOP/s", flops / us / 1e6);
   putchar('\n');
   fflush(stdout);
   c->ex->cases++;
}

/* ---- descriptions: a line of JSON for each case, another for each launch ---- */
static void
describe_array(FILE *out, const Array *a)
{
   enum { MOST_VALUES = 1 << 20 };
   fprintf(out,
           "{\"name\":\"%s\",\"dtype\":\"%s\",\"elems\":%zu,\"kind\":\"%s\",\"spread\":%g,"
           "\"below\":%.17g",
           a->name, ex_dtype_name(a->data.dtype), a->data.elems, kinds[a->kind], a->spread,
           a->below);
   if (a->kind == GIVEN && a->data.elems <= MOST_VALUES) {
      fputs(",\"values\":[", out);
      for (size_t i = 0; i < a->data.elems; i++)
         fprintf(out, "%s%.9g", i ? "," : "", a->before[i]);
      fputc(']', out);
   }
   fputc('}', out);
}

static void
describe_case(const ExCase *c)
{
   FILE *out = c->ex->description;
   fprintf(out, "{\"row\":\"%s\",\"case\":\"%.*s\",\"arrays\":[", c->row->name, (int)c->text_bytes,
           c->text);
   for (size_t i = 0; i < c->num_arrays; i++) {
      fputs(i ? "," : "", out);
      describe_array(out, &c->array[i]);
   }
   fputs("]}\n", out);
}

static void
describe_arg(const ExCase *c, const TilecArg *arg)
{
   FILE *out = c->ex->description;
   if (arg->kind == TILEC_ARG_NONE)
      fputs("null", out);
   else if (arg->kind == TILEC_ARG_SCALAR && arg->dtype == TILEC_FP32)
      fprintf(out, "{\"real\":%.9g}", arg->as.f);
   else if (arg->kind == TILEC_ARG_SCALAR)
      fprintf(out, "%lld", (long long)arg->as.i);
   for (size_t i = 0; i < c->num_arrays; i++)
      if (arg->kind == TILEC_ARG_BUFFER && arg->as.buffer == c->array[i].data.buffer)
         fprintf(out, "{\"array\":\"%s\"}", c->array[i].name);
}

static void
describe_launch(const ExCase *c, const char *file, const char *kernel, const TilecArg *args,
                size_t num_args, const char *const *defines, uint32_t warps)
{
   FILE *out = c->ex->description;
   fprintf(out, "{\"file\":\"%s\",\"kernel\":\"%s\",\"warps\":%u,\"args\":[", file, kernel,
           (unsigned)warps);
   for (size_t i = 0; i < num_args; i++) {
      fputs(i ? "," : "", out);
      describe_arg(c, &args[i]);
   }
   fputs("],\"defines\":[", out);
   for (size_t i = 0; defines[i]; i++)
      fprintf(out, "%s\"%s\"", i ? "," : "", defines[i]);
   fputs("]}\n", out);
   c->ex->cases++;
}

static void
launch(ExCase *c, const char *text)
{
   char file[NAME_BYTES + 8], kernel[NAME_BYTES], define[MAX_DEFINES][2 * NAME_BYTES];
   const char *defines[MAX_DEFINES + 1] = {NULL};
   TilecArg args[MAX_ARGS];
   size_t num_args = 0, num_defines = 0;
   Settings set = {0};
   c->at = text;
   read_kernel(c, file, kernel);
   do {
      if (num_args == MAX_ARGS)
         wrong(c, "fewer arguments");
      args[num_args++] = read_arg(c);
   } while (take(c, ","));
   must_take(c, ")");
   while (num_defines < MAX_DEFINES) {
      char *d = define[num_defines];
      *d = 0;
      if (!read_define(c, d, sizeof define[0], &set))
         break;
      if (*d)
         defines[num_defines++] = d;
   }
   if (c->ex->description) {
      describe_launch(c, file, kernel, args, num_args, defines, set.warps);
      return;
   }
   ExKernel k = ex_kernel(c->ex, file, kernel, set.warps, defines);
   if (c->ex->repeats)
      report_time(c, kernel, ex_time(c->ex, &k, args, num_args), bytes_of(c, args, num_args),
                  set.flops);
   else
      ex_launch(c->ex, &k, args, num_args);
   ex_free_kernel(&k);
}

/* ---- running ---- */
static void
prepare(ExCase *c)
{
   if (!c->row->prepare)
      return;
   c->row->prepare(c);
   if (c->ex->description)
      return;
   for (size_t i = 0; i < c->num_arrays; i++) {
      Array *a = &c->array[i];
      if (a->kind != GIVEN && a->kind != INOUT)
         continue;
      ex_write(c->ex, &a->data, a->before);
      memcpy(a->before, a->data.value, a->data.elems * sizeof *a->before);
   }
}

static void
compare(ExCase *c)
{
   unsigned checked = 0;
   for (size_t i = 0; i < c->num_arrays; i++)
      checked += c->array[i].want != NULL;
   for (size_t i = 0; i < c->num_arrays; i++) {
      Array *a = &c->array[i];
      if (!a->want)
         continue;
      char what[200];
      ex_fetch(c->ex, &a->data);
      snprintf(what, sizeof what, "%s %.*s%s%s", c->row->name, (int)c->text_bytes, c->text,
               checked > 1 ? " " : "", checked > 1 ? a->name : "");
      ex_report(c->ex, what, ex_relative_l2_above(&a->data, a->want, a->floor), a->tolerance);
   }
}

/* All that is run: a case is taken by the next thread that is free, and its results are printed
 * when those of the cases before it have been. */
typedef struct Job {
   const ExRow *row;
   const char *text;
   size_t text_bytes;
} Job;

typedef struct Queue {
   Example *ex;
   Example start; /* as it was before the first case */
   Job *job;
   size_t num_jobs, capacity;
   size_t next; /* not taken yet */
   size_t turn; /* whose results are printed next */
   pthread_mutex_t lock;
   pthread_cond_t turned;
} Queue;

static void
take_turn(Queue *q, size_t number)
{
   pthread_mutex_lock(&q->lock);
   while (q->turn != number)
      pthread_cond_wait(&q->turned, &q->lock);
   pthread_mutex_unlock(&q->lock);
}

static void
end_turn(Queue *q, const Example *own)
{
   pthread_mutex_lock(&q->lock);
   q->ex->cases += own->cases;
   q->ex->failures += own->failures;
   q->turn++;
   pthread_cond_broadcast(&q->turned);
   pthread_mutex_unlock(&q->lock);
}

static void
run_case(Queue *q, size_t number)
{
   const Job *job = &q->job[number];
   Example own = q->start; /* so that every case alone gives what it gives among the others */
   ExCase c = {.ex = &own, .row = job->row, .text = job->text, .text_bytes = job->text_bytes};
   read_names(&c, c.text, c.text_bytes);
   if (c.row->defaults)
      read_names(&c, c.row->defaults, strlen(c.row->defaults));
   read_arrays(&c);
   prepare(&c);
   if (own.description)
      describe_case(&c);
   for (size_t i = 0; i < EX_MAX_LAUNCHES && c.row->launches[i]; i++)
      launch(&c, c.row->launches[i]);
   if (!own.repeats)
      c.row->oracle(&c);
   take_turn(q, number);
   if (!own.repeats)
      compare(&c);
   end_turn(q, &own);
   for (size_t i = 0; i < c.num_arrays; i++) {
      ex_free_array(&c.array[i].data);
      free(c.array[i].before);
      free(c.array[i].want);
   }
}

static void
run_some(void *context, size_t part, size_t parts)
{
   Queue *q = context;
   (void)part, (void)parts;
   for (;;) {
      pthread_mutex_lock(&q->lock);
      size_t number = q->next++;
      pthread_mutex_unlock(&q->lock);
      if (number >= q->num_jobs)
         return;
      run_case(q, number);
   }
}

static void
add_cases(Queue *q, const ExRow *row, const char *cases)
{
   cases = cases ? cases + strspn(cases, " ;") : "";
   while (*cases) {
      if (q->num_jobs == q->capacity) {
         size_t capacity = q->capacity ? 2 * q->capacity : 64;
         Job *more = ex_allocate(capacity, sizeof *more);
         if (q->num_jobs)
            memcpy(more, q->job, q->num_jobs * sizeof *more);
         free(q->job);
         q->job = more;
         q->capacity = capacity;
      }
      size_t bytes = strcspn(cases, ";");
      q->job[q->num_jobs++] = (Job){row, cases, bytes};
      cases += bytes;
      cases += strspn(cases, " ;");
   }
}

/* Most of a run on a GPU is compilation and oracles, on one processor each.  On the host executors
 * a launch has them all to itself; what is timed is alone. */
static size_t
threads_of(const Example *ex)
{
   enum { MOST_THREADS = 16 }; /* each holds the arrays of a case */
   if (ex->executor != TILEC_ON_CUDA || ex->repeats)
      return 1;
   return ex_processors() < MOST_THREADS ? ex_processors() : MOST_THREADS;
}

int
ex_run_rows(const char *program, const ExRow *rows, size_t num_rows, int argc, char **argv)
{
   Example ex;
   const char *description = NULL, *cases = NULL;
   const ExOption own[] = {{"--describe", &description}, {"--cases", &cases}, {NULL, NULL}};
   ex_open_with(&ex, program, argc, argv, own);
   ex.description = description && ex.repeats ? fopen(description, "w") : NULL;
   if (description && !ex.description)
      ex_die(&ex, "--describe needs --time, and a file that can be written to");
   if (cases && !ex.only)
      ex_die(&ex, "--cases needs --only, the row that they are of");
   Queue q = {.ex = &ex, .lock = PTHREAD_MUTEX_INITIALIZER, .turned = PTHREAD_COND_INITIALIZER};
   for (size_t i = 0; i < num_rows; i++) {
      if (ex.only && strcmp(ex.only, rows[i].name) != 0)
         continue;
      add_cases(&q, &rows[i], cases ? cases : ex.repeats ? rows[i].timed : rows[i].cases);
      if (cases || ex.repeats)
         continue;
      if (ex.large)
         add_cases(&q, &rows[i], rows[i].large);
      if (ex.large && ex.executor == TILEC_ON_CUDA)
         add_cases(&q, &rows[i], rows[i].gpu);
   }
   q.start = ex;
   ex_in_threads(run_some, &q, threads_of(&ex));
   free(q.job);
   if (ex.description && fclose(ex.description) != 0)
      ex_die(&ex, "cannot write '%s'", description);
   return ex_close(&ex);
}

/* ---- for oracles ---- */
size_t
ex_size(const ExCase *c, const char *name)
{
   return strtoull(must_have(c, name), NULL, 10);
}

double
ex_real(const ExCase *c, const char *name)
{
   return (double)strtof(must_have(c, name), NULL);
}

const char *
ex_word(const ExCase *c, const char *name)
{
   return must_have(c, name);
}

bool
ex_is(const ExCase *c, const char *name, const char *word)
{
   return strcmp(must_have(c, name), word) == 0;
}

double *
ex_in(const ExCase *c, const char *array)
{
   return must_find(c, array)->before;
}

double *
ex_want(const ExCase *c, const char *array)
{
   return must_find(c, array)->want;
}

size_t
ex_elems(const ExCase *c, const char *array)
{
   return must_find(c, array)->data.elems;
}

Example *
ex_of(const ExCase *c)
{
   return c->ex;
}
