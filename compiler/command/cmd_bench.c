/* tilec bench: one kernel timed well: quantiles of interleaved samples with an emptied L2 cache,
 * variants side by side, beside the copy bandwidth that the same run measures. */
#include "command/measure.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- variants ---- */
typedef struct Axis {
   const char *name;
   TL_VEC(const char *) values;
   bool is_launch; /* num_warps or num_stages */
} Axis;

typedef struct Axes {
   TL_VEC(Axis) list;
   size_t count; /* of combinations */
} Axes;

enum { MAX_VARIANTS = 4096 };

static bool
is_varied(const Axes *axes, const char *name)
{
   for (size_t i = 0; i < axes->list.len; i++)
      if (strcmp(axes->list.data[i].name, name) == 0)
         return true;
   return false;
}

/* NAME=V1,V2,.. */
static bool
read_axis(TlCommand *c, const char *text, Axis *axis)
{
   const char *eq = strchr(text, '=');
   *axis = (Axis){.name = eq ? tl_arena_strndup(c->arena, text, (size_t)(eq - text)) : ""};
   for (const char *p = eq ? eq + 1 : ""; *p;) {
      size_t n = strcspn(p, ",");
      const char *dots = strstr(p, "..");
      if (dots && dots < p + n)
         return tl_cmd_refuse(
            "--vary takes each value, with commas between them, as in %s=64,128,256; "
            "found '%.*s'",
            axis->name, (int)n, p);
      if (!n)
         return tl_cmd_refuse("--vary takes NAME=V1,V2,..; found an empty value in '%s'", text);
      tl_vec_push(c->arena, &axis->values, (const char *)tl_arena_strndup(c->arena, p, n));
      p += n + (p[n] == ',');
   }
   return axis->values.len ||
          tl_cmd_refuse("--vary takes NAME=V1,V2,.., as in --vary %.*s=64,128; found '%s'",
                        (int)strcspn(text, "="), text, text);
}

/* The field of a configuration that the axis sets when it is no constexpr of the kernel. */
static uint32_t *
launch_field(const Axis *axis, TilecConfig *c)
{
   return strcmp(axis->name, "num_warps") == 0    ? &c->num_warps
          : strcmp(axis->name, "num_stages") == 0 ? &c->num_stages
                                                  : NULL;
}

static bool
launch_value(const char *text, uint32_t *out)
{
   char *end;
   unsigned long n = strtoul(text, &end, 10);
   *out = (uint32_t)n;
   return !*end && n >= 1 && n <= 64;
}

static bool
is_constexpr(const TlCmdArg *a)
{
   return a->param->is_constexpr;
}

static int
check_axis(TlMeasure *m, Axis *axis)
{
   TilecConfig unused;
   uint32_t n;
   const TlCmdArg *a = tl_cmd_arg_find(&m->args, axis->name, strlen(axis->name));
   axis->is_launch = !a && launch_field(axis, &unused);
   if (!axis->is_launch && (!a || !a->param->is_constexpr)) {
      tl_cmd_error("kernel '%s' has no constexpr parameter '%s' to vary; --vary takes num_warps, "
                   "num_stages and of this kernel: %s",
                   m->args.kernel, axis->name, tl_cmd_arg_names(&m->args, is_constexpr));
      return EXIT_PROGRAM;
   }
   for (size_t i = 0; axis->is_launch && i < axis->values.len; i++)
      if (!launch_value(axis->values.data[i], &n))
         return tl_cmd_misuse("--vary: %s takes numbers from 1 to 64; found '%s'", axis->name,
                              axis->values.data[i]);
   return EXIT_OK;
}

/* An exit code, after a message. */
static int
read_axes(TlMeasure *m, Axes *axes)
{
   TlCommand *c = m->c;
   *axes = (Axes){.count = 1};
   size_t at = 0;
   for (const char *text; (text = tl_option_next(&c->cl, TL_OPT_VARY, &at));) {
      Axis axis;
      int code = read_axis(c, text, &axis) ? check_axis(m, &axis) : EXIT_USAGE;
      if (code != EXIT_OK)
         return code;
      if (is_varied(axes, axis.name))
         return tl_cmd_misuse("'%s' is varied twice; give all its values to one --vary", axis.name);
      axes->count *= axis.values.len;
      if (axes->count > MAX_VARIANTS)
         return tl_cmd_misuse("--vary asks for more than %d combinations", MAX_VARIANTS);
      tl_vec_push(c->arena, &axes->list, axis);
   }
   return EXIT_OK;
}

static void
make_variants(TlMeasure *m, const Axes *axes, TilecConfig *configs)
{
   assert(axes->count <= MAX_VARIANTS);
   for (size_t i = 0; i < axes->count; i++) {
      size_t rest = i;
      TlSb text;
      TL_VEC(TilecDefine) values = {0};
      TilecConfig *c = &configs[i];
      *c = (TilecConfig){.num_warps = m->o.num_warps, .num_stages = m->o.num_stages};
      tl_sb_init(&text, m->c->arena);
      for (size_t a = 0; a < axes->list.len; a++) {
         const Axis *axis = &axes->list.data[a];
         const char *value = axis->values.data[rest % axis->values.len];
         rest /= axis->values.len;
         tl_sb_printf(&text, "%s%s=%s", a ? ", " : "", axis->name, value);
         if (axis->is_launch)
            (void)launch_value(value, launch_field(axis, c));
         else
            tl_vec_push(m->c->arena, &values, (TilecDefine){axis->name, value});
      }
      assert(rest == 0); /* count is the product of the axes */
      c->text = tl_sb_cstr(&text);
      c->values = values.data;
      c->num_values = (uint32_t)values.len;
   }
}

/* ---- what a launch moves and does ---- */
/* ---- all of it ---- */
static TlReportFn *
report_format(TlCommand *c)
{
   static const struct {
      const char *name;
      TlReportFn *fn;
   } formats[] = {{"text", tl_report_text},
                  {"csv", tl_report_csv},
                  {"json", tl_report_json},
                  {"svg", tl_report_svg}};
   const char *asked = tl_option(&c->cl, TL_OPT_FORMAT);
   for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
      if (strcmp(asked ? asked : "text", formats[i].name) == 0)
         return formats[i].fn;
   tl_cmd_error("--format takes text, csv, json or svg; found '%s'", asked);
   return NULL;
}

/* The configuration that the tuner chooses, by its text; *status says when it could not. */
static const char *
pick(TlMeasure *m, TilecStatus *status)
{
   TilecTuneResult *r;
   *status = tl_measure_run(m, &m->options, &r);
   const TilecTuneInfo *info = tilec_tune_info(r);
   const char *picked =
      info ? tl_arena_strdup(m->c->arena, info->candidates[info->winner].config) : NULL;
   if (info && info->note[0])
      fprintf(stderr, "tilec: note: %s\n", info->note);
   tilec_tune_free(r);
   return picked;
}

/* Which configurations are measured: --vary; of an autotuned kernel all, or the chosen one. */
static TilecStatus
measure(TlMeasure *m, const Axes *axes, const char **picked, TilecTuneResult **out)
{
   TilecTuneOptions o = m->options;
   TilecConfig *configs = tl_new_array(m->c->arena, TilecConfig, axes->count);
   static const TilecConfig as_written = {.text = "as written"};
   TilecStatus status = TILEC_OK;
   o.keep_all = true;
   o.configs = &as_written;
   o.num_configs = 1;
   if (axes->list.len) {
      make_variants(m, axes, configs);
      o.configs = configs;
      o.num_configs = (uint32_t)axes->count;
   } else if (m->tuning) {
      o.configs = m->tuning->configs;
      if (!tl_option(&m->c->cl, TL_OPT_NO_TUNE))
         *picked = pick(m, &status);
      if (status != TILEC_OK)
         return status;
      if (tl_option(&m->c->cl, TL_OPT_SWEEP))
         o.num_configs = m->tuning->num_configs;
      else
         for (uint32_t i = 0; *picked && i < m->tuning->num_configs; i++)
            if (strcmp(m->tuning->configs[i].text, *picked) == 0)
               o.configs = &m->tuning->configs[i];
      o.reference = o.num_configs > 1 ? o.reference : 0;
   }
   return tl_measure_run(m, &o, out);
}

static int
bench(TlMeasure *m, TlReportFn *format)
{
   Axes axes;
   const char *picked = NULL;
   TilecTuneResult *r = NULL;
   TlBenchReport report = {.kernel = m->args.kernel, .bytes = tl_cmd_array_bytes(&m->args)};
   int code = read_axes(m, &axes);
   if (code == EXIT_OK && tl_option(&m->c->cl, TL_OPT_SWEEP) && !m->args.is_autotuned)
      code = tl_cmd_misuse(
         "--sweep measures the configurations of @autotune, and kernel '%s' has none; "
         "--vary NAME=V1,V2,.. measures values",
         m->args.kernel);
   if (code == EXIT_OK)
      code = tl_cmd_expression(m->c, &m->args, TL_OPT_BYTES, &report.bytes);
   if (code == EXIT_OK)
      code = tl_cmd_expression(m->c, &m->args, TL_OPT_FLOPS, &report.flops);
   if (code == EXIT_OK)
      code = tl_measure_open(m);
   if (code != EXIT_OK)
      return code;
   TilecDeviceInfo device;
   TilecStatus status = tilec_runtime_device(m->rt, &device);
   if (status == TILEC_OK)
      status = measure(m, &axes, &picked, &r);
   if (status != TILEC_OK)
      return tl_measure_error(m, status);
   report.device = device.name;
   report.copy_gbps = tl_copy_gbps(m->rt);
   report.picked = picked;
   report.info = tilec_tune_info(r);
   if (report.info->note[0])
      fprintf(stderr, "tilec: note: %s\n", report.info->note);
   TlSb sb;
   tl_sb_init(&sb, m->c->arena);
   format(&report, &sb);
   tilec_tune_free(r);
   return tl_cmd_write(m->c, tl_option(&m->c->cl, TL_OPT_OUT), tl_sb_cstr(&sb), sb.len)
             ? EXIT_OK
             : EXIT_ENVIRONMENT;
}

int
tl_cmd_bench(TlCommand *c)
{
   TlMeasure *m = tl_new(c->arena, TlMeasure);
   TlReportFn *format = report_format(c);
   if (!format)
      return EXIT_USAGE;
   int code = tl_measure_read(m, c);
   if (code == EXIT_OK)
      code = bench(m, format);
   tl_measure_close(m);
   return code;
}
